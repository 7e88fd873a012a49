"""How well samples fix the shared direction: least squares, slopes against differences, a plain Newton step."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.targets import target
from featlab.theory.tied.loss import population_loss
from featlab.theory.tied.neurons import Neurons
from featlab.theory.tied.precision import direction_error

BOTH_SIDES = Neurons(np.zeros(2), np.array([1.0, -1.0]))


@pytest.mark.parametrize("pole", [1, -1])
def test_a_linear_network_on_a_linear_target_is_least_squares(pole):
    """relu(u) - relu(-u) = u: 1 - |m| = sigma^2 (d - 1) / (2 n)."""
    for noise in (0.01, 0.25):
        assert direction_error(target("h1", noise=noise), BOTH_SIDES, 1e-9, pole) == pytest.approx(noise / 2, rel=1e-6)


def test_slopes_are_derivatives():
    rng = np.random.default_rng(1)
    neurons, second = Neurons(rng.standard_normal(9), rng.choice([-1.0, 1.0], 9)), rng.standard_normal(9)
    fields = np.linspace(-2.9, 3.0, 40)
    differences = (neurons.features(fields + 1e-7) - neurons.features(fields - 1e-7)) @ second / 2e-7
    np.testing.assert_allclose(neurons.slopes(fields, second), differences, atol=1e-6)


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_it_is_the_error_of_a_newton_step_on_samples(share):
    """From the pole, one step -gradient / curvature across theta: the mean of its square over 2, per direction and
    sample, over 300 batches of 200 samples, with the best c and with half of it. Twice the label noise is refused."""
    rng, noise, samples, directions = np.random.default_rng(2), 0.2, 200, 20
    neurons = Neurons(rng.standard_normal(10), rng.choice([-1.0, 1.0], 10))
    goal = target("tanh(2*h1)", noise=noise)
    loss = population_loss(goal, neurons, 0.01)
    second = share * loss.best_second(1.0)
    curvature = -loss.gradient(second, 1.0)[1]
    found = []
    for _ in range(300):
        fields, across = rng.standard_normal(samples), rng.standard_normal((samples, directions))
        labels = goal.link(fields[:, None]) + np.sqrt(noise) * rng.standard_normal(samples)
        missed = labels - neurons.features(fields) @ second
        step = 2 * (missed * neurons.slopes(fields, second)) @ across / samples / curvature
        found.append(samples * np.mean(step**2) / 2)
    mean, error = np.mean(found), np.std(found) / np.sqrt(len(found))
    assert error < 0.03 * mean
    assert abs(direction_error(goal, neurons, 0.01, second=second) - mean) < 4 * error
    assert (direction_error(goal, neurons, 0.01) == direction_error(goal, neurons, 0.01, second=second)) == (share == 1)
    noisier = target("tanh(2*h1)", noise=2 * noise)
    assert abs(direction_error(noisier, neurons, 0.01, second=second) - mean) > 4 * error


def test_what_is_refused():
    with pytest.raises(InvalidParameter, match="pole"):
        direction_error("h1", BOTH_SIDES, 0.01, 0)
    with pytest.raises(InvalidParameter, match="minimum"):
        # A single relu has its minimum at m = .59 here, and none at the pole.
        direction_error("h1 - 1.5*He2(h1)/sqrt(2)", Neurons(np.zeros(1), np.ones(1)), 0.01)
