"""The gradient of one neuron under a spike: its exact law against simulations of one giant step."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.gaussian.activations import activation
from featlab.learners import GiantSteps, TwoLayer
from featlab.simulation import simulate
from featlab.targets import Spiked, target
from featlab.theory.spiked.gradient import Neuron, neuron_gradient

TEXT = "(He2(h1)/sqrt(2) + He3(h1)/sqrt(6))/sqrt(2)"
DIM, SAMPLES, SEEDS, START, BIAS, OVERLAP = 100, 150, 1500, 0.3, 0.5, 0.6


def expected(spike: Spiked, along_spike: np.ndarray) -> tuple[float, float]:
    """E <G, beta> and E |G|^2, averaged over the neurons' overlaps with mu."""
    of = target(TEXT, noise=0.1, inputs=spike)
    found = [neuron_gradient(of, activation("relu"), Neuron(START, float(u), BIAS)) for u in along_spike]
    lengths = [one.mean @ one.mean + one.deviation(DIM, SAMPLES) ** 2 for one in found]
    return float(np.mean([one.mean[0] for one in found])), float(np.mean(lengths))


def test_mean_and_length_of_the_gradient() -> None:
    """Means over 1500 seeds within four standard errors; of a spike 40% weaker, and of none, they are not."""
    run = simulate(
        target(TEXT, noise=0.1, inputs=Spiked(9.0, OVERLAP)),
        GiantSteps(1, scale=1.0, loss="correlation"),
        dim=DIM,
        samples=SAMPLES,
        seeds=SEEDS,
        key=12,
        student=TwoLayer(1, "relu", biases=BIAS, start="planted", planted=((START,),)),
        observe=("overlap", "weights", "gradient_cosine"),
        progress=False,
    )
    change = np.diff(run.overlap.values[:, :, 0, 0].astype(float), axis=1)[:, 0]
    squares = (change / run.gradient_cosine.values[:, 1, 0, 0]) ** 2
    along = OVERLAP * START + np.sqrt(1 - OVERLAP**2) * run.weights.values[:, 0, 0, 1].astype(float)

    def largest(strength: float) -> float:
        mean, length = expected(Spiked(strength, OVERLAP), along)
        pairs = ((change, mean), (squares, length))
        return max(abs(found.mean() - number) / (found.std() / np.sqrt(SEEDS)) for found, number in pairs)

    assert largest(9.0) < 4
    assert largest(5.4) > 4, "control: a weaker spike"
    assert largest(0.0) > 4, "control: no spike"


def test_the_cosine_of_the_gradient_on_a_large_batch() -> None:
    """d = 2000, n = 20 d, a spike of 30 along beta: the ratio of means is the cosine up to 1/sqrt(d) of it; half the
    batch gives another one."""
    of = target(TEXT, inputs=Spiked(30.0, 1.0))
    student = TwoLayer(1, "relu", biases=BIAS, start="planted", planted=((0.1,),))
    learner, sizes = GiantSteps(1, loss="correlation"), {"dim": 2000, "samples": 40_000}
    run = simulate(of, learner, **sizes, seeds=60, student=student, observe=("gradient_cosine",), key=3, progress=False)
    found = run.gradient_cosine.values[:, 1, 0, 0].astype(float)
    law = neuron_gradient(of, activation("relu"), Neuron(0.1, 0.1, BIAS))
    error = 4 * found.std() / np.sqrt(60) + law.cosine(2000, 40_000) / np.sqrt(2000)
    assert found.mean() == pytest.approx(law.cosine(2000, 40_000), abs=error)
    assert found.mean() != pytest.approx(law.cosine(2000, 20_000), abs=error)
