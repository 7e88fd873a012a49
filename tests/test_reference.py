"""The reference has every public name once, each with an example that is run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
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
# Names that have no example yet. The list may only become shorter.
OWED = {
    "featlab.estimators": "Count NoDirection count_directions",
    "featlab.exhibits": """
        Above AnyNumber Array Check CheckResult Close Contrast Corrected Data Dataset Exponent FIRST FIRST_STEP Finding
        GIANT_STEPS Histogram Identity InTheLimit Layer MULTI_INDEX Mark Nth Number Ordered PER_DIM Place Reading Report
        STRUCTURED_DATA Studies TIED_NETWORK View above agrees at_point close exponent_and_error hitting_time identity
        judge_exhibit magnitude matched_overlap mean_and_error median ordered parameters_at parameters_of predict_over
        root_d root_mean_square standard_error""",
    "featlab.extending": """
        ACTIVATION BIASES CONSTRAINT COUNT FLAG NUMBER POSITIVE RIDGE STEP STEPS Kind Prediction Predictor Problem
        Question Sizes Start Student choice moved normal option or_none or_word student_starts uniform within""",
    "featlab.study": "collect",
    "featlab.theory": """
        batch_overlap critical_step feature_spectrum fresh_overlaps gaussian_risk given_ridge_risk hitting_law
        hitting_steps kernel_floor one_step_cosine random_features_risk""",
}
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
    without = {
        name for name, thing in public(package).items() if not examples(thing) and not re.search(rf"\b{name}\b", code)
    }
    owed = set(OWED.get(package, "").split())
    assert without == owed, "an example in the docstring, or in the first lines of the page of the reference"


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
