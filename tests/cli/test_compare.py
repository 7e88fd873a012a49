"""`featlab compare`: both by their own doors, a table, the verdict as an exit code, everything as JSON."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from featlab.cli.app import app
from featlab.cli.compare import CODES, COMPARE_EPILOG
from featlab.comparison import predict_and_simulate
from featlab.learners import ReusedBatch, TwoLayer
from featlab.theory import prediction as theory_door
from featlab.theory.question import Prediction, Question, Start
from featlab.theory.reuse.predictor import predict_reuse

# One small run, compiled once for all tests of this file.
SMALL = shlex.split("tanh(h1) --learner reused-batch --dim 2000 --samples 6000 --steps 2 --step-size 0.5 --seeds 24")
FIXED = [*SMALL, "--start", "orthogonal"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["compare", *arguments])


def wrong(question: Question, start: Start) -> Prediction:
    """20% too large an overlap."""
    right = predict_reuse(question, start)
    return Prediction({**right.values, "overlap": 1.2 * right.values["overlap"]}, right.words)


def test_agreement_is_exit_code_0(tmp_path: Path) -> None:
    picture = tmp_path / "both.svg"
    result = run(*FIXED, "--figure", str(picture))
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    assert "tanh(h1) (d = 2,000, 24 seeds)" in words
    assert "step overlap h1 simulation limit z" in words
    assert "Agrees: in the limit of large d, largest |z|" in words
    assert "Measured at d = 2,000, 8,000 and 32,000 (n = 3 d); z counts standard errors of the limit" in words
    assert "Theory: Dynamical mean field" in words
    assert "\x1b" not in result.stdout
    assert "simulation agree" in picture.read_text(encoding="utf-8")


def test_a_prediction_20_percent_wrong_is_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("featlab.theory.reuse.predictor.predict_reuse", wrong)
    result = run(*FIXED)
    assert result.exit_code == 1, result.output
    assert "Disagrees: overlap at time 2, neuron 1, direction h1: predicted" in " ".join(result.stdout.split())


def test_noise_is_exit_code_3(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr("featlab.comparison.compared_run.further_seeds", lambda *given: asked.append(given[-1]))
    # One size, and so much is allowed that nothing can be told.
    result = run(*FIXED, "--allowance", "0.5", "--most-seeds", "48")
    assert asked == [48]
    words = " ".join(result.stdout.split())
    assert "Cannot tell" in words
    assert "One size; allowance for finite d: 0.5 of each predicted value." in words
    assert "of the bound there" in words
    assert result.exit_code == CODES["cannot tell"] == 3


def test_where_runs_and_theory_diverge_the_start_is_no_evidence() -> None:
    result = run(*shlex.split("h1 --learner online-sgd --dim 100 --times 0,1 --step-size 50/d --seeds 4"))
    words = " ".join(result.stdout.split())
    assert result.exit_code == CODES["cannot tell"], words
    assert "Cannot tell: there is no point of evidence" in words
    assert "Of the simulation, 4 of 4 diverged." in words


def test_json_has_both_datasets_and_the_verdict() -> None:
    record = json.loads(run(*FIXED, "--json").stdout)
    both = predict_and_simulate(
        "tanh(h1)", ReusedBatch(2, 0.5), dim=2000, samples=6000, seeds=24, student=TwoLayer(start="orthogonal")
    )
    assert record["verdict"] == "agrees"
    assert record["reason"] == both.comparison.reason
    assert record["points"] == both.comparison.points
    laid = record["quantities"]["overlap"]
    assert laid["axes"] == ["time", "neuron", "direction"]
    np.testing.assert_allclose(laid["theory"], both.prediction["overlap"].values)
    np.testing.assert_allclose(laid["simulation"], both.simulation["overlap"].mean("seed").values, rtol=1e-6)
    assert record["prediction"]["words"] == both.prediction.attrs["words"]
    assert record["simulation"]["data"]["overlap"]["axes"] == ["seed", "time", "neuron", "direction"]
    assert record["sizes"] == [2000, 8000, 32_000]
    assert [one["simulation"]["dim"] for one in record["other_sizes"]] == [8000, 32_000]
    assert laid["verdict"] == "agrees"
    assert [row[0][0] for row in laid["points"]] == ["given", "agrees", "agrees"]
    limits = both.comparison.quantities["overlap"]
    np.testing.assert_allclose(laid["limit"], limits.limit.values)
    assert np.all(limits.limit_error.values[1:] < limits.error.values[1:])


def test_a_random_start_is_predicted_seed_by_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = []

    def seen(question: Question, start: Start) -> Prediction:
        starts.append(start.overlap[0, 0])
        return predict_reuse(question, start)

    monkeypatch.setattr("featlab.theory.reuse.predictor.predict_reuse", seen)
    # Times without the start: it is added, since predictions begin there.
    result = run(*SMALL, "--times", "1,2", "--sizes", "2")
    assert result.exit_code == 0, result.output
    assert len(starts) == 2 * 24
    for place, dim in enumerate((2000, 8000)):
        assert 0.5 < np.std(starts[24 * place : 24 * (place + 1)]) * dim**0.5 < 1.5
    assert "Agrees" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--learner", "reused-batch", "--dim", "10", "--step-size", "1"],
            "--steps: reused-batch needs it: number of steps",
        ),
        (["--stepsize", "1"], "no such option: --stepsize; did you mean --step-size (step per neuron"),
        ([*FIXED[1:], "--allowance", "-1"], "allowance: got -1.0"),
        ([*FIXED[1:], "--figure", "run.txt"], "ends in .png"),
    ],
)
def test_misuse_exits_with_2_on_stderr(arguments: list[str], words: str) -> None:
    result = run("tanh(h1)", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert words in " ".join(result.stderr.split())


def test_what_no_theory_predicts_is_refused_before_it_is_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(theory_door._OWN, "ReusedBatch")
    for arguments in (FIXED, SMALL):
        result = run(*arguments)
        assert result.exit_code == 2
        assert "reused-batch: no theory known here" in result.stderr


def test_help_shows_examples_and_exit_codes() -> None:
    shown = " ".join(run("--help").stdout.split())
    examples = [line for line in COMPARE_EPILOG.splitlines() if line.startswith("featlab ")]
    assert len(examples) >= 2
    for line in (*examples, COMPARE_EPILOG.splitlines()[0]):
        assert " ".join(line.split()) in shown


@pytest.mark.parametrize("example", [line for line in COMPARE_EPILOG.splitlines() if line.startswith("featlab ")])
def test_examples_of_the_help_run(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, shlex.split(example)[1:])
    assert result.exit_code == 0, result.output
