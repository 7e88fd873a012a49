"""`featlab predict` mirrors `featlab simulate`: the same options, the limit instead of seeds."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

import featlab
from featlab.cli.app import app
from featlab.cli.predict import PREDICT_EPILOG
from featlab.experiments.text import RUN_ONLY
from featlab.learners import ReusedBatch, TwoLayer

SMALL = shlex.split(
    "He3(h1) --learner reused-batch --dim 1e6 --samples 3e6 --steps 2 --step-size 0.2 --start orthogonal"
)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["predict", *arguments])


def test_table_says_what_is_predicted() -> None:
    result = run(*SMALL)
    assert result.exit_code == 0, result.stderr
    words = " ".join(result.stdout.split())
    assert "(d to infinity; steps and samples as at d = 1,000,000)" in words
    assert "learner ReusedBatch(steps=2, step_size=0.2)" in words
    assert "2 0.0199 -0.0178 6.4" in words  # the published -0.018
    assert "Outcome: ok." in words
    assert "Dynamical mean field of full-batch steps at n/d = 3" in words


def test_the_title_says_which_limit_it_is() -> None:
    flow = run(*shlex.split("h1 --learner spherical-flow --dim 100 --samples 1000 --steps 2"))
    assert "h1 (n to infinity at d = 100)" in " ".join(flow.stdout.split())
    kernel = run(*shlex.split("h1 --learner kernel-ridge --dim 200 --samples 400"))
    assert "h1 (at d = 200, where it is large)" in " ".join(kernel.stdout.split())


def test_json_is_the_dataset() -> None:
    record = json.loads(run(*SMALL, "--json").stdout)
    student = TwoLayer(start="orthogonal")
    found = featlab.predict("He3(h1)", ReusedBatch(2, 0.2), dim=10**6, samples=3 * 10**6, student=student)
    assert record["data"]["overlap"]["axes"] == ["time", "neuron", "direction"]
    np.testing.assert_array_equal(record["data"]["overlap"]["values"], found["overlap"].values)
    assert record["data"]["outcome"]["values"] == record["outcome"] == "ok"


def test_the_options_are_those_of_simulate() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    predicting, simulating, comparing = (
        {name for parameter in commands[command].params for name in parameter.opts}
        for command in ("predict", "simulate", "compare")
    )
    assert predicting == simulating
    shown = {name for one in commands["predict"].params if not one.hidden for name in one.opts}
    assert simulating - shown == {f"--{name}" for name in RUN_ONLY}
    assert comparing - simulating == {"--sizes", "--most-seeds", "--allowance", "--signless"}


def test_what_only_a_run_has_is_ignored_with_a_word() -> None:
    plain, other = run(*SMALL), run(*SMALL, "--seeds", "3", "--dtype", "float64")
    assert (other.exit_code, other.stdout) == (0, plain.stdout)
    assert other.stderr == "featlab: --seeds, --dtype ignored: a prediction has no runs and no data\n"
    assert plain.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*SMALL, "--second-layer", "gaussian"], "is drawn at random and asks for a simulation"),
        (
            ["h1", "--learner", "adam", "--dim", "10", "--times", "1", "--step-size", "1"],
            "adam: no theory known, because",
        ),
        ([*SMALL[:3], "--dim", "100", "--steps", "2", "--step-size", "1"], "samples"),
    ],
)
def test_misuse_exits_with_2_on_stderr(arguments: list[str], words: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in " ".join(result.stderr.split())


def test_help_shows_the_examples() -> None:
    shown = " ".join(run("--help").stdout.split())
    for example in _examples():
        assert " ".join(example.split()) in shown


def _examples() -> list[str]:
    return [line for line in PREDICT_EPILOG.splitlines() if line.startswith("featlab ")]


@pytest.mark.parametrize("example", _examples())
def test_examples_of_the_help_run(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = shlex.split(example)[1:]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    if "--figure" in arguments:
        assert (tmp_path / "theory.png").read_bytes().startswith(b"\x89PNG")
