"""Gradients of random neurons: against plain draws in d dimensions, and their means against a hand-made integral."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import featlab
from featlab.errors import InvalidParameter
from featlab.gaussian.activations import activation
from featlab.simulation.neuron_gradients import fresh_steps, neuron_gradients
from featlab.theory.flows.averages import Averages
from featlab.theory.flows.complexity import fresh_time, gradient_samples

SIZES = {"bias": 0.5, "dim": 12, "samples": 30}


def plain_deviations(text: str, neurons: int, seed: int) -> np.ndarray:
    """|G_n - E G| with every coordinate drawn; E G from another 20,000 samples is not needed: two batches are taken."""
    random, slope, of = np.random.default_rng(seed), activation("erf").derivative, featlab.target(text)
    found = []
    for _ in range(neurons):
        row = random.standard_normal(SIZES["dim"])
        row /= np.linalg.norm(row)
        batches = random.standard_normal((2, SIZES["samples"], SIZES["dim"]))
        pulls = slope(batches @ row + SIZES["bias"]) * of.link(batches[..., :1].reshape(-1, 1)).reshape(2, -1)
        one, other = np.einsum("bn,bnd->bd", pulls, batches) / SIZES["samples"]
        found.append(np.sum((one - other) ** 2) / 2)
    return np.array(found)


def test_squared_deviations_have_the_mean_of_plain_draws() -> None:
    found = neuron_gradients(featlab.target("He2(h1)"), activation("erf"), **SIZES, neurons=3000, seed=1)
    right, wrong = (plain_deviations(text, 3000, 2) for text in ("He2(h1)", "1.2*He2(h1)"))
    assert scipy.stats.ttest_ind(found.deviation**2, right, equal_var=False).pvalue > 0.001
    assert scipy.stats.ttest_ind(found.deviation**2, wrong, equal_var=False).pvalue < 1e-6


def test_the_mean_of_a_linear_target_is_the_mean_slope() -> None:
    """y = h1: E[G] = E[sigma'] beta + E[h sigma''] w, and for d -> infinity its norm is E[sigma'(z + b)].

    erf'(z) = (2/sqrt pi) exp(-z^2) for featlab's erf(z), or with z/sqrt 2: taken from the activation itself.
    """
    points, weights = np.polynomial.hermite_e.hermegauss(100)
    slope = float(activation("erf").derivative(points + 0.5) @ weights / weights.sum())
    sizes = {"bias": 0.5, "samples": 0, "neurons": 5, "seed": 3}
    found = neuron_gradients(featlab.target("h1"), activation("erf"), dim=10**14, **sizes)
    np.testing.assert_allclose(found.mean, slope, rtol=1e-9)
    assert np.all(np.isnan(found.deviation))
    with pytest.raises(InvalidParameter, match="kinks"):
        neuron_gradients(featlab.target("h1"), activation("relu"), dim=10, **sizes)


def test_fresh_steps_have_signal_and_noise_of_the_theory() -> None:
    """Of one step, n spread/pull^2 is the n of equal signal and noise; a path without noise is that of its equation."""
    of = Averages(featlab.target("He3(h1)/sqrt(6)", noise=0.1), activation("He3"))
    sizes = {"correlation": 0.3, "dim": 40, "seed": 5}
    one = fresh_steps(of.target, of.activation, **sizes, samples=2000, rate=0.1, steps=1, neurons=800)
    needed = gradient_samples(of, 0.3, 40)
    assert 2000 * one.spread.mean() / one.pull.mean() ** 2 == pytest.approx(needed, rel=0.1)
    assert abs(2000 * one.spread.mean() / one.pull.mean() ** 2 / (1.3 * needed) - 1) > 0.1
    path = fresh_steps(of.target, of.activation, **sizes, samples=200_000, rate=0.04, steps=15, neurons=2)
    until = float(path.correlation[:, -1].mean())
    assert fresh_time(of, 0.3, 40, samples=200_000, rate=0.04, steps=20, until=until) == pytest.approx(0.6, rel=0.03)
    with pytest.raises(InvalidParameter, match="one direction"):
        fresh_steps(featlab.target("h1*h2"), of.activation, **sizes, samples=10, rate=0.1, steps=1, neurons=1)
