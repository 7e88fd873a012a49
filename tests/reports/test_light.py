"""An analysis and its text need NumPy, SciPy and SymPy only: nothing that simulates, predicts or draws is loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"jax", "jaxlib", "matplotlib", "xarray", "pandas", "dask", "jinja2"}
RUNNING = {"featlab.simulation", "featlab.theory", "featlab.runners"}
LOADED = "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
IN_PYTHON = """
import featlab
explanation = featlab.explain("He3(h1)", dim=1000)
print(explanation, repr(explanation), explanation.to_dict()["verdict_sentence"])
"""
COMMANDS = """
import contextlib
from featlab.cli import main
for arguments in (["--no-simulation"], ["--no-simulation", "--json"]):
    sys.argv = ["featlab", "explain", "He3(h1)", *arguments]
    with contextlib.suppress(SystemExit):
        main()
"""


def loaded_by(program: str, times: int = 1) -> set[str]:
    """The modules that a fresh interpreter has loaded when the program, which explains so many times, ends."""
    done = subprocess.run([sys.executable, "-c", LOADED + program], capture_output=True, text=True, check=True)
    assert done.stdout.count("TRIVIAL: n = O(d) samples suffice") >= times
    return set(done.stderr.split())


@pytest.mark.parametrize(("program", "times"), [(IN_PYTHON, 3), (COMMANDS, 2)], ids=["Python", "commands"])
def test_an_explanation_is_light(program: str, times: int) -> None:
    assert not loaded_by(program, times) & (HEAVY | RUNNING)


def test_it_would_be_noticed() -> None:
    """A page has pictures and is a template; what is simulated needs JAX."""
    page = loaded_by("import featlab; print(featlab.explain('He3(h1)').to_html().replace('</strong>', ''))")
    assert {"matplotlib", "jinja2"} <= page
    assert not page & {"jax", *RUNNING}
    shown = loaded_by("import featlab; print(featlab.explain('He3(h1)')); featlab.simulate")
    assert {"jax", "xarray", "featlab.simulation"} <= shown
