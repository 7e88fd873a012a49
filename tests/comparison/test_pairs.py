"""Who is asked what, and how often, where theory and simulation are laid over each other at several sizes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import xarray as xr

from featlab.comparison import pairs, predict_and_simulate
from featlab.errors import InvalidParameter
from featlab.experiments import Experiment
from featlab.learners import BayesAmp, OnlineSgd, SphericalFlow, StepLaw, TwoLayer
from featlab.outcome import Outcome

SEEDS = 5


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """How often each of the two is asked, by stand-ins: `ends` says how runs and predictions end."""
    counts: Counter = Counter()
    counts.ends = {"run": Outcome.OK, "prediction": Outcome.OK}  # type: ignore[attr-defined]

    def simulate(experiment: Experiment, progress: object = None) -> xr.Dataset:
        counts[f"simulate {experiment.dim}"] += 1
        shape, seeds = (len(experiment.seeds), len(experiment.plan.steps)), list(experiment.seeds)
        data = {name: (("seed", "time"), np.zeros(shape)) for name in experiment.observe or ()}
        data["outcome"] = ("seed", [counts.ends["run"].value] * len(seeds))  # type: ignore[attr-defined]
        return xr.Dataset(data, coords={"seed": seeds})

    def predict(experiment, start=None, progress=None, draft=False) -> xr.Dataset:
        counts["draft" if draft else "predict"] += 1
        counts["starts"] += 0 if start is None or draft else start.sizes["seed"]
        limit = "samples" if isinstance(experiment.learner, SphericalFlow) else "dimension"
        data = {} if start is None else {"overlap": ("seed", np.zeros(start.sizes["seed"]))}
        about = {"limit": limit, "outcome": counts.ends["prediction"].value}  # type: ignore[attr-defined]
        return xr.Dataset(data, coords={} if start is None else {"seed": start["seed"]}, attrs=about)

    monkeypatch.setattr(pairs, "simulate", simulate)
    monkeypatch.setattr(pairs, "predict_experiment", predict)
    return counts


def of(learner, **sizes) -> Experiment:
    return Experiment.of("tanh(h1)", learner, **{"dim": 1000, "seeds": SEEDS, **sizes})


WIDE = of(OnlineSgd(StepLaw(0.5, 1)), times=(0, 1), student=TwoLayer(3))


def test_many_starts_are_predicted_at_once_for_all_sizes(asked: Counter) -> None:
    found = pairs.at_sizes(WIDE, None, 3, False)
    assert asked == {
        "simulate 1000": 1,
        "simulate 4000": 1,
        "simulate 16000": 1,
        "draft": 1,
        "predict": 1,
        "starts": 15,
    }
    for prediction, run in found:
        assert prediction["seed"].equals(run["seed"])
    assert len({int(seed) for _, run in found for seed in run["seed"]}) == 3 * SEEDS


@pytest.mark.parametrize("which", ["run", "prediction"])
def test_after_an_interruption_or_a_divergence_no_other_size_is_run(asked: Counter, which: str) -> None:
    asked.ends[which] = {"run": Outcome.INTERRUPTED, "prediction": Outcome.DIVERGED}[which]  # type: ignore[attr-defined]
    assert len(pairs.at_sizes(WIDE, None, 3, False)) == 1
    assert (asked["simulate 1000"], asked["simulate 4000"], asked["predict"]) == (1, 0, 1)


def test_one_size_needs_no_draft(asked: Counter) -> None:
    pairs.at_sizes(WIDE, None, 1, False)
    assert asked == {"simulate 1000": 1, "predict": 1, "starts": SEEDS}


def test_a_start_that_is_the_same_for_all_is_predicted_once(asked: Counter) -> None:
    found = pairs.at_sizes(of(BayesAmp(10), samples=1500), None, 3, False)
    assert (asked["predict"], asked["starts"], asked["draft"], len(found)) == (1, 0, 0, 3)


def test_another_question_at_each_size_is_asked_at_each(asked: Counter) -> None:
    flow = of(SphericalFlow(), dim=20, samples=20_000, times=(0, 1), student=TwoLayer(1))
    found = pairs.at_sizes(flow, None, 3, False)
    assert asked["predict"] == len(found) == 3


def test_how_many_sizes_is_checked_before_anything_runs(asked: Counter) -> None:
    from featlab.comparison import predict_and_simulate

    with pytest.raises(InvalidParameter, match="sizes"):
        predict_and_simulate(WIDE, sizes=7)
    assert not asked


def test_the_start_alone_is_not_compared() -> None:
    """It agreed with itself, and said so."""
    with pytest.raises(InvalidParameter, match="a time after the start"):
        predict_and_simulate("tanh(h1)", OnlineSgd(0.01), dim=50, times=[0], seeds=2)
