"""Tree targets of a finite number of directions: sums of squares, limits, integrals and samples."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import hermite_all
from featlab.targets import tree_target
from featlab.theory.depth.finite import finite_tree
from featlab.theory.depth.limits import quadratic_ridge, tree_limits

AUTHORS = "He2(h1)/2 + He3(h1)/6"


def test_a_linear_link_has_the_degrees_of_its_polynomial():
    """y = h*: 2! c_2^2 = 1/2 in degree 2, 3! c_3^2 = 1/6 in degree 3, whatever D, r and signs."""
    for options in ({"effective": 4}, {"effective": 5, "blocks": 2}, {"effective": 6, "signs": "ones"}):
        found = finite_tree(tree_target("h1", AUTHORS, **options))
        assert found.by_degree == pytest.approx([0, 0, 1 / 2, 1 / 6], abs=1e-6)  # tails beyond the grid
        assert found.of_degree(3) == pytest.approx(0, abs=1e-6)
        # E[y He2(z_i)] = 2 c_2 / sqrt(D r).
        assert found.strength == pytest.approx((options["effective"] * options.get("blocks", 1)) ** -0.5, abs=1e-6)
        assert found.from_sum == pytest.approx(0, abs=1e-4)  # the density of four directions rings


def test_two_directions_are_a_plane():
    """D = 2: all coefficients up to degree 4 by a sum over a grid of the plane."""
    made = tree_target("tanh(3*h1)", AUTHORS, effective=2)
    points = np.linspace(-8, 8, 801)
    weights = np.exp(-(points**2) / 2) / np.exp(-(points**2) / 2).sum()
    plane = np.stack(np.meshgrid(points, points, indexing="ij"), axis=-1)
    values = made.link(plane.reshape(-1, 2)).reshape(801, 801)
    turned = hermite_all(4, points) * weights
    squares = (turned @ values @ turned.T) ** 2
    factorials = np.array([1, 1, 2, 6, 24])
    expected = [sum(squares[i, q - i] / (factorials[i] * factorials[q - i]) for i in range(q + 1)) for q in range(5)]
    found = finite_tree(made, degrees=4)
    assert found.by_degree == pytest.approx(expected, abs=1e-4)
    assert found.second_moment == pytest.approx(weights @ values**2 @ weights, abs=1e-4)


def test_many_directions_are_the_limit():
    """Corrections fall like 1/sqrt(D): at D = 400 and 6400 they are a fourth."""
    limits = tree_limits(tree_target("tanh(3*h1)", AUTHORS, effective=1))
    off = []
    for directions in (400, 6400):
        found = finite_tree(tree_target("tanh(3*h1)", AUTHORS, effective=directions))
        off.append([found.of_degree(q) - limits.of_degree(q) for q in (0, 2, 3)])
    assert np.abs(off[1]).max() < 2e-3
    assert np.abs(off[0]).max() > 2 * np.abs(off[1]).max()
    ratio = found.quadratics(100, 8000) / quadratic_ridge(tree_target("tanh(3*h1)", AUTHORS, effective=1), 100, 8000)
    assert ratio == pytest.approx(1, abs=2e-3)


def test_two_blocks_by_samples():
    """D = 5, two blocks, 300,000 samples: signal along one direction, variance, and what the sum of the fields leaves,
    by 300 bins; within 4 errors; values 5% off are refused."""
    made = tree_target("tanh(3*h1)", AUTHORS, effective=5, blocks=2)
    found, rng = finite_tree(made), np.random.default_rng(3)
    x = rng.standard_normal((300_000, 10))
    hidden, y = made.hidden_fields(x), made.link(x)
    signs = np.tile([1.0, -1.0, 1.0, -1.0, 1.0], 2)
    signal = y[:, None] * (x**2 - 1) * signs
    bins = y[np.argsort(hidden.sum(axis=1))].reshape(300, 1000)
    within = (bins - bins.mean(axis=1, keepdims=True)) ** 2 * 1000 / 999
    for sample, value in (
        (signal.mean(axis=1), found.strength),
        (y**2, found.second_moment),
        (within.ravel(), found.from_sum),
    ):
        allowed = 4 * np.std(sample) / len(sample) ** 0.5
        assert abs(np.mean(sample) - value) < allowed
        assert abs(np.mean(sample) - 1.05 * value) > allowed


def test_laws_are_refused():
    with pytest.raises(InvalidParameter, match="number of directions"):
        finite_tree(tree_target("tanh(3*h1)", AUTHORS, exponent=0.5))
    with pytest.raises(InvalidParameter, match="degrees computed"):
        finite_tree(tree_target("tanh(3*h1)", AUTHORS, effective=3)).of_degree(4)
