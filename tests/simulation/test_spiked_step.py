"""One gradient step, then ridge, under a spike: the law of a plain loop; laws in d; the protocol."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy.stats import ks_2samp

from featlab.errors import InvalidParameter
from featlab.learners import GiantSteps, Readout, TwoLayer
from featlab.simulation import simulate
from featlab.targets import Spiked, SpikeLaw, target
from featlab.theory.spiked.signal import gradient_sizes, one_step_readout

from .reference import LEVEL
from .reference_spiked_step import one_step_risk

MIXED = "(He2(h1)/sqrt(2) + He3(h1)/sqrt(6))/sqrt(2)"
SEEDS = 400
SIZES = {"dim": 16, "width": 5, "samples": 30, "strength": 8.0}
STEP = {"scale": 20.0, "bias_scale": 15.0, "ridge": 0.5, "tested": 256}
STUDENT = TwoLayer(5, "relu", biases="gaussian")


@pytest.fixture(scope="module")
def simulated() -> xr.Dataset:
    step = GiantSteps(1, scale=20.0, loss="correlation")
    learner = Readout(step, 30, 0.5, biases="gaussian", bias_scale=15.0, test_samples=256)
    law = target(MIXED, inputs=SpikeLaw(0.75))  # 16^0.75 = 8
    return simulate(law, learner, dim=16, samples=30, times=[1], seeds=SEEDS, student=STUDENT, key=8, progress=False)


def reference(**changes: bool) -> np.ndarray:
    return np.array([one_step_risk(seed, **SIZES, **STEP, **changes) for seed in range(SEEDS)])


def test_the_risk_has_the_law_of_a_plain_loop(simulated: xr.Dataset) -> None:
    risk = simulated.risk.values[:, -1]
    assert ks_2samp(risk, reference()).pvalue > LEVEL
    assert ks_2samp(risk, reference(step_sees_spike=False)).pvalue < LEVEL, "control: a step without the spike"


def test_a_law_in_d_is_taken_at_the_dimension(simulated: xr.Dataset) -> None:
    assert simulated.attrs["inputs"] == repr(Spiked(8.0, 1.0))


def test_the_protocol_follows_from_the_widths_of_features() -> None:
    law = target(MIXED, inputs=SpikeLaw(0.4))
    learner = one_step_readout(law, dim=900, samples=1800)
    assert isinstance(learner.first, GiantSteps)
    spread = gradient_sizes(law, dim=900, samples=1800).spread
    assert learner.first.steps_at(900)[0] * spread == pytest.approx(learner.bias_scale)
    with pytest.raises(InvalidParameter, match="relu"):
        one_step_readout(law, dim=900, samples=1800, student=TwoLayer(activation="tanh"))
