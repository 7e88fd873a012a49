"""The package as a user meets it: light to import, every public name there, one version."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import featlab

ROOT = Path(__file__).parents[1]
HEAVY = ("numpy", "scipy", "sympy", "jax", "matplotlib", "xarray")


def _loaded_after(statement: str) -> set[str]:
    program = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("statement", ["import featlab", "import featlab.cli.app"])
def test_light_import(statement: str) -> None:
    assert not _loaded_after(statement) & set(HEAVY)


def test_light_import_would_notice() -> None:
    assert "numpy" in _loaded_after("from featlab import analyse")


def test_public_names_resolve_twice() -> None:
    for name in featlab.__all__:
        first, second = getattr(featlab, name), getattr(featlab, name)
        assert first == second
        # A submodule of the same name must not take its place, unless it can be called in its place.
        assert not isinstance(second, ModuleType) or callable(second)


def test_the_package_simulate_is_called_like_its_function() -> None:
    import featlab.simulate.door

    learner = featlab.OnlineSgd(0.1)
    for function in (featlab.simulate, featlab.simulate.simulate):
        with pytest.raises(featlab.InvalidParameter, match="dim: got 0"):
            function("h1", learner, dim=0, times=[1])


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = featlab.nonsense


def test_version_is_the_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert featlab.__version__ == project["version"]


def test_citation_file_has_the_version() -> None:
    assert f"\nversion: {featlab.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
