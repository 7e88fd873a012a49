"""Hermite polynomials and tensors: the identities that define them."""

from __future__ import annotations

from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import eval_hermitenorm

from featlab.gaussian.hermite import (
    dense_tensor,
    hermite,
    hermite_all,
    hermite_normalised_all,
    hermite_products,
    hermite_series,
    multi_indices,
    unfold,
)
from featlab.gaussian.quadrature import gauss_pieces

points = st.floats(-6, 6)
orders = st.integers(0, 12)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 7, 12, 40])
def test_values_agree_with_scipy(order: int) -> None:
    x = np.linspace(-6, 6, 41)
    expected = eval_hermitenorm(order, x)
    np.testing.assert_allclose(hermite(order, x), expected, rtol=1e-11, atol=1e-12 * np.abs(expected).max())


def test_first_polynomials_are_the_probabilists_ones() -> None:
    x = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(hermite(2, x), x**2 - 1, atol=1e-14)
    np.testing.assert_allclose(hermite(3, x), x**3 - 3 * x, atol=1e-13)
    np.testing.assert_allclose(hermite(4, x), x**4 - 6 * x**2 + 3, atol=1e-13)


def test_orthogonal_up_to_order_40() -> None:
    """E[h_j h_k] = [j = k]; 41 Gauss nodes are exact for degree 81, 40 are not (the control)."""
    x, w = gauss_pieces((), 41)
    basis = hermite_normalised_all(40, x)
    np.testing.assert_allclose((basis * w) @ basis.T, np.eye(41), atol=1e-11)
    x, w = gauss_pieces((), 40)
    basis = hermite_normalised_all(40, x)
    assert np.abs((basis * w) @ basis.T - np.eye(41)).max() > 0.1


def test_normalised_and_monic_differ_by_root_factorial_without_overflow() -> None:
    x = np.linspace(-20, 20, 9)
    monic, normalised = hermite_all(40, x), hermite_normalised_all(40, x)
    assert np.all(np.isfinite(monic))
    roots = np.sqrt([float(factorial(k)) for k in range(41)])
    np.testing.assert_allclose(monic, normalised * roots[:, None], rtol=1e-9, atol=1e-12 * roots.max())


@given(order=st.integers(1, 12), x=points)
def test_derivative_lowers_the_order(order: int, x: float) -> None:
    """He_k' = k He_{k-1}, by a complex step (exact to rounding)."""
    step = 1e-30j
    coefficients = np.eye(order + 1)[order]
    derivative = np.polynomial.hermite_e.hermeval(x + step, coefficients).imag / 1e-30
    scale = 1 + np.abs(hermite_all(order, 7.0)).max()
    assert derivative == pytest.approx(order * float(hermite(order - 1, x)), abs=1e-12 * scale)


@given(order=orders, x=points, y=points, angle=st.floats(0, 2 * np.pi))
def test_addition_formula(order: int, x: float, y: float, angle: float) -> None:
    """He_n(x cos t + y sin t) = sum_k C(n, k) cos^k t sin^{n-k} t He_k(x) He_{n-k}(y)."""
    c, s = np.cos(angle), np.sin(angle)
    terms = [
        comb(order, k) * c**k * s ** (order - k) * float(hermite(k, x)) * float(hermite(order - k, y))
        for k in range(order + 1)
    ]
    scale = 1 + sum(abs(t) for t in terms)
    assert float(hermite(order, c * x + s * y)) == pytest.approx(sum(terms), abs=1e-11 * scale)


@given(
    st.lists(st.floats(-3, 3), min_size=1, max_size=10),
    st.lists(st.floats(-3, 3), min_size=1, max_size=10),
    st.floats(-3, 3),
    points,
)
def test_series_is_linear_and_is_the_sum(a: list[float], b: list[float], factor: float, x: float) -> None:
    size = max(len(a), len(b))
    first, second = np.zeros(size), np.zeros(size)
    first[: len(a)], second[: len(b)] = a, b
    basis = hermite_all(size - 1, x)
    scale = 1 + np.abs(basis).sum() * 20
    combined = float(hermite_series(first + factor * second, x))
    assert combined == pytest.approx(float((first + factor * second) @ basis), abs=1e-13 * scale)
    assert combined == pytest.approx(
        float(hermite_series(first, x) + factor * hermite_series(second, x)), abs=1e-13 * scale
    )


@pytest.mark.parametrize(("rank", "degree"), [(1, 0), (1, 5), (2, 3), (3, 4), (4, 8)])
def test_multi_indices_are_all_of_the_degree(rank: int, degree: int) -> None:
    indices = multi_indices(rank, degree)
    assert indices.shape == (comb(rank + degree - 1, degree), rank)
    assert np.all(indices.sum(axis=1) == degree)
    assert len({tuple(row) for row in indices}) == len(indices)


def test_products_are_orthonormal() -> None:
    x, w = gauss_pieces((), 9)
    grid = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
    weights = np.outer(w, w).ravel()
    basis = np.concatenate([hermite_products(grid, degree) for degree in range(9)], axis=1)
    np.testing.assert_allclose(basis.T @ (weights[:, None] * basis), np.eye(basis.shape[1]), atol=1e-12)


def random_rotation(rank: int, seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((rank, rank)))[0]


def hermite_of_direction(direction: np.ndarray, degree: int) -> np.ndarray:
    """Coefficients c_a of h_k(<v, z>): sqrt(k! / a!) v^a, by the multinomial addition formula."""
    indices = multi_indices(direction.size, degree)
    counts = np.array([float(np.prod([factorial(int(i)) for i in a])) for a in indices])
    return np.sqrt(factorial(degree) / counts) * np.prod(direction**indices, axis=1)


@pytest.mark.parametrize(("rank", "degree"), [(2, 1), (2, 5), (3, 4), (4, 3), (4, 8)])
def test_tensor_of_one_direction_is_its_power(rank: int, degree: int) -> None:
    """E[h_k(<v, z>) He_k(z)] = sqrt(k!) v^{(x) k}; its unfolding has rank one along v."""
    direction = random_rotation(rank, 1)[0]
    coefficients = hermite_of_direction(direction, degree)
    fields = np.random.default_rng(2).standard_normal((20, rank))
    one_field = hermite_normalised_all(degree, fields @ direction)[degree]
    np.testing.assert_allclose(hermite_products(fields, degree) @ coefficients, one_field, rtol=1e-9, atol=1e-9)
    power = np.ones(())
    for _ in range(degree):
        power = np.multiply.outer(power, direction)
    np.testing.assert_allclose(dense_tensor(coefficients, rank, degree), np.sqrt(factorial(degree)) * power, atol=1e-11)
    left, sizes, _ = np.linalg.svd(unfold(coefficients, rank, degree))
    assert sizes[0] == pytest.approx(1.0)
    assert np.all(sizes[1:] < 1e-12)
    assert abs(left[:, 0] @ direction) == pytest.approx(1.0)


@pytest.mark.parametrize(("rank", "degree"), [(2, 4), (3, 3), (3, 5)])
def test_tensors_rotate_with_the_function(rank: int, degree: int) -> None:
    """f(R z) has the tensor of f with R^T applied to every axis, and the same energy."""
    rng = np.random.default_rng(3)
    coefficients = rng.standard_normal(len(multi_indices(rank, degree)))
    rotation = random_rotation(rank, 4)
    x, w = gauss_pieces((), degree + 1)
    grid = np.stack(np.meshgrid(*[x] * rank, indexing="ij"), axis=-1).reshape(-1, rank)
    weights = w
    for _ in range(rank - 1):
        weights = np.multiply.outer(weights, w)
    rotated_values = hermite_products(grid @ rotation.T, degree) @ coefficients
    rotated = hermite_products(grid, degree).T @ (weights.ravel() * rotated_values)
    assert rotated @ rotated == pytest.approx(coefficients @ coefficients)
    expected = dense_tensor(coefficients, rank, degree)
    for axis in range(degree):
        expected = np.moveaxis(np.tensordot(expected, rotation, axes=(axis, 0)), -1, axis)
    np.testing.assert_allclose(dense_tensor(rotated, rank, degree), expected, atol=1e-10)
    assert np.abs(dense_tensor(coefficients, rank, degree) - expected).max() > 0.1  # the rotation did something


@pytest.mark.parametrize(("rank", "degree"), [(2, 3), (3, 4), (4, 2)])
def test_unfolding_has_the_gram_matrix_of_the_dense_tensor(rank: int, degree: int) -> None:
    """U U^T = T_(1) T_(1)^T / k!, and its trace is the energy of the degree."""
    coefficients = np.random.default_rng(5).standard_normal(len(multi_indices(rank, degree)))
    unfolded = unfold(coefficients, rank, degree)
    flat = dense_tensor(coefficients, rank, degree).reshape(rank, -1)
    np.testing.assert_allclose(unfolded @ unfolded.T, flat @ flat.T / factorial(degree), atol=1e-12)
    assert np.trace(unfolded @ unfolded.T) == pytest.approx(coefficients @ coefficients)
