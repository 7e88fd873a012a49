"""Seeds that are added: as many as tell, whatever was found, and never twice the same."""

from __future__ import annotations

import numpy as np
import pytest

import featlab
from featlab.comparison import Agreement, compare, predict_and_simulate
from featlab.comparison.more_seeds import further_seeds
from featlab.experiments import Experiment
from featlab.learners import GiantSteps, KernelRidge, OnlineSgd, StepLaw, TwoLayer
from tests.comparison.synthetic import measurement, prediction

VALUES = np.array([0.0, 0.5, 0.6]).reshape(3, 1, 1)
# 12 seeds of noise .3 have a standard error of .09; for t = 3 of it to be .075, three quarters of .1, takes 140.
NOISY = {"noise": 0.3, "common": 0.0}
EXPERIMENT = Experiment.of("tanh(h1)", OnlineSgd(StepLaw(1.0, 1)), dim=1000, times=(0, 1), seeds=12)


def added(values: np.ndarray, most: int = 200, experiment: Experiment = EXPERIMENT, **how: float) -> int:
    """How many seeds are added where the truth is VALUES and `values` are predicted."""
    found = compare(prediction(values), measurement(VALUES, **{**NOISY, **how}), allowance=0.0)
    more = further_seeds(experiment, found, "dimension", most)
    return 0 if more is None else len(more.seeds)


def agreeing(seeds: int) -> int:
    """How many of 20 comparisons with so many seeds agree."""
    runs = (measurement(VALUES, **NOISY, seeds=seeds, key=key) for key in range(20))
    return sum(compare(prediction(VALUES), run, allowance=0.0).verdict is Agreement.AGREES for run in runs)


def test_as_many_as_tell() -> None:
    """A standard error known from 12 seeds is off by a fifth or so: more are added where these are too few again."""
    assert sorted(added(VALUES, key=key) for key in range(20))[10] in (7 * 12, 15 * 12)
    assert agreeing(16 * 12) >= 18
    assert agreeing(2 * 12) == 0


@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_errors_decide_and_not_what_was_found(factor: float) -> None:
    """The prediction is too large or too small by the same: what is seen of it differs, what is added does not."""
    shown = factor * measurement(VALUES, **NOISY)
    right, wrong = (compare(prediction(values), shown, allowance=0.0) for values in (VALUES, 1.0001 * VALUES))
    assert right.quantities["overlap"].z.values != pytest.approx(wrong.quantities["overlap"].z.values)
    seeds = {len(further_seeds(EXPERIMENT, one, "dimension", 200).seeds) for one in (right, wrong)}
    assert len(seeds) == 1


@pytest.mark.parametrize(
    "how",
    [
        {"noise": 0.01},  # it tells
        {"noise": 4.0},  # sixteen times as many do not
        {"most": 20},
        {"most": 0},
        {"seeds": 1},  # no scatter is known
        # 60 more kernels of 5,000 samples are too much
        {"experiment": Experiment.of("tanh(h1)", KernelRidge(), dim=1000, samples=5000, seeds=12)},
    ],
)
def test_none_where_they_are_not_needed_or_do_not_help(how: dict) -> None:
    assert added(VALUES, **how) == 0


def test_they_are_run_and_said() -> None:
    """Those that are added are the next numbers: the same runs as if all had been asked for."""
    how = {"dim": 200, "samples": 400, "student": TwoLayer(start="orthogonal")}
    learner = GiantSteps(1, scale=1.0)
    few = {"seeds": 4, "sizes": 1, "progress": False, "names": ["overlap"]}
    found = predict_and_simulate("tanh(h1)", learner, **how, **few)
    count = found.simulation.sizes["seed"]
    assert count in (8, 16, 32, 64)
    assert f"{count} seeds were run at every size: 4 were too few to tell." in found.comparison.reason
    whole = featlab.simulate("tanh(h1)", learner, **how, seeds=count, progress=False)
    np.testing.assert_allclose(found.simulation.overlap, whole.overlap, atol=1e-6)
    assert found.simulation.attrs == whole.attrs
    alone = predict_and_simulate("tanh(h1)", learner, **how, **few, most_seeds=0)
    assert alone.simulation.sizes["seed"] == 4
    assert alone.comparison.verdict is Agreement.CANNOT_TELL
