"""The dense step is the gradient of the loss, and its ridge path solves the normal equations."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.exhibits import one_step
from featlab.gaussian.activations import activation
from featlab.targets import target
from featlab.theory.giant.ridge import Sizes, ridge_risk

TANH = activation("tanh")


def loss(weights, second, x, y):
    return 0.5 * np.mean((y - np.tanh(x @ weights.T) @ second / len(second)) ** 2)


def test_it_is_the_gradient_of_half_the_squared_loss(monkeypatch):
    """-p grad L by central differences, in two chunks of the batch; a 1% larger one is refused."""
    sizes, of = Sizes(7, 3, 4), target("relu(h1) + h2", noise=0.1)
    drawn = []

    def remembered(*given):
        drawn.append(labelled(*given))
        return drawn[-1]

    labelled = one_step.labelled
    monkeypatch.setattr(one_step, "labelled", remembered)
    monkeypatch.setattr(one_step, "_CHUNK", 4)
    found = one_step.first_gradient(of, TANH, sizes, np.random.default_rng(1))
    x, y = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
    assert len(drawn) == 2
    assert len(y) == 7
    slopes = np.zeros_like(found.start)
    for place in np.ndindex(slopes.shape):
        moved = np.zeros_like(slopes)
        moved[place] = 1e-5
        up, down = (loss(found.start + sign * moved, found.second, x, y) for sign in (1, -1))
        slopes[place] = -sizes.width * (up - down) / 2e-5
    assert found.gradient == pytest.approx(slopes, rel=1e-6, abs=1e-9)
    assert found.gradient != pytest.approx(1.01 * slopes, rel=1e-6, abs=1e-9)
    residual = y - np.tanh(x @ found.start.T) @ found.second / 3
    assert found.common == pytest.approx(residual @ x / 7)
    assert found.labels == pytest.approx(y @ x / 7)
    assert found.residual_square == pytest.approx(np.mean(residual**2))


@pytest.mark.parametrize("samples", [5, 30])
def test_the_path_solves_the_normal_equations(samples):
    rng = np.random.default_rng(2)
    features, labels, ridges = rng.standard_normal((samples, 9)), rng.standard_normal(samples), np.array([0.01, 1.0])
    found = one_step._ridge_path(features, labels, ridges)
    for place, ridge in enumerate(ridges):
        system = features.T @ features / samples + ridge * np.eye(9)
        assert system @ found[:, place] == pytest.approx(features.T @ labels / samples)


def test_largest_singular_value_with_its_vectors():
    matrix = np.random.default_rng(3).standard_normal((12, 8))
    left, values, right = np.linalg.svd(matrix)
    value, along, across = one_step.top_singular(matrix)
    assert value == pytest.approx(values[0])
    assert abs(along @ left[:, 0]) == pytest.approx(1)
    assert abs(across @ right[0]) == pytest.approx(1)


def test_measured_risk_is_near_the_limit():
    """d = 120, 12 seeds, a giant step: within four standard errors and 1/sqrt(d); 1.3 times the limit is refused."""
    of, sizes, size, ridge = target("tanh(h1)", noise=0.01), Sizes(480, 120, 120), 1.0, 0.1 / 120
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        batch = one_step.first_gradient(of, TANH, sizes, rng)
        moved = batch.start + size * batch.gradient
        found.append(one_step.excess_risks(of, TANH, moved, sizes.samples, np.array([ridge]), rng)[0])
    limit = ridge_risk(*one_step.limit_features(of, "tanh", size, sizes), sizes, ridge).risk - of.noise
    allowed = 4 * np.std(found, ddof=1) / np.sqrt(12) + limit / np.sqrt(120)
    assert abs(np.mean(found) - limit) < allowed < 0.3 * limit


def test_unknown_second_layer_is_refused():
    with pytest.raises(InvalidParameter, match="'gaussian' or 'signs'"):
        one_step.first_gradient(target("h1"), TANH, Sizes(2, 2, 2), np.random.default_rng(0), "ones")


def test_neurons_in_groups_keep_their_mean_square():
    second = np.random.default_rng(4).standard_normal(203)
    found = one_step.realised_neurons(second)
    assert np.sum(found.weights) == pytest.approx(1)
    assert found.weights @ found.second**2 == pytest.approx(np.mean(second**2))
    assert np.all(np.diff(found.second) > 0)
