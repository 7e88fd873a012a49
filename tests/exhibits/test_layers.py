"""Learners of trees in NumPy, against the slow obvious way: loops over samples, matrices as they are written."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.exhibits import layers
from featlab.targets import target

TREE = target("tree(tanh(3*h1), He2(h1)/2 + He3(h1)/6, 3)")


@pytest.fixture(scope="module")
def samples():
    draw = np.random.default_rng(0)
    return [layers.drawn(draw, TREE, count, 12) for count in (1500, 1500, 4000)]


def test_the_first_layer_takes_large_steps_on_the_sphere(samples):
    """w <- normalised(w + eta (1 - w w^T) mean[y He2'(<w, x>) x]), neuron by neuron."""
    batch = samples[0]
    found = layers.first_layer(np.random.default_rng(1), batch, 4)
    rows = np.random.default_rng(1).standard_normal((4, 12), dtype=np.float32).astype(float)
    for w in rows:
        w /= np.linalg.norm(w)
        for _ in range(layers.FIRST_STEPS):
            slope = np.mean(batch.y[:, None] * 2 * (batch.x @ w)[:, None] * batch.x, axis=0)
            w += layers.FIRST_STEP * (slope - (slope @ w) * w)
            w /= np.linalg.norm(w)
    np.testing.assert_allclose(found, rows, atol=2e-3)


def test_the_second_layer_takes_preconditioned_steps(samples):
    """Two steps as they are written, with p x p matrices in double precision; more neurons than polynomials."""
    second, last, tested = samples
    rows = layers.first_layer(np.random.default_rng(2), second, 30)
    (found,) = layers.three_layers(
        np.random.default_rng(3), rows, second, last, tested, neurons=8, step_size=4.0, steps=[2]
    )
    half = np.random.default_rng(3).standard_normal((2, 4), dtype=np.float32)
    signs, biases = np.concatenate([half[0], -half[0]]), np.tile(half[1], 2)
    z, at_last, at_test = (layers.features(rows, part.x).astype(float) for part in (second, last, tested))
    penalty = layers.ridge(z, second.y).ridge
    weights = np.zeros((8, 30))
    for _ in range(2):
        fields = z @ weights.T + biases
        missed = second.y - np.mean(signs * np.tanh(fields), axis=1)
        slope = np.mean((missed[:, None] * signs / np.cosh(fields) ** 2)[:, :, None] * z[:, None, :], axis=0)
        weights = weights + 4.0 * np.linalg.solve(z.T @ z / len(z) + penalty * np.eye(30), slope.T).T
    fit = layers.ridge(np.tanh(at_last @ weights.T + biases) / 8**0.5, last.y)
    expected = layers.left(tested.y, np.tanh(at_test @ weights.T + biases) / 8**0.5 @ fit.coefficients)
    assert found == pytest.approx(expected, rel=0.01)
    assert found < 0.9 * layers.two_layers(rows, last, tested)


def test_conjugate_gradients_solve_the_ridge_regression(samples):
    batch = samples[0]
    dim = batch.x.shape[1]
    above = np.triu_indices(dim, 1)
    x = batch.x.astype(float)
    # A symmetric matrix has each product twice; features of variance 1.
    phi = np.hstack([x[:, above[0]] * x[:, above[1]], (x**2 - 1) / 2**0.5, x, np.ones((len(x), 1))])
    coefficients = np.linalg.solve(phi.T @ phi / len(x) + 0.1 * np.eye(phi.shape[1]), phi.T @ batch.y / len(x))
    found = layers.conjugate(*batch, 0.1, accuracy=1e-5)
    assert found[above] * 2**0.5 == pytest.approx(coefficients[: len(above[0])], abs=1e-4)
    assert found[:dim, dim] == pytest.approx(coefficients[-dim - 1 : -1], abs=1e-4)


def test_two_layers_trained_together_learn(samples):
    """Less is left after 40 epochs than by all quadratics."""
    second, last, tested = samples
    sizes = {"rank": 3, "neurons": 64, "epochs": 40}
    trained = layers.trained_together(np.random.default_rng(5), second, last, tested, **sizes)
    assert trained < layers.all_quadratics(second, tested)
