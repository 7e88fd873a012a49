"""`featlab simulate ... --learner langevin --hypercube ALPHA`: on the command line and as a point of a study."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

from featlab.cli.app import app
from featlab.errors import InvalidParameter
from featlab.learners import LangevinDynamics, MeanFieldTanh, StepLaw
from featlab.runners.questions import experiment_of
from featlab.runners.simulation import check
from featlab.targets import Hypercube

XOR = ["sign(h1*h2)", "--dim", "6", "--samples", "9"]
LANGEVIN = ["--learner", "langevin", "--steps", "3"]


def run(command: str, *arguments: str) -> Result:
    return CliRunner().invoke(app, [command, *arguments])


def test_a_run_says_its_inputs_and_its_accuracy() -> None:
    options = ["--hypercube", "0.5", "--width", "4", "--with", "temperature=0.3/d", "--seeds", "2", "--json"]
    result = run("simulate", *XOR, *LANGEVIN, *options)
    assert result.exit_code == 0, result.stderr
    record = json.loads(result.stdout)
    assert record["inputs"] == repr(Hypercube(0.5))
    assert record["learner"] == repr(LangevinDynamics(3, temperature=StepLaw(0.3, 1.0)))
    assert record["student"] == repr(MeanFieldTanh(4))
    assert record["design"] == "dense"
    assert {"accuracy", "logistic_loss", "batch_loss"} <= set(record["data"])
    assert "risk" not in record["data"]


@pytest.mark.parametrize(
    ("command", "arguments", "words"),
    [
        ("simulate", [*XOR, *LANGEVIN], "--hypercube: got isotropic inputs, expected inputs on"),
        ("simulate", [*XOR, *LANGEVIN, "--hypercube", "2"], "--hypercube: got 2.0"),
        ("simulate", [*XOR, *LANGEVIN, "--hypercube", "0", "--spike", "0.5"], "no spike beside it"),
        ("simulate", [*XOR, *LANGEVIN, "--hypercube", "0", "--with", "temperature=hot"], "temperature: got 'hot'"),
        ("simulate", [*XOR, *LANGEVIN, "--hypercube", "0", "--design", "virtual"], "expected 'dense'"),
        ("compare", [*XOR, *LANGEVIN, "--hypercube", "0"], "langevin: no theory known, because"),
    ],
)
def test_misuse_exits_with_2_on_stderr(command: str, arguments: list[str], words: str) -> None:
    result = run(command, *arguments)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())


def test_a_point_of_a_study() -> None:
    point = {"target": "sign(h1*h2)", "hypercube": 0.5, "learner": "langevin", "steps": 48, "dim": 8, "samples": 20}
    check(point)
    found = experiment_of({**point, "width": 32, "temperature": "0.2/d"})
    assert found.target.inputs == Hypercube(0.5)
    assert found.learner == LangevinDynamics(48, temperature=StepLaw(0.2, 1))
    assert found.student == MeanFieldTanh(32)
    with pytest.raises(InvalidParameter, match="anisotropy"):
        check({**point, "hypercube": -1})
