"""The registered activations, each written once for NumPy and JAX, with what is known of it in closed form.

Everything is for standard normal arguments; `rho` is the correlation of u and v; phi is the N(0, 1) density and Phi its
distribution function. Conventions at kinks, where no Gaussian integral can see them: step(0) = sign(0) = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from math import e, factorial, pi, sqrt
from typing import Any

import numpy as np

from featlab.gaussian.activations_ops import Formula
from featlab.gaussian.hermite import Floats, hermite_all

LEAKY_SLOPE = 0.01


# --- Hermite coefficients E[s He_k], k = 0..max_order ----------------------------------------------------------------


def _delta_coefficients(max_order: int) -> Floats:
    """E[delta(z) He_k(z)] = phi(0) He_k(0): zero for odd k, phi(0) (-1)^j (2j - 1)!! for k = 2j."""
    return hermite_all(max_order, 0.0) / sqrt(2 * pi)


def _integrated(mean: float, derivative_coefficients: Floats) -> Floats:
    """Coefficients of s from those of s', by Stein's E[s He_{k+1}] = E[s' He_k] (s' as a distribution) and E[s]."""
    return np.concatenate([[mean], derivative_coefficients[:-1]])


def _step_coefficients(max_order: int) -> Floats:
    """step' = delta."""
    return _integrated(0.5, _delta_coefficients(max_order))


def _relu_coefficients(max_order: int) -> Floats:
    """relu' = step; so E[relu He_k] = He_{k-2}(0) / sqrt(2 pi) for k >= 2."""
    return _integrated(1 / sqrt(2 * pi), _step_coefficients(max_order))


def _monomial(order: int, size: float) -> Callable[[int], Floats]:
    """E[size He_order He_k] = size k! [k = order]."""

    def coefficients(max_order: int) -> Floats:
        return np.array([size * factorial(k) if k == order else 0.0 for k in range(max_order + 1)])

    return coefficients


def _sum(*terms: tuple[float, Callable[[int], Floats]]) -> Callable[[int], Floats]:
    """Coefficients of a linear combination of functions."""
    return lambda max_order: sum((c * f(max_order) for c, f in terms), start=np.zeros(max_order + 1))


def _gaussian_coefficients(height: float, rate: float, max_order: int) -> Floats:
    """Coefficients m_k with sum_k m_k t^k / k! = height exp(-rate t^2).

    Every Gaussian bump has such a series: E[exp(-b z^2) exp(t z - t^2 / 2)] = (1 + 2b)^{-1/2} exp(-t^2 b / (1 + 2b)).
    Hence m_{2j} = height (-rate)^j (2j)! / j!.
    """
    result = np.zeros(max_order + 1)
    result[0] = height
    for k in range(2, max_order + 1, 2):
        result[k] = -2.0 * rate * (k - 1) * result[k - 2]
    return result


def _erf_coefficients(max_order: int) -> Floats:
    """erf'(z) = 2 exp(-z^2) / sqrt(pi), a bump with b = 1."""
    return _integrated(0.0, _gaussian_coefficients(2 / sqrt(3 * pi), 1 / 3, max_order))


def _gelu_coefficients(max_order: int) -> Floats:
    """E[z Phi He_k] = E[Phi He_{k+1}] + k E[Phi He_{k-1}], and Phi' = phi is a bump with b = 1/2."""
    cumulative = _integrated(0.5, _gaussian_coefficients(1 / (2 * sqrt(pi)), 1 / 4, max_order + 1))
    orders = np.arange(max_order + 1)
    return cumulative[1:] + orders * np.concatenate([[0.0], cumulative[:-2]])


def _wave_coefficients(part: Callable[[Any], Any]) -> Callable[[int], Floats]:
    """E[exp(i z) He_k] = i^k exp(-1/2); sin and cos are its parts."""
    return lambda max_order: part(np.array([(1, 1j, -1, -1j)[k % 4] for k in range(max_order + 1)])) / sqrt(e)


# --- kernels E[s(u) s(v)] --------------------------------------------------------------------------------------------


def _co_sine(rho: Floats) -> Floats:
    return np.sqrt((1 - rho) * (1 + rho))


def _relu_kernel(rho: Floats) -> Floats:
    """(sin t + (pi - t) cos t) / (2 pi) with rho = cos t: the arc-cosine kernel of order 1 (Cho and Saul 2009)."""
    return (_co_sine(rho) + rho * (pi - np.arccos(rho))) / (2 * pi)


def _leaky_kernel(rho: Floats) -> Floats:
    """leaky = (1 - a) relu + a identity, and E[relu(u) v] = rho / 2."""
    a = LEAKY_SLOPE
    return (1 - a) ** 2 * _relu_kernel(rho) + a * (1 - a) * rho + a**2 * rho


def _step_kernel(rho: Floats) -> Floats:
    """P(u > 0, v > 0) = 1/4 + arcsin(rho) / (2 pi) (Sheppard 1899)."""
    return 0.25 + np.arcsin(rho) / (2 * pi)


def _gelu_kernel(rho: Floats) -> Floats:
    """E[u Phi(u) v Phi(v)] = E[phi(u) phi(v)] + rho E[Phi(u) Phi(v)].

    By Stein's lemma in u, then in v (the remaining terms cancel); E[phi phi] = (4 - rho^2)^{-1/2} / (2 pi) and
    E[Phi Phi] = 1/4 + arcsin(rho / 2) / (2 pi). An equivalent form is in Tsuchida et al. (2021).
    """
    return 1 / (2 * pi * np.sqrt(4 - rho**2)) + rho * (0.25 + np.arcsin(rho / 2) / (2 * pi))


# --- the registry ----------------------------------------------------------------------------------------------------


def _hermite_formula(order: int) -> Formula:
    """He_order, with He_order' = order He_{order-1} and E[He_k(u) He_k(v)] = k! rho^k (Mehler)."""

    def polynomial(degree: int, ops: Any, x: Any) -> Any:
        below, here = ops.zeros_like(x), ops.ones_like(x)
        for k in range(degree):
            below, here = here, x * here - k * below
        return here

    return Formula(
        value=lambda ops, x: polynomial(order, ops, x),
        derivative=lambda ops, x: order * polynomial(order - 1, ops, x),
        coefficients=_monomial(order, 1.0),
        kernel=lambda rho: factorial(order) * rho**order,
    )


def _distribution(ops: Any, x: Any) -> Any:
    return 0.5 * ops.erfc(x * -sqrt(0.5))


def _density(ops: Any, x: Any) -> Any:
    return ops.exp(-0.5 * x * x) / sqrt(2 * pi)


FORMULAS: dict[str, Formula] = {
    "relu": Formula(
        value=lambda ops, x: ops.maximum(x, 0.0),
        derivative=lambda ops, x: ops.heaviside(x, 0.0),
        kinks=(0.0,),
        coefficients=_relu_coefficients,
        kernel=_relu_kernel,
    ),
    "leaky_relu": Formula(
        value=lambda ops, x: ops.maximum(x, LEAKY_SLOPE * x),
        derivative=lambda ops, x: LEAKY_SLOPE + (1 - LEAKY_SLOPE) * ops.heaviside(x, 0.0),
        kinks=(0.0,),
        coefficients=_sum((1 - LEAKY_SLOPE, _relu_coefficients), (LEAKY_SLOPE, _monomial(1, 1.0))),
        kernel=_leaky_kernel,
    ),
    "abs": Formula(
        value=lambda ops, x: ops.abs(x),
        derivative=lambda ops, x: ops.sign(x),
        kinks=(0.0,),
        coefficients=_sum((2.0, _relu_coefficients), (-1.0, _monomial(1, 1.0))),
        kernel=lambda rho: (_co_sine(rho) + rho * np.arcsin(rho)) * (2 / pi),
    ),
    "sign": Formula(
        value=lambda ops, x: ops.sign(x),
        derivative=lambda ops, x: ops.zeros_like(x),
        kinks=(0.0,),
        coefficients=_sum((2.0, _step_coefficients), (-1.0, _monomial(0, 1.0))),
        kernel=lambda rho: np.arcsin(rho) * (2 / pi),
    ),
    "step": Formula(
        value=lambda ops, x: ops.heaviside(x, 0.0),
        derivative=lambda ops, x: ops.zeros_like(x),
        kinks=(0.0,),
        coefficients=_step_coefficients,
        kernel=_step_kernel,
    ),
    "identity": Formula(
        value=lambda ops, x: x,
        derivative=lambda ops, x: ops.ones_like(x),
        coefficients=_monomial(1, 1.0),
        kernel=lambda rho: rho,
    ),
    "square": Formula(
        value=lambda ops, x: x * x,
        derivative=lambda ops, x: 2.0 * x,
        coefficients=_sum((1.0, _monomial(0, 1.0)), (1.0, _monomial(2, 1.0))),
        kernel=lambda rho: 1 + 2 * rho**2,
    ),
    "exp": Formula(
        value=lambda ops, x: ops.exp(x),
        derivative=lambda ops, x: ops.exp(x),
        coefficients=lambda max_order: np.full(max_order + 1, sqrt(e)),
        kernel=lambda rho: np.exp(1 + rho),
    ),
    "sin": Formula(
        value=lambda ops, x: ops.sin(x),
        derivative=lambda ops, x: ops.cos(x),
        coefficients=_wave_coefficients(np.imag),
        kernel=lambda rho: np.sinh(rho) / e,
    ),
    "cos": Formula(
        value=lambda ops, x: ops.cos(x),
        derivative=lambda ops, x: -ops.sin(x),
        coefficients=_wave_coefficients(np.real),
        kernel=lambda rho: np.cosh(rho) / e,
    ),
    "erf": Formula(
        value=lambda ops, x: ops.erf(x),
        derivative=lambda ops, x: (2 / sqrt(pi)) * ops.exp(-x * x),
        coefficients=_erf_coefficients,
        kernel=lambda rho: np.arcsin(2 * rho / 3) * (2 / pi),  # Williams (1996)
    ),
    "tanh": Formula(
        value=lambda ops, x: ops.tanh(x),
        # 1 - tanh^2 without the cancellation in the tails
        derivative=lambda ops, x: 4.0 * ops.expit(2.0 * x) * ops.expit(-2.0 * x),
    ),
    "sigmoid": Formula(
        value=lambda ops, x: ops.expit(x),
        derivative=lambda ops, x: ops.expit(x) * ops.expit(-x),
    ),
    "softplus": Formula(
        value=lambda ops, x: ops.logaddexp(x, 0.0),
        derivative=lambda ops, x: ops.expit(x),
    ),
    "swish": Formula(
        value=lambda ops, x: x * ops.expit(x),
        derivative=lambda ops, x: ops.expit(x) * (1.0 + x * ops.expit(-x)),
    ),
    "gelu": Formula(  # the exact x Phi(x), not its tanh approximation
        value=lambda ops, x: x * _distribution(ops, x),
        derivative=lambda ops, x: _distribution(ops, x) + x * _density(ops, x),
        coefficients=_gelu_coefficients,
        kernel=_gelu_kernel,
    ),
    **{f"He{order}": _hermite_formula(order) for order in range(1, 13)},
    "h2+h3": Formula(  # orthonormal: He2/sqrt(2) + He3/sqrt(6)
        value=lambda ops, x: (x * x - 1) / sqrt(2) + x * (x * x - 3) / sqrt(6),
        derivative=lambda ops, x: sqrt(2) * x + (x * x - 1) * sqrt(1.5),
        coefficients=_sum((sqrt(1 / 2), _monomial(2, 1.0)), (sqrt(1 / 6), _monomial(3, 1.0))),
        kernel=lambda rho: rho**2 + rho**3,
    ),
}

ALIASES = {"silu": "swish"}
