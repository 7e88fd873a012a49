"""The reference has every public name once, each with an example that is run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import types
from pathlib import Path
from typing import Any

import pytest
from docs.refresh import ROOT, blocks

from tests.test_package import PACKAGES

PAGES = {"featlab": "featlab", **{f"featlab.{name}": name for name in PACKAGES}}
# Where names that are no function and have no docstring of their own are shown at work.
GUIDES = {
    "featlab.exhibits": ["adding-an-exhibit.md", "reproduce.md"],
    "featlab.extending": ["adding-a-learner.md"],
    "featlab.testing": ["adding-a-learner.md"],
}
GENERAL = {"predict", "student_starts"}  # of many papers: each prediction names its own
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def page(package: str) -> str:
    return (ROOT / "docs" / "reference" / f"{PAGES[package]}.md").read_text(encoding="utf-8")


def public(package: str) -> dict[str, Any]:
    module = importlib.import_module(package)
    names = [name for name in module.__all__ if not (package == "featlab" and name in (*PACKAGES, "__version__"))]
    return {name: getattr(module, name) for name in names}


def examples(thing: Any) -> list[doctest.Example]:
    """Those of the docstring that an object has itself; a value's class says nothing of it."""
    ours = getattr(thing, "__module__", "").startswith("featlab") and (
        inspect.isclass(thing) or inspect.isfunction(thing)
    )
    text = thing.__doc__ if ours else None
    return doctest.DocTestParser().get_examples(text or "")


def shown(package: str) -> str:
    """The code of a package's page and its guides, without comments."""
    texts = [page(package), *((ROOT / "docs" / name).read_text(encoding="utf-8") for name in GUIDES.get(package, ()))]
    code = "\n".join(block for text in texts for language in ("pycon", "python") for block in blocks(text, language))
    return re.sub(r"#.*", "", code)


def functions() -> list[Any]:
    found = {f"{package}.{name}": one for package in PAGES for name, one in public(package).items()}
    return [pytest.param(one, id=name) for name, one in found.items() if inspect.isfunction(one)]


def documented() -> list[Any]:
    things = {f"{package}.{name}": one for package in PAGES for name, one in public(package).items() if examples(one)}
    return [pytest.param(thing, id=name) for name, thing in things.items()]


@pytest.mark.parametrize("package", PAGES)
def test_every_public_name_is_in_the_reference_once(package: str) -> None:
    listed = re.findall(rf"^::: {re.escape(package)}\.(\w+)$", page(package), flags=re.MULTILINE)
    assert sorted(listed) == sorted(public(package)), f"docs/reference/{PAGES[package]}.md has a line for each name"


@pytest.mark.parametrize("package", PAGES)
def test_every_public_name_has_an_example(package: str) -> None:
    code = shown(package)
    without = [
        name for name, thing in public(package).items() if not examples(thing) and not re.search(rf"\b{name}\b", code)
    ]
    assert not without, "an example in the docstring, or in the first lines of the page of the reference"


@pytest.mark.parametrize("package", PAGES)
def test_every_value_says_what_it_is(package: str) -> None:
    """By the text below its assignment, which the reference shows; xarray's types have their own."""
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    for name, thing in public(package).items():
        if not callable(thing) or isinstance(thing, types.UnionType):
            said = re.compile(rf'^{name}\b.*=.*(?:\n[ )}}\]].*)*\n"""', flags=re.MULTILINE)
            assert any(map(said.search, sources)), name


@pytest.mark.parametrize("function", functions())
def test_a_docstring_has_the_arguments_and_the_errors_and_theory_its_source(function: Any) -> None:
    """A year or a derivation counts as a source. Types are annotations, which mypy asks for."""
    text = inspect.getdoc(function) or ""
    assert not [name for name in inspect.signature(function).parameters if not re.search(rf"\b{name}\b", text)]
    body = inspect.getsource(function).rpartition('"""')[2]
    if "raise " in body or re.search(r"\b(positive_\w+|finite_number)\(", body):
        assert "Raises:" in text
    if function.__module__.startswith("featlab.theory.") and function.__name__ not in GENERAL:
        assert re.search(r"\b(19|20)\d\d\b|[Dd]eriv", text), "the paper, or that it is derived, and from what"


@pytest.mark.parametrize("thing", documented())
def test_examples_of_docstrings_show_what_happens(
    thing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(thing.__doc__, {}, thing.__qualname__, None, None)
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test)
    assert result.attempted > 0
    assert result.failed == 0, capsys.readouterr().out


def test_an_example_that_is_wrong_fails() -> None:
    test = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3", {}, "wrong", None, None)
    assert doctest.DocTestRunner(verbose=False).run(test, out=lambda _: None).failed == 1
