"""How much is found: 1 is all of it, whatever the width, the rotation and the noise of the neurons."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from featlab.comparison.recovery import principal_cosines, recovery, shares

AXES = ("seed", "time")


def dataset(weights: np.ndarray, rank: int, *, products: bool = True) -> xr.Dataset:
    """One run at one time with these weights (p, d), whose first `rank` coordinates are the directions."""
    unit = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    data = {"cosine": ((*AXES, "neuron", "direction"), unit[None, None, :, :rank])}
    if products:
        data["gram"] = ((*AXES, "neuron", "other_neuron"), (weights @ weights.T)[None, None])
    return xr.Dataset(data)


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(0, 5))
def test_neurons_that_span_the_directions_have_found_them(number: int, rank: int, more: int) -> None:
    rng = np.random.default_rng(number)
    basis = np.linalg.qr(rng.standard_normal((rank, rank)))[0]
    weights = np.zeros((rank + more, 20))
    weights[:, :rank] = np.concatenate([basis, rng.standard_normal((more, rank))])
    found = recovery(dataset(weights, rank))
    assert found.values == pytest.approx(np.ones((1, 1, rank)), abs=1e-6)
    inside = recovery(dataset(weights, rank, products=False))
    assert inside.values.max() == pytest.approx(1.0)


def test_two_neurons_with_a_direction_each() -> None:
    weights = np.eye(2, 10)
    assert recovery(dataset(weights, 2)).values.ravel() == pytest.approx([1.0, 1.0])
    cosines = dataset(weights, 2)["cosine"].values
    assert np.sqrt(np.mean(cosines**2, axis=2)).ravel() == pytest.approx([0.5**0.5] * 2)  # what is not told


def test_what_only_one_direction_found_says_so() -> None:
    rng = np.random.default_rng(0)
    weights = 1e-3 * rng.standard_normal((8, 4000))
    weights[:, 0] = 1.0
    along, across = recovery(dataset(weights, 2)).values.ravel()
    assert along > 0.99
    assert across < 0.1


def test_one_neuron_has_its_cosine() -> None:
    weights = np.array([[-0.6, 0.3, 0.8, 0.0]])
    found = recovery(dataset(weights, 2))
    assert found.values.ravel() == pytest.approx(np.array([0.6, 0.3]) / np.linalg.norm(weights))
    assert (found.column, found.names) == ("|cos|", ("h1", "h2"))
    assert shares(*(dataset(weights, 2)[name].values for name in ("cosine", "gram"))) == pytest.approx(found.values)


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_shares_depend_on_the_span_of_the_principal_directions_only(number: int) -> None:
    """Turning all directions off the target's, or the order and signs of neurons, changes nothing."""
    rng = np.random.default_rng(number)
    weights = rng.standard_normal((5, 12))
    turn = np.eye(12)
    turn[2:, 2:] = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    signs = rng.choice([-1.0, 1.0], (5, 1))
    other = signs * weights[rng.permutation(5)] @ turn
    np.testing.assert_allclose(recovery(dataset(weights, 2)).values, recovery(dataset(other, 2)).values, atol=1e-9)


def test_a_wide_random_student_has_found_nothing() -> None:
    """E |P w*|^2 = r/d for the r leading of any number of neurons, whose span is all of R^d."""
    rng = np.random.default_rng(3)
    squares = [recovery(dataset(rng.standard_normal((120, 60)), 2)).values ** 2 for _ in range(100)]
    mean, error = np.mean(squares), np.std(squares) / 200**0.5
    assert abs(mean - 2 / 60) < 4 * error
    assert error < 0.2 * mean
    assert recovery(dataset(rng.standard_normal((120, 60)), 2)).chance == 2**0.5


def test_what_diverged_has_no_share() -> None:
    given = dataset(np.eye(2, 4), 2)
    given["gram"][:] = np.nan
    assert np.all(np.isnan(recovery(given).values))


def test_estimates_tell_angles() -> None:
    """Two orthonormal rows that are right: singular values 1/sqrt(2) of cosines over sqrt(2), shown as 1."""
    told = xr.Dataset({"subspace": ((*AXES, "component"), np.full((1, 1, 2), 0.5**0.5))}, attrs={"student": "none"})
    assert recovery(told).values == pytest.approx(np.ones((1, 1, 2)))
    network = told.assign_attrs(student="TwoLayer(width=2)")
    assert recovery(network).values == pytest.approx(np.ones((1, 1, 1)))
    assert recovery(xr.Dataset({"risk": (AXES, np.ones((1, 1)))})).names == ()


def test_principal_cosines_are_rotation_invariant_and_add_up_to_the_shares() -> None:
    """Against the singular values of an explicit product of orthonormal bases, p = r = 2 in dimension 5, and p = 1."""
    random = np.random.default_rng(3)
    weights = random.normal(size=(2, 5))
    basis = np.linalg.qr(weights.T)[0]
    norms = np.linalg.norm(weights, axis=1)
    cosines, gram = (weights[:, :2] / norms[:, None])[None], (weights @ weights.T)[None]
    expected = np.linalg.svd(basis.T[:, :2], compute_uv=False)
    np.testing.assert_allclose(principal_cosines(cosines, gram)[0], expected, rtol=1e-9)
    np.testing.assert_allclose(np.sum(shares(cosines, gram) ** 2), np.sum(expected**2), rtol=1e-9)
    angle = 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    np.testing.assert_allclose(principal_cosines(cosines @ turn, gram)[0], expected, rtol=1e-9)
    one = principal_cosines(cosines[:, :1], gram[:, :1, :1])[0]
    np.testing.assert_allclose(one, [np.linalg.norm(cosines[0, 0]), 0.0], rtol=1e-9)
    assert np.isnan(principal_cosines(np.full((1, 2, 2), np.nan), gram)).all()
