"""Which algorithm is shown for which target, and one demonstration from beginning to end."""

from __future__ import annotations

import shlex
import threading
import time
from functools import cache

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import featlab
from featlab.cli.app import app
from featlab.comparison import Agreement, Demonstration, compare, demonstration
from featlab.comparison.curves import visible_curves
from featlab.comparison.demonstration import MAKERS, demonstrate
from featlab.experiments.experiment import Experiment
from featlab.experiments.typed import command_of
from featlab.interruption import check
from featlab.learners import BayesAmp, OnlineSgd, ReusedBatch
from featlab.reports.statements import demonstration_sentences
from featlab.theory import NoPrediction

LONG = 600.0  # seconds: nothing here is to be cut short, however busy the machine


@cache
def analysed(text: str, noise: float = 0.0) -> featlab.Analysis:
    return featlab.analyse(featlab.target(text, noise=noise))


@pytest.mark.parametrize(
    ("text", "noise", "kind", "words"),
    [
        ("tanh(h1)", 0.0, OnlineSgd, "One-pass SGD finds h1 from n = 20 d samples"),
        ("h1", 0.5, OnlineSgd, "One-pass SGD finds h1"),
        # The linear part is so small that one-pass SGD would take too long.
        ("h1 + 10*He2(h1)", 0.0, BayesAmp, "Message passing on n = d samples"),
        ("He3(h1)", 0.0, BayesAmp, "Message passing on n = d samples"),
        ("sign(h1*h2)", 0.0, BayesAmp, "Message passing on n = 7.4 d samples"),
        ("h1*tanh(h1)", 0.0, BayesAmp, "Message passing on n = "),
        # Message passing would do, but needs 150 d samples to show it.
        ("cos(3*h1)", 0.0, ReusedBatch, "Batch reuse: 6 steps of a neuron on one batch of n = 4 d samples"),
        ("He4(h1) + sign(h1*h2*h3)", 0.0, BayesAmp, "Message passing on n = 7.4 d samples, from an overlap of 0.3"),
        ("h1*h2", 0.0, BayesAmp, "Message passing on n = 1.8 d samples"),
        # Message passing would do, but its state evolution takes too long.
        ("h1*h2*h3", 0.0, ReusedBatch, "Message passing needs fewer samples, but more than ten seconds"),
        ("sign(h1*h2*h3)", 0.0, ReusedBatch, "No efficient method is known below about d^1.5 samples"),
    ],
)
def test_the_cheapest_comes_first(text: str, noise: float, kind: type, words: str) -> None:
    first = next(recipe for maker in MAKERS if (recipe := maker(analysed(text, noise))) is not None)
    assert type(first.learner) is kind
    assert words in first.story


@pytest.mark.parametrize(("last", "fades"), [(0.3, False), (0.05, True)])
def test_an_algorithm_that_loses_what_it_knew_says_so(
    monkeypatch: pytest.MonkeyPatch, last: float, fades: bool
) -> None:
    path = xr.Dataset({"overlap": (("time", "neuron", "direction"), np.array([0.1, last])[:, None, None])})
    monkeypatch.setattr(demonstration, "predict", lambda *given, **sizes: path)
    made = demonstration._predicted(MAKERS[0], analysed("tanh(h1)"))
    assert made is not None
    assert ("what is known at the start fades" in made[0].story) is fades


def test_where_there_is_none_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    undecided = demonstrate(analysed("3e-11*h1 + abs(h1)"), LONG)
    assert (undecided.recipe, undecided.run) == (None, None)
    assert "the analysis is undecided" in undecided.reason
    monkeypatch.setattr(demonstration, "_REUSE_MOST_RANK", 2)
    assert "no theory here predicts" in demonstrate(analysed("sign(h1*h2*h3)"), LONG).reason


def test_a_recipe_that_theory_refuses_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: object, **kwargs: object) -> None:
        raise NoPrediction("not today")

    monkeypatch.setattr(demonstration, "predict", refused)
    refusal = demonstrate(analysed("tanh(h1)"), LONG)
    assert (refusal.recipe, refusal.reason) == (None, "not today")


@pytest.fixture(scope="module")
def hard() -> Demonstration:
    return demonstrate(analysed("sign(h1*h2*h3)"), LONG)


def test_a_hard_target_is_forgotten_as_predicted(hard: Demonstration) -> None:
    assert hard.run is not None
    assert hard.run.comparison.verdict is Agreement.AGREES
    overlap = hard.run.simulation["overlap"].mean("seed").values[:, 0]
    assert np.all(overlap[-1] < 0.7 * overlap[0])


def test_twenty_percent_wrong_is_rejected(hard: Demonstration) -> None:
    assert hard.run is not None
    for factor in (0.8, 1.2):
        wrong = hard.run.prediction.copy()
        wrong["overlap"] = wrong["overlap"] * factor
        assert compare(wrong, hard.run.simulation, names=["overlap"]).verdict is Agreement.DISAGREES


def test_seeds_and_times_before_the_end_are_shown(hard: Demonstration, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeds that were not finished are left out; where none was, all are shown as far as they came."""
    assert hard.run is not None
    for finished in (3, 0):
        cut = hard.run.simulation.copy(deep=True)
        cut["outcome"] = ("seed", np.where(np.arange(16) < finished, "ok", "interrupted"))
        cut["overlap"] = cut["overlap"].where((cut["outcome"] == "ok") | (cut["time"] < 3))
        monkeypatch.setattr(demonstration, "simulate", lambda *args, cut=cut, **kwargs: cut)
        shown = demonstrate(analysed("sign(h1*h2*h3)"), LONG)
        assert shown.run is not None
        assert shown.run.simulation.sizes["seed"] == (finished or 16)
        story, *overlaps, _ = demonstration_sentences(shown)
        assert ("3 of 16 seeds before the time was over" if finished else "16 seeds, as far as they came") in story
        assert len(overlaps) == 3
        assert all("measured" in overlap and "nan" not in overlap for overlap in overlaps)


def test_a_clock_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prediction that is too slow makes room for the next algorithm; if that is, too, it is said."""
    released, asked = threading.Event(), []

    def slow(target: object, learner: object, **how: object) -> None:
        asked.append(type(learner))
        released.wait(60)
        check()

    monkeypatch.setattr(demonstration, "predict", slow)
    monkeypatch.setattr("featlab.interruption._GRACE_SECONDS", 0.05)
    begin = time.monotonic()
    shown = demonstrate(analysed("He3(h1)"), 0.2)
    released.set()
    assert time.monotonic() - begin < 30
    assert asked == [BayesAmp, ReusedBatch]
    assert (shown.run, shown.reason) == (None, "no prediction was finished in 0.2 s; a larger budget gives it more")
    assert shown.command == "featlab explain 'He3(h1)' --budget 1.2s"
    with pytest.raises(featlab.InvalidParameter, match="budget"):
        demonstrate(analysed("He3(h1)"), 0)


@pytest.mark.parametrize("text", ["tanh(h1)", "He3(h1)", "sign(h1*h2*h3)", "h1 + abs(h2)"])
def test_its_command_is_the_same_experiment(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is printed can be typed: it is parsed back to the experiment, number by number."""
    analysis = analysed(text, 0.25)
    recipe = next(recipe for maker in MAKERS if (recipe := maker(analysis)) is not None)
    experiment = Experiment.of(analysis.target, recipe.learner, **recipe.sizes, seeds=recipe.seeds)
    asked = []

    def compared(experiment: Experiment, *, sizes: int, **how: object) -> None:
        asked.append((experiment, sizes))
        raise NoPrediction("enough is known")

    monkeypatch.setattr(featlab.comparison, "predict_and_simulate", compared)
    program, *arguments = shlex.split(command_of("compare", experiment, "--sizes", "1"))
    result = CliRunner().invoke(app, arguments)
    assert "enough is known" in result.stderr
    assert program == "featlab"
    assert asked == [(experiment, 1)]


def test_only_what_is_not_zero_is_shown() -> None:
    """Rows of an estimate that stand for one direction each are called by it; neurons that see several are numbered."""
    times = np.arange(3.0)

    def labels(values: np.ndarray) -> list[str]:
        axes = ("time", "neuron", "direction")
        return [curve.label for curve in visible_curves(xr.DataArray(values, dims=axes, coords={"time": times}))]

    assert labels(np.stack([t * np.eye(2) for t in times])) == ["h1", "h2"]
    assert labels(np.stack([t * np.array([[1, 1], [0, 1]]) for t in times])) == [
        "h1, neuron 1",
        "h2, neuron 1",
        "h2, neuron 2",
    ]
    assert len(labels(np.zeros((3, 2, 2)))) == 4
