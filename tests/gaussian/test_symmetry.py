"""Symmetries of functions of several coordinates: found, not invented, and averages over one point of each orbit."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.gaussian.hermite import Floats
from featlab.gaussian.polar import direction_rule
from featlab.gaussian.symmetry import symmetries


@pytest.mark.parametrize(
    ("function", "order", "reversing"),
    [
        (lambda z: z[:, 0] * z[:, 1] * z[:, 2], 48, 24),
        (lambda z: z[:, 0] * z[:, 1] * z[:, 2] + 5, 48, 24),
        (lambda z: z[:, 0] ** 2 + z[:, 1] ** 2 + 2 * z[:, 2] ** 2, 16, 0),
        (lambda z: z[:, 0] + z[:, 1] ** 2 + z[:, 2] ** 3, 2, 0),
        (lambda z: z[:, 0] + z[:, 1] ** 2 + z[:, 0] * z[:, 2], 2, 0),
        (lambda z: z[:, 0] + z[:, 1] ** 2 + np.maximum(z[:, 2], 0), 2, 0),
        (lambda z: np.sin(z[:, 0]) + np.sin(z[:, 1]) + np.sin(z[:, 2]), 12, 6),
        (lambda z: z[:, 0] + 2 * np.maximum(z[:, 1], 0) + 3 * z[:, 2] ** 3 + z[:, 0] ** 2, 1, 0),
    ],
)
def test_the_group_of_a_function(function: object, order: int, reversing: int) -> None:
    found = symmetries(function, (3,))  # type: ignore[arg-type]
    assert (len(found), int(found.reversing.sum())) == (order, reversing)


def test_blocks_are_not_exchanged() -> None:
    assert len(symmetries(lambda z: z[:, 0] * z[:, 1] * z[:, 2], (2, 1))) == 16


@pytest.mark.parametrize("dimension", [2, 3, 4])
def test_a_rule_on_one_chamber_averages_over_the_sphere(dimension: int) -> None:
    """E[u1^2 .. uD^2] = 1 / (D (D + 2) .. (3D - 2)) on the unit sphere; on one of 2^D D! chambers it is the same."""
    group = symmetries(lambda z: np.prod(z, axis=1), (dimension,))
    expected = 1 / np.prod([dimension + 2.0 * k for k in range(dimension)])
    errors = []
    for nodes in (5, 10, 20):
        directions, weights = direction_rule(dimension, nodes, [], group)
        errors.append(abs(weights @ np.prod(directions**2, axis=1) / expected - 1))
    assert errors[1] < 0.1 * errors[0]
    assert errors[2] < 1e-7
    sizes = np.argsort(directions, axis=1)
    assert np.all(directions > 0), "one chamber:"
    assert np.all(sizes == sizes[0]), "one order of sizes"
    assert weights @ directions[:, 0] ** 2 != pytest.approx(1 / dimension, rel=1e-2), "negative control: not invariant"


def test_orbits_keep_averages_of_invariant_functions() -> None:
    points = np.random.default_rng(0).standard_normal((6, 2))
    group = symmetries(lambda z: z[:, 0] * z[:, 1], (2,)).fixing(np.eye(2))
    every = np.concatenate([points[:, order] * signs for order, signs in zip(group.orders, group.signs, strict=True)])
    folded, weights = group.folded(every, np.ones(len(every)))
    assert len(folded) == 6
    assert weights == pytest.approx(np.full(6, len(group)))


def test_matrices_are_averaged_over_the_elements_that_keep_the_label() -> None:
    group = symmetries(lambda z: z[:, 0] * z[:, 1], (2,))
    matrix: Floats = np.array([[[1.0, 0.5], [0.5, 3.0]]])
    assert group.average(matrix) == pytest.approx(np.array([[[2.0, 0.5], [0.5, 2.0]]])), "both reflected, exchanged"
    assert len(group.fixing(np.diag([1.0, 2.0]))) == 2, "an exchange does not keep an unequal matrix"
