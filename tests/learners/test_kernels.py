"""Kernels: their formulas against random features, tangents and series; what their descriptions refuse."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import featlab
from featlab.errors import InvalidParameter
from featlab.experiments import learner_from_text
from featlab.gaussian.activations import activation
from featlab.learners.kernel_functions import (
    ArcCosine,
    Exponential,
    Polynomial,
    PowerSeries,
    ReluTangent,
    kernel_function,
    relu_series,
    step_series,
)
from featlab.learners.kernels import KERNEL_RIDGES, KernelRidge

KERNELS = [Exponential(), Polynomial(3), PowerSeries((1.0, 0.0, 2.0)), ArcCosine(0), ArcCosine(1), ReluTangent()]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_kernel_is_its_power_series(kernel):
    """At |t| <= 0.5, where 60 terms leave less than 1e-18 of any of them."""
    at = np.linspace(-0.5, 0.5, 11)
    series = kernel.series(60)
    assert series.shape == (60,)
    assert np.all(series >= 0)
    np.testing.assert_allclose(np.polynomial.polynomial.polyval(at, series), kernel.shape(np, at), rtol=1e-13)
    np.testing.assert_array_equal(kernel.series(2), series[:2])
    np.testing.assert_array_equal(kernel.series(1), series[:1])


def test_series_of_step_and_relu_are_their_hermite_energies():
    """E[s(u) s(v)] = sum_k E[s He_k]^2 rho^k / k!."""
    factorials = np.array([float(math.factorial(k)) for k in range(30)])
    for name, series in (("step", step_series(30)), ("relu", relu_series(30))):
        expected = activation(name).hermite_coefficients(29) ** 2 / factorials
        np.testing.assert_allclose(series, expected, rtol=1e-12, atol=1e-300)
    assert not np.allclose(step_series(30), activation("relu").hermite_coefficients(29) ** 2 / factorials)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernels_are_positive_definite(kernel):
    points = np.random.default_rng(1).standard_normal((60, 4)) * np.linspace(0.2, 3, 60)[:, None]
    values = np.linalg.eigvalsh(_matrix(kernel, points))
    assert values.min() > -1e-12 * values.max()


def test_what_is_not_a_kernel_is_seen_not_to_be():
    """The same assertion refuses g(t) = t - t^2, which PowerSeries refuses to be."""
    points = np.random.default_rng(1).standard_normal((60, 4)) * np.linspace(0.2, 3, 60)[:, None]
    products = points @ points.T / 4
    values = np.linalg.eigvalsh(products - products**2)
    assert not values.min() > -1e-12 * values.max()
    with pytest.raises(InvalidParameter, match="positive definite"):
        PowerSeries((0.0, 1.0, -1.0))


@pytest.mark.parametrize(("order", "feature"), [(0, lambda u: (u > 0) * 1.0), (1, lambda u: np.maximum(u, 0))])
def test_arc_cosine_kernels_are_means_over_random_features(order, feature):
    """Within five standard errors of 200,000 features at 6 pairs of points of different norms."""
    rng = np.random.default_rng(7)
    points = rng.standard_normal((4, 6)) * np.array([0.5, 1.0, 2.0, 3.0])[:, None]
    features = feature(points @ rng.standard_normal((6, 200_000)) / math.sqrt(6))
    pairs = np.array([(i, j) for i in range(4) for j in range(i)])
    products = features[pairs[:, 0]] * features[pairs[:, 1]]
    error = products.std(axis=1) / math.sqrt(200_000)

    def agrees(kernel):
        wanted = _matrix(kernel, points)[pairs[:, 0], pairs[:, 1]]
        return bool(np.all(np.abs(products.mean(axis=1) - wanted) < 5 * error))

    assert agrees(ArcCosine(order))
    assert not agrees(ArcCosine(1 - order))


def test_the_tangent_kernel_is_that_of_a_wide_network():
    """sum over parameters of df/dtheta(x) df/dtheta(y), width 100,000, within five standard errors over neurons."""
    rng = np.random.default_rng(3)
    width, dim = 100_000, 5
    first, second = rng.standard_normal((width, dim)), rng.standard_normal(width)
    points = rng.standard_normal((3, dim)) * np.array([0.7, 1.0, 2.0])[:, None]
    fields = points @ first.T / math.sqrt(dim)
    # f = (1/sqrt p) sum a relu(<w, x>/sqrt d): df/da_i = relu/sqrt p, df/dw_i = a_i relu' x / sqrt(p d).
    by_second = np.maximum(fields, 0)[:, None] * np.maximum(fields, 0)
    by_first = second**2 * (fields > 0)[:, None] * (fields > 0) * (points @ points.T / dim)[:, :, None]
    share = by_second + by_first
    error = share.std(axis=2) / math.sqrt(width)

    def agrees(kernel):
        return bool(np.all(np.abs(share.mean(axis=2) - _matrix(kernel, points)) < 5 * error))

    assert agrees(ReluTangent())
    assert not agrees(ArcCosine(1))


def test_homogeneous_kernels_scale_with_their_inputs():
    points = np.random.default_rng(5).standard_normal((5, 3))
    for kernel, degree in ((ArcCosine(0), 0), (ArcCosine(1), 1), (ReluTangent(), 1)):
        assert kernel.homogeneity == degree
        np.testing.assert_allclose(_matrix(kernel, 3 * points), 9**degree * _matrix(kernel, points), rtol=1e-12)


def test_names():
    assert kernel_function("exponential") == Exponential()
    assert kernel_function("polynomial-4") == Polynomial(4)
    assert kernel_function("relu-ntk") == ReluTangent()
    assert kernel_function((1.0, 0.5)) == PowerSeries((1.0, 0.5))
    assert KernelRidge(ArcCosine(0)).function == ArcCosine(0)
    assert featlab.KernelRidge is KernelRidge
    words = {"kernel": "arc-cosine-1", "ridge": 0.5, "test_samples": 100}
    assert learner_from_text("kernel-ridge", words)[0] == KernelRidge("arc-cosine-1", 0.5, 100)
    assert learner_from_text("kernel-ridge", {"kernel": [1, 0.5]})[0].function == PowerSeries((1, 0.5))
    assert list(KERNEL_RIDGES) == sorted(KERNEL_RIDGES)


BAD = [
    ("kernel", lambda: KernelRidge("gaussian")),
    ("kernel", lambda: KernelRidge(3)),
    ("coefficients", lambda: KernelRidge(())),
    ("coefficients", lambda: KernelRidge((0.0, 0.0))),
    ("coefficients", lambda: PowerSeries((1.0, math.inf))),
    ("coefficients", lambda: PowerSeries([1.0])),
    ("degree", lambda: Polynomial(0)),
    ("degree", lambda: Polynomial(1.5)),
    ("order", lambda: ArcCosine(2)),
    ("order", lambda: ArcCosine(True)),
    ("ridge", lambda: KernelRidge(ridge=0.0)),
    ("ridge", lambda: KernelRidge(ridge=-1.0)),
    ("ridge", lambda: KernelRidge(ridge="best")),
    ("test_samples", lambda: KernelRidge(test_samples=1)),
]


@pytest.mark.parametrize(("name", "make"), BAD, ids=range(len(BAD)))
def test_bad_values_are_refused_by_name(name, make):
    with pytest.raises(InvalidParameter) as caught:
        make()
    assert caught.value.name == name


def test_a_near_miss_gets_a_hint():
    with pytest.raises(InvalidParameter, match="did you mean 'arc-cosine-1'"):
        KernelRidge("arccosine-1")


def test_descriptions_are_frozen_and_equal_by_value():
    one = KernelRidge(PowerSeries((1.0, 2.0)), 0.1)
    assert one == dataclasses.replace(one)
    assert hash(one) == hash(dataclasses.replace(one))
    assert one != dataclasses.replace(one, ridge=0.2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.ridge = 1.0


def _matrix(kernel, points):
    """K between points (m, d)."""
    products = points @ points.T / points.shape[1]
    squares = np.diagonal(products)
    return kernel.value(np, products, squares[:, None], squares)
