"""The package as a user meets it: light to import, every public name there, one version."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import featlab

ROOT = Path(__file__).parents[1]
HEAVY = ("numpy", "scipy", "sympy", "jax", "matplotlib", "xarray")
# Public packages; every other public name is what it names.
PACKAGES = ("estimators", "exhibits", "extending", "figures", "gaussian", "study", "testing", "theory")


def _said(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def _loaded_after(statement: str) -> set[str]:
    return set(_said(f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})").split())


@pytest.mark.parametrize("statement", ["import featlab", "import featlab.cli.app"])
def test_light_import(statement: str) -> None:
    assert not _loaded_after(statement) & set(HEAVY)


def test_light_import_would_notice() -> None:
    assert "numpy" in _loaded_after("from featlab import analyse")


def test_public_names_resolve_twice() -> None:
    for name in featlab.__all__:
        first, second = getattr(featlab, name), getattr(featlab, name)
        assert first == second
        # A submodule of the same name must not take the place of what is named.
        assert not isinstance(second, ModuleType) or name in PACKAGES


def test_no_package_gives_a_name_that_one_of_its_modules_has() -> None:
    """With older versions of lazy-loader the name is the module as soon as that is imported elsewhere."""
    stubs = list((ROOT / "src").rglob("__init__.pyi"))
    assert stubs
    for stub in stubs:
        tree = ast.parse(stub.read_text(encoding="utf-8"))
        given = {
            alias.name for node in tree.body if isinstance(node, ast.ImportFrom) and node.module for alias in node.names
        }
        assert given
        assert not given & {path.stem for path in stub.parent.iterdir()}, stub


def test_functions_have_signatures() -> None:
    for function in (featlab.simulate, featlab.predict, featlab.compare, featlab.explain):
        assert inspect.isfunction(function)
        assert "self" not in inspect.signature(function).parameters


def test_public_packages_need_no_import_of_their_own() -> None:
    assert "Study" in _said("import featlab; print(featlab.study.Study.__name__)")


def test_types_are_seen(tmp_path: Path) -> None:
    """mypy, and so an editor, knows the public names: none of them is Any, and a wrong attribute is an error."""
    names = [name for name in featlab.__all__ if name not in PACKAGES and name != "__version__"]
    lines = ["import featlab", *(f"reveal_type(featlab.{name})" for name in names)]
    lines += ["def wrong(t: featlab.Target) -> None:", "    t.nonsense"]
    script = tmp_path / "script.py"
    script.write_text("\n".join(lines), encoding="utf-8")
    cache = ["--cache-dir", os.environ.get("MYPY_CACHE_DIR", str(ROOT / ".mypy_cache")), "--python-version", "3.11"]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *cache, str(script)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    revealed = [line for line in run.stdout.splitlines() if "Revealed type" in line]
    assert len(revealed) == len(names), run.stdout
    assert not [line for line in revealed if 'is "Any"' in line]
    assert '"Target" has no attribute "nonsense"' in run.stdout


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = featlab.nonsense


def test_version_is_the_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert featlab.__version__ == project["version"]


def test_citation_file_has_the_version() -> None:
    assert f"\nversion: {featlab.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_a_package_is_public_or_says_that_it_is_not() -> None:
    for path in sorted((ROOT / "src" / "featlab").glob("*/__init__.py")):
        internal = "\nInternal: " in (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")
        assert internal is (path.parent.name not in PACKAGES), path


DEEP = re.compile(r"^(?:>>> |\.\.\. )?\s*(?:from|import) featlab\.(\w+)(\.\w+)*", re.M)


def test_documents_import_from_the_doors_only() -> None:
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for found in DEEP.finditer(path.read_text(encoding="utf-8")):
            assert found[1] in PACKAGES, f"{path.name}: {found[0]}"
            assert found[2] is None, f"{path.name}: {found[0]}"
    assert DEEP.search(">>> from featlab.theory.spikes import x")[2] == ".spikes"  # type: ignore[index]
