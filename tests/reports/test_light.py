"""An analysis and its text need NumPy, SciPy and SymPy only: nothing that simulates, predicts or draws is loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"jax", "jaxlib", "matplotlib", "xarray", "pandas", "dask", "jinja2"}
RUNNING = {"featlab.simulation", "featlab.theory", "featlab.runners"}
LOADED = "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
COMMAND = "import sys; sys.argv = ['featlab', 'explain', {arguments}]\nfrom featlab.cli import main\nmain()"


def loaded_by(program: str) -> set[str]:
    """The modules that a fresh interpreter has loaded when the program ends."""
    done = subprocess.run([sys.executable, "-c", LOADED + program], capture_output=True, text=True, check=True)
    assert "TRIVIAL: n = O(d) samples suffice" in done.stdout
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "program",
    [
        "import featlab; print(featlab.explain('He3(h1)'))",
        "import featlab; print(repr(featlab.explain('He3(h1)')))",
        "import featlab; print(featlab.explain('He3(h1)', dim=1000).to_dict()['verdict_sentence'])",
        COMMAND.format(arguments="'He3(h1)', '--no-simulation'"),
        COMMAND.format(arguments="'He3(h1)', '--no-simulation', '--json'"),
    ],
)
def test_an_explanation_is_light(program: str) -> None:
    assert not loaded_by(program) & (HEAVY | RUNNING)


def test_it_would_be_noticed() -> None:
    """A page has pictures and is a template; what is simulated needs JAX."""
    page = loaded_by("import featlab; print(featlab.explain('He3(h1)').to_html().replace('</strong>', ''))")
    assert {"matplotlib", "jinja2"} <= page
    assert not page & {"jax", *RUNNING}
    shown = loaded_by("import featlab; print(featlab.explain('He3(h1)')); featlab.simulate")
    assert {"jax", "xarray", "featlab.simulation"} <= shown
