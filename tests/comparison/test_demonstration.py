"""Which algorithm is shown for which target, and one demonstration from beginning to end."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import xarray as xr

import featlab
from featlab.comparison import Agreement, Demonstration, compare, demonstration
from featlab.comparison.curves import visible_curves
from featlab.comparison.demonstration import MAKERS, demonstrate
from featlab.learners import BayesAmp, OnlineSgd, ReusedBatch
from featlab.theory import NoPrediction


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


def test_where_there_is_none_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    undecided = demonstrate(analysed("3e-11*h1 + abs(h1)"))
    assert (undecided.recipe, undecided.run) == (None, None)
    assert "the analysis is undecided" in undecided.reason
    monkeypatch.setattr(demonstration, "_REUSE_MOST_RANK", 2)
    assert "no theory here predicts" in demonstrate(analysed("sign(h1*h2*h3)")).reason


def test_a_recipe_that_theory_refuses_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: object, **kwargs: object) -> None:
        raise NoPrediction("not today")

    monkeypatch.setattr(demonstration, "predict", refused)
    refusal = demonstrate(analysed("tanh(h1)"))
    assert (refusal.recipe, refusal.reason) == (None, "not today")


@pytest.fixture(scope="module")
def hard() -> Demonstration:
    return demonstrate(analysed("sign(h1*h2*h3)"))


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
