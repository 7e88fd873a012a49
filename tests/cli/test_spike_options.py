"""`--spike` and `--alignment`, and the same names in study files."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

from featlab.cli.app import app
from featlab.errors import InvalidParameter
from featlab.experiments import experiment_from_text, known_names
from featlab.runners.questions import experiment_of
from featlab.runners.simulation import check
from featlab.targets import Isotropic, SpikeLaw

POINT = {"target": "He3(h1)", "learner": "giant-steps", "dim": 100, "samples": 200}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments])


def test_explain_takes_a_spike() -> None:
    result = run("explain", "He3(h1)", "--spike", "0.8", "--alignment", "0.2", "--json")
    assert result.exit_code == 0, result.stderr
    record = json.loads(result.stdout)
    assert record["sample_cost"]["normalised_flow"] == "d^1.4"
    assert "--spike" in record["demonstration"]["reason"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--alignment", "0.2"], "unless there is a spike"),
        (["--spike", "2"], "g2 from 0 to 1"),
        (["--spike", "0.5", "--alignment", "0.7"], "g1 from 0 to 1/2"),
        (["--spike", "0.5", "--alignment", "a"], "expected a number"),
        (["--spike", "0.5", "--alignment", "0.1,0.2"], "one overlap for each"),
    ],
)
def test_misuse_is_said(options: list[str], said: str) -> None:
    result = run("explain", "He3(h1)", *options)
    assert result.exit_code == 2
    assert said in result.stderr


def test_runs_are_asked_for_with_the_law() -> None:
    options = {"target": "h1*h2", "learner": "giant-steps", "dim": "100", "samples": "200"}
    spiked = experiment_from_text({**options, "spike": "0.4", "alignment": "0.1,0.3"})
    assert spiked.target.inputs == SpikeLaw(0.4, (0.1, 0.3))
    assert experiment_from_text(options).target.inputs == Isotropic()


@pytest.mark.parametrize("command", ["simulate", "predict", "compare", "explain"])
def test_every_command_has_the_options(command: str) -> None:
    assert "--alignment" in CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).stdout


def test_points_of_a_study() -> None:
    assert {"spike", "alignment"} <= known_names("giant-steps")
    assert experiment_of({**POINT, "spike": 0.5}).target.inputs == SpikeLaw(0.5)
    two = {**POINT, "target": "h1*h2", "spike": 0.5, "alignment": [0.1, 0.2]}
    assert experiment_of(two).target.inputs == SpikeLaw(0.5, (0.1, 0.2))
    check(two)
    with pytest.raises(InvalidParameter, match="lower overlap_scale"):
        check({**two, "alignment": [0.0, 0.0]})


def test_too_few_overlaps_are_a_fault_of_the_alignment() -> None:
    result = CliRunner().invoke(app, ["explain", "h1 + h2**2", "--spike", "0.8", "--alignment", "0.3"])
    assert result.exit_code == 2
    expected = "featlab: --alignment: got 0.3, expected one overlap for each of the target's 2 directions"
    assert " ".join(result.output.split()) == expected
