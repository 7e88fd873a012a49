"""Ridge regression by chunks against plain linear algebra and brute-force refits."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from featlab.learners.readout import LEAVE_ONE_OUT, LEAVE_ONE_OUT_GRID
from featlab.precision import double_precision
from featlab.simulation.ridge import (
    SMALLEST_SHARE,
    Columns,
    Rows,
    fit_dual,
    fit_primal,
    grid_of,
    kernel_of,
    path_dual,
    path_primal,
)

SHAPES = [(40, 15), (15, 40), (20, 20)]


@pytest.fixture(autouse=True)
def _float64():
    with double_precision():
        yield


def problem(samples, width, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((samples, width)) @ np.diag(1 / np.arange(1, width + 1)) + 0.3
    return features, 2 * features[:, 0] - features[:, 1] + 0.5 * rng.standard_normal(samples)


def chunked(features, labels, size):
    """Rows by chunks of `size`, the last one filled up with zeros."""
    chunks = -(-len(features) // size)
    beyond = chunks * size - len(features)
    table, values = jnp.pad(jnp.asarray(features), ((0, beyond), (0, 0))), jnp.pad(jnp.asarray(labels), (0, beyond))

    def visit(index):
        return tuple(lax.dynamic_slice_in_dim(part, index * size, size) for part in (table, values))

    return Rows(visit, chunks, len(features))


def columned(features, labels, size):
    by_feature = chunked(features.T, np.zeros(features.shape[1]), size)
    return Columns(lambda i: by_feature.visit(i)[0].T, by_feature.chunks, by_feature.total, jnp.asarray(labels))


def plain_ridge(features, labels, penalty):
    return np.linalg.solve(features.T @ features + penalty * np.eye(features.shape[1]), features.T @ labels)


def refitted_errors(features, labels, ridges):
    """Leave every sample out in turn and fit the others anew, at the total penalty n lambda."""
    errors = []
    for ridge in ridges:
        missed = []
        for left in range(len(labels)):
            kept = np.arange(len(labels)) != left
            fit = plain_ridge(features[kept], labels[kept], len(labels) * ridge)
            missed.append(labels[left] - features[left] @ fit)
        errors.append(np.mean(np.square(missed)))
    return np.array(errors)


@pytest.mark.parametrize(("samples", "width"), SHAPES)
@pytest.mark.parametrize("size", [7, 100])
def test_primal_and_dual_are_plain_ridge(samples, width, size):
    features, labels = problem(samples, width)
    expected = plain_ridge(features, labels, samples * 0.05)
    fits = fit_primal(chunked(features, labels, size), 0.05), fit_dual(columned(features, labels, size), 0.05)
    for fit in fits:
        assert float(fit.ridge) == 0.05
        np.testing.assert_allclose(fit.coefficients, expected, rtol=1e-10, atol=1e-12)
    wrong = plain_ridge(features, labels, 0.05)  # the convention without 1/n
    assert not np.allclose(fits[0].coefficients, wrong, rtol=0.01)


@pytest.mark.parametrize(("samples", "width"), SHAPES)
def test_leave_one_out_is_brute_force(samples, width):
    """To 1e-5 at the smallest ridges, where 1 - H_ii is a difference of nearly equal numbers; to 1e-9 above 1e-4."""
    features, labels = problem(samples, width, seed=1)
    columns = columned(features, labels, 6)
    kernel = kernel_of(columns)
    paths = path_primal(chunked(features, labels, 6)), path_dual(kernel, columns.labels, grid_of(kernel))
    expected = refitted_errors(features, labels, np.asarray(paths[0].ridges))
    training = [np.mean((labels - features @ plain_ridge(features, labels, samples * r)) ** 2) for r in paths[0].ridges]
    sure = np.array(LEAVE_ONE_OUT_GRID) > 1e-4
    for path in paths:
        np.testing.assert_allclose(path.errors[sure], expected[sure], rtol=1e-9)
        np.testing.assert_allclose(path.errors, expected, rtol=1e-5)
        assert not np.allclose(path.errors, training, rtol=1e-2)
        assert not np.allclose(path.errors[sure], refitted_errors(features, labels, path.ridges[sure] * 1.2), rtol=1e-3)


@pytest.mark.parametrize(("samples", "width"), SHAPES)
def test_leave_one_out_takes_the_best_of_the_grid(samples, width):
    features, labels = problem(samples, width, seed=2)
    ridges = np.array(LEAVE_ONE_OUT_GRID) * np.sum(features**2) / samples
    best = ridges[np.argmin(refitted_errors(features, labels, ridges))]
    assert ridges[0] < best < ridges[-1]
    expected = plain_ridge(features, labels, samples * best)
    for fit in (
        fit_primal(chunked(features, labels, 9), LEAVE_ONE_OUT),
        fit_dual(columned(features, labels, 9), LEAVE_ONE_OUT),
    ):
        assert float(fit.ridge) == pytest.approx(best, rel=1e-12)
        np.testing.assert_allclose(fit.coefficients, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("ridge", [1e-9, LEAVE_ONE_OUT])
def test_repeated_features_are_no_obstacle(ridge):
    """Neurons that start as pairs have equal features: a singular Gram matrix; the two share their coefficient."""
    half, labels = problem(60, 8)
    features = np.hstack([half, half])
    fit = fit_primal(chunked(features, labels, 16), ridge)
    expected = plain_ridge(half, labels, 60 * float(fit.ridge) / 2) / 2
    np.testing.assert_allclose(fit.coefficients, np.concatenate([expected, expected]), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(("samples", "width"), SHAPES)
def test_a_ridge_beyond_float64_is_raised_and_reported(samples, width):
    features, labels = problem(samples, width)
    for fit in fit_primal(chunked(features, labels, 9), 1e-300), fit_dual(columned(features, labels, 9), 1e-300):
        assert float(fit.ridge) == pytest.approx(SMALLEST_SHARE * np.sum(features**2) / samples, rel=1e-9)
        assert np.all(np.isfinite(fit.coefficients))
