"""The Hessian of a target and the series of the population gradient, against integrals and samples."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import ndtr

from featlab.errors import InvalidParameter
from featlab.targets import target
from featlab.theory.first_step import gradient_series, hessian

MIXED = "0.5*He2(h1) + h1*h2 + 0.3*He3(h2) + 0.2*He2(h1)*He2(h2)"


@pytest.mark.parametrize(
    ("text", "matrix"),
    [
        ("He2(h1)", [[2.0]]),
        ("h1*h2 + h1", [[0.0, 1.0], [1.0, 0.0]]),
        ("He3(h1)", [[0.0]]),
        ("abs(h1)", [[2 / np.sqrt(2 * np.pi)]]),  # E[delta(h)] twice
        ("sign(h1*h2)", [[0.0, 2 / np.pi], [2 / np.pi, 0.0]]),  # E[|h1|] E[|h2|]
        (MIXED, [[1.0, 1.0], [1.0, 0.0]]),
    ],
)
def test_hessians_worked_out_by_hand(text, matrix):
    found = hessian(text)
    assert np.max(np.abs(found.matrix - matrix)) <= 10 * found.error
    assert found.error < 1e-8
    assert np.max(np.abs(found.matrix - 1.01 * np.array(matrix) - 0.01)) > 10 * found.error  # the same, 1% wrong


def test_which_directions_one_step_finds():
    half = hessian("He2(h1) + He3(h2)")
    assert (half.rank, half.nondegenerate) == (1, False)
    np.testing.assert_allclose(half.directions, [[1.0], [0.0]])
    assert hessian("h1*h2").nondegenerate
    nothing = hessian("h1*h2*h3")
    assert (nothing.rank, nothing.directions.shape) == (0, (3, 0))
    assert nothing.samples(100) == nothing.condition == np.inf


def test_condition_and_samples_do_not_depend_on_the_scale():
    """He2(h1) + He2(h2) over its standard deviation 2: H = I, |H^+| = 1, kappa = 1/sqrt(2); n = d^2 (1/2) 2."""
    for text in ("He2(h1) + He2(h2)", "7*He2(h1) + 7*He2(h2) + 3"):
        found = hessian(text)
        assert found.condition == pytest.approx(np.sqrt(0.5))
        assert found.samples(50) == pytest.approx(2500.0)
    assert hessian("He2(h1) + 0.1*He2(h2)").condition > 5 * hessian("He2(h1) + He2(h2)").condition


def exact_gradient(text, overlaps):
    """<E[f x 1(<w, x> >= 0)], w*>: given h, <w, x> ~ N(<m, h>, 1 - |m|^2)."""
    nodes, weights = hermegauss(80)
    points = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    mass = np.outer(weights, weights).ravel() / (2 * np.pi)
    chance = ndtr(points @ overlaps / np.sqrt(1 - overlaps @ overlaps))
    return (mass * target(text).link(points) * chance) @ points


def test_series_is_the_gradient_and_its_coefficients_are_those_of_relu():
    overlaps = np.array([0.3, -0.2])
    series = gradient_series(MIXED, overlaps, "relu", 4)
    exact = exact_gradient(MIXED, overlaps)
    np.testing.assert_allclose(series.overlap(overlaps), exact, atol=1e-9)
    # With the coefficients of sigma' = (1 + sign) / 2 in their place it would be wrong.
    shifted = gradient_series(MIXED, overlaps, "sign", 4).overlap(overlaps) / 2
    assert np.max(np.abs(shifted - exact)) > 0.05


def test_leading_term_at_random_weights():
    """What is left after H m / sqrt(2 pi) is of order |m|^2: |m| ten times smaller, a hundred times less."""
    off = []
    for size in (0.1, 0.01):
        overlaps = size * np.array([0.6, 0.8])
        leading = hessian(MIXED).matrix @ overlaps / np.sqrt(2 * np.pi)
        off.append(np.linalg.norm(exact_gradient(MIXED, overlaps) - leading))
    assert off[1] < 0.02 * off[0]
    assert off[1] < 0.03 * np.linalg.norm(leading)


def test_series_against_samples():
    """In d = 5, 200,000 samples: within four standard errors, which a series without the part along w is not."""
    rng = np.random.default_rng(5)
    inputs = rng.standard_normal((200_000, 5))
    weights = np.array([0.5, -0.3, 0.6, 0.2, np.sqrt(1 - 0.25 - 0.09 - 0.36 - 0.04)])
    text = f"{MIXED} + 1"
    terms = (target(text).link(inputs[:, :2]) * (inputs @ weights >= 0))[:, None] * inputs
    series = gradient_series(text, weights[:2], "relu", 4)
    expected = np.append(series.along.sum(axis=0), np.zeros(3)) + series.neuron.sum() * weights
    error = terms.std(axis=0) / np.sqrt(len(terms))
    assert np.all(np.abs(terms.mean(axis=0) - expected) < 4 * error)
    without = np.append(series.along.sum(axis=0), np.zeros(3))
    assert np.any(np.abs(terms.mean(axis=0) - without) > 8 * error)


@pytest.mark.parametrize("overlaps", [[0.1], [0.9, 0.9], [np.nan, 0.0]])
def test_overlaps_that_no_unit_vector_has(overlaps):
    with pytest.raises(InvalidParameter, match=r"^overlaps: got"):
        gradient_series("h1*h2", overlaps)
