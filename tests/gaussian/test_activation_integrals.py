"""Activations: Hermite coefficients, energies and kernels, against reference numbers and each other."""

from __future__ import annotations

from math import factorial, pi, sqrt

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from featlab.gaussian import FUNCTIONS, activation, activation_names
from featlab.gaussian.activations import Activation
from featlab.gaussian.activations_integrals import correlated_mean, hermite_projection, kernel, line_rule
from featlab.gaussian.hermite import hermite_normalised_all

every_name = pytest.mark.parametrize("name", activation_names())
ROOTS = np.sqrt([float(factorial(k)) for k in range(101)])


def trapezium(x: jax.Array) -> jax.Array:
    """A piecewise linear teacher with four corners, shifted by one."""
    u = x - 1

    def relu(v: jax.Array) -> jax.Array:
        return jnp.maximum(v, 0.0)

    return relu(u + 2) - 2 * relu(u + 1) + 2 * relu(u - 1) - relu(u - 2)


def shifted_step(x: jax.Array) -> jax.Array:
    return jnp.heaviside(x - 0.4, 0.0)


def test_rule_is_orthonormal_to_order_100() -> None:
    """What the coefficients by quadrature rest on; with a shorter reach it fails."""

    def defect(reach: float) -> float:
        x, w = line_rule((0.3,), 0.5, reach)
        basis = hermite_normalised_all(100, x)
        return float(np.abs((basis * w) @ basis.T - np.eye(101)).max())

    assert defect(24.0) < 1e-13
    assert defect(18.0) > 1e-3


REFERENCE_COEFFICIENTS = {
    "relu": [0.39894, 0.5, 0.39894, 0, -0.39894, 0, 1.19683, 0],
    "tanh": [0, 0.60571, 0, -0.36360, 0, 0.68517, 0, -2.2324],
    "sign": [0, 0.79788, 0, -0.79788, 0, 2.39365],
    "erf": [0, 0.65147, 0, -0.43431, 0, 0.86863],
}


@pytest.mark.parametrize("name", REFERENCE_COEFFICIENTS)
def test_reference_coefficients(name: str) -> None:
    """E[s He_k] to the five digits printed; the same numbers over k! (another convention) are rejected."""
    expected = np.array(REFERENCE_COEFFICIENTS[name])
    found = activation(name).hermite_coefficients(expected.size - 1)
    np.testing.assert_allclose(found, expected, atol=5.1e-6, rtol=2e-5)
    assert np.abs(found / ROOTS[: expected.size] ** 2 - expected).max() > 0.1


def test_reference_energies() -> None:
    assert activation("tanh").second_moment == pytest.approx(0.39429449039784115, rel=1e-14)  # mpmath, 25 digits
    assert activation("tanh").residual(1) == pytest.approx(0.02742, abs=5e-6)
    assert activation("erf").residual(1) == pytest.approx(0.04015, abs=5e-6)
    relu = activation("relu")
    assert relu.hermite_coefficients(0)[0] ** 2 == pytest.approx(0.15915, abs=5e-6)
    assert relu.residual(1) == pytest.approx(0.09085, abs=5.1e-6)
    assert relu.residual(1) == pytest.approx(0.25 - 1 / (2 * pi), rel=1e-14)


def test_reference_of_the_trapezium_teacher() -> None:
    act = activation(trapezium, kinks=(-1, 0, 2, 3))
    expected = [0.30203, -0.11450, -0.31987, -0.01605, 0.22176, 0.05661, -0.13232, -0.04895]
    np.testing.assert_allclose(act.hermite_coefficients(7) / ROOTS[:8], expected, atol=5.1e-6)
    assert act.second_moment == pytest.approx(0.29472, abs=5.1e-6)
    unshifted = activation(lambda x: trapezium(x + 1), kinks=(-2, -1, 1, 2))
    expected = [0, -0.41088, 0, 0.30697, 0, -0.19643, 0, 0.10918]
    np.testing.assert_allclose(unshifted.hermite_coefficients(7) / ROOTS[:8], expected, atol=5.1e-6)
    assert unshifted.second_moment == pytest.approx(0.32194, abs=5.1e-6)


@every_name
def test_coefficients_are_the_integrals_up_to_order_40(name: str) -> None:
    """Closed forms against quadrature with a rule of its own (other pieces, other nodes)."""
    act = activation(name)
    edges = np.arange(-20.0, 20.25, 0.25)
    t, w = np.polynomial.legendre.leggauss(12)
    x = (0.5 * (edges[1:] + edges[:-1])[:, None] + 0.125 * t).ravel()
    weights = np.tile(0.125 * w, edges.size - 1) * norm.pdf(x)
    found = hermite_normalised_all(40, x) @ (weights * act.value(x))
    scale = sqrt(act.second_moment)
    np.testing.assert_allclose(act.hermite_coefficients(40) / ROOTS[:41], found, atol=1e-14 * scale)
    assert weights @ act.value(x) ** 2 == pytest.approx(act.second_moment, rel=1e-12)


@every_name
def test_coefficients_are_finite_to_order_100_cached_and_read_only(name: str) -> None:
    act = activation(name)
    assert np.all(np.isfinite(act.hermite_coefficients(100)))
    assert np.shares_memory(act.hermite_coefficients(100), activation(name).hermite_coefficients(3))
    with pytest.raises(ValueError, match="read-only"):
        act.hermite_coefficients(3)[0] = 1.0


@every_name
@pytest.mark.parametrize("degree", [0, 1, 5, 40])
def test_parseval(name: str, degree: int) -> None:
    """Energy up to a degree plus the energy beyond it is E[s^2]."""
    act = activation(name)
    below = np.sum((act.hermite_coefficients(degree) / ROOTS[: degree + 1]) ** 2)
    assert below + act.residual(degree) == pytest.approx(act.second_moment, rel=1e-13)
    assert act.residual(degree) >= 0


def test_polynomials_have_no_energy_beyond_their_degree() -> None:
    for name, degree in [("identity", 1), ("square", 2), ("He5", 5), ("He12", 12)]:
        act = activation(name)
        assert act.residual(degree) < 1e-25 * act.second_moment
        assert act.residual(degree - 1) > 0.5 * act.second_moment


@every_name
def test_stein_with_jumps(name: str) -> None:
    """E[s He_{k+1}] = E[s' He_k] + sum over kinks of (jump of s) phi(kink) He_k(kink); false without the jumps."""
    act = activation(name)
    x, weights = line_rule(act.kinks, 0.5, 24.0)
    basis = hermite_normalised_all(12, x)
    smooth = basis @ (weights * act.derivative(x))
    jumps = [(place, float(act.value(place + 1e-12) - act.value(place - 1e-12))) for place in act.kinks]
    at_jumps = sum(size * norm.pdf(place) * hermite_normalised_all(12, place) for place, size in jumps)
    raised = act.hermite_coefficients(13)[1:] / ROOTS[:13]
    scale = np.abs(raised).max()
    np.testing.assert_allclose(raised, smooth + at_jumps, atol=1e-11 * scale)
    if name in ("sign", "step"):
        assert np.abs(raised - smooth).max() > 0.3


@every_name
def test_kernel_at_its_ends(name: str) -> None:
    act = activation(name)
    assert float(act.kernel(0.0)) == pytest.approx(act.hermite_coefficients(0)[0] ** 2, abs=1e-14)
    assert float(act.kernel(1.0)) == pytest.approx(act.second_moment, rel=1e-13)
    x, weights = line_rule(act.kinks, 0.5, 24.0)
    opposite = weights @ (act.value(x) * act.value(-x))
    assert float(act.kernel(-1.0)) == pytest.approx(opposite, abs=1e-13 * act.second_moment)


@every_name
def test_kernel_is_mehlers_series(name: str) -> None:
    """E[s(u) s(v)] = sum_k rho^k E[s He_k]^2 / k!; at |rho| <= 0.7 order 100 leaves out less than 1e-15."""
    act = activation(name)
    rho = np.array([-0.7, -0.2, 0.1, 0.5, 0.7])
    energies = (act.hermite_coefficients(100) / ROOTS) ** 2
    series = np.sum(rho[:, None] ** np.arange(101) * energies, axis=1)
    np.testing.assert_allclose(act.kernel(rho), series, atol=1e-14 * act.second_moment)
    wrong = np.sum((rho[:, None] + 0.01) ** np.arange(101) * energies, axis=1)
    assert np.abs(act.kernel(rho) - wrong).max() > 1e-6 * act.second_moment


@every_name
def test_kernel_is_the_double_integral(name: str) -> None:
    """Closed form, or series, against nested quadrature, also where the series is of no use."""
    act = activation(name)
    for rho in (-0.999, 0.0, 0.35, 0.95, 1 - 1e-8):
        found = correlated_mean(act.value, act.kinks, rho, 0.5)
        assert float(act.kernel(rho)) == pytest.approx(found, abs=1e-13 * act.second_moment)


def test_every_kinked_activation_has_a_closed_kernel() -> None:
    assert all(function.kernel for function in FUNCTIONS.values() if function.kinks)


def test_kernel_keeps_its_shape() -> None:
    for name in ("relu", "tanh"):
        assert activation(name).kernel(0.5).shape == ()
        assert activation(name).kernel([[0.1, 0.2, 0.3]]).shape == (1, 3)


def threshold_kernel(threshold: float, rho: float) -> float:
    """P(u > b, v > b) = int_0^rho density(b, b; r) dr + P(u > b)^2 (Plackett 1954)."""
    t, w = np.polynomial.legendre.leggauss(60)
    angle = np.arcsin(rho) * 0.5 * (1 + t)  # r = sin(angle) removes the singularity at r = 1
    density = np.exp(-(threshold**2) / (1 + np.sin(angle))) / (2 * pi)
    return float(np.arcsin(rho) * 0.5 * w @ density + norm.sf(threshold) ** 2)


@pytest.mark.parametrize("rho", [-0.95, -0.5, 0.3, 0.9, 0.999, 0.999999])
def test_kernel_of_a_function_with_a_kink_off_the_origin(rho: float) -> None:
    act = activation(shifted_step, kinks=(0.4,))
    assert float(act.kernel(rho)) == pytest.approx(threshold_kernel(0.4, rho), abs=1e-13)
    assert float(act.kernel(rho)) != pytest.approx(threshold_kernel(0.41, rho), abs=1e-5)


def test_kernel_of_a_steep_function_approaches_that_of_the_jump() -> None:
    act = activation(lambda x: jnp.tanh(50 * x))
    assert float(act.kernel(0.5)) == pytest.approx(1 / 3, abs=1e-3)
    assert float(act.kernel(0.5)) != pytest.approx(1 / 3, abs=1e-5)


def test_series_and_integral_meet_where_the_kernel_changes_method() -> None:
    act = activation(trapezium, kinks=(-1, 0, 2, 3))
    projection = hermite_projection("trapezium", act.value, act.kinks)
    rho = np.linspace(0.6, 0.8, 9)
    left_out = rho**101 * projection.tail > np.finfo(float).eps * projection.second_moment
    assert left_out.any()
    assert not left_out.all()
    direct = [correlated_mean(act.value, act.kinks, r, projection.width) for r in rho]
    np.testing.assert_allclose(kernel(act.value, act.kinks, projection, rho), direct, atol=1e-14)


def test_erf_smoothed_by_noise_is_erf() -> None:
    """E_z erf(l + z) = erf(l / sqrt 3), so that its mean square over l is the kernel of erf(sqrt 2 u) at rho = 1/2.

    Two copies of l + z = sqrt(2) u that share l have that correlation; the arcsine law gives (2 / pi) arcsin(2 / 5).
    """
    x, weights = line_rule((), 0.5, 24.0)
    act = activation("erf")
    left = weights @ act.value(x / sqrt(3)) ** 2
    scaled = activation(lambda t: jax.scipy.special.erf(sqrt(2.0) * t))
    assert float(scaled.kernel(0.5)) == pytest.approx(left, abs=1e-14)
    assert left == pytest.approx(2 / pi * np.arcsin(2 / 5), abs=1e-14)


def test_activation_is_frozen() -> None:
    act = activation("relu")
    assert isinstance(act, Activation)
    with pytest.raises(AttributeError):
        act.name = "other"  # type: ignore[misc]
