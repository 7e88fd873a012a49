"""Gaussian integrals in closed form, of the functions in `featlab.gaussian.functions`.

Everything is for standard normal arguments; `rho` is the correlation of u and v; phi is the N(0, 1) density and Phi its
distribution function.
"""

from __future__ import annotations

from collections.abc import Callable
from math import e, factorial, pi, sqrt
from typing import Any

import numpy as np

from featlab.gaussian.hermite import Floats, hermite_all

# --- Hermite coefficients E[s He_k], k = 0..max_order ----------------------------------------------------------------


def _delta_coefficients(max_order: int) -> Floats:
    """E[delta(z) He_k(z)] = phi(0) He_k(0): zero for odd k, phi(0) (-1)^j (2j - 1)!! for k = 2j."""
    return hermite_all(max_order, 0.0) / sqrt(2 * pi)


def _integrated(mean: float, derivative_coefficients: Floats) -> Floats:
    """Coefficients of s from those of s', by Stein's E[s He_{k+1}] = E[s' He_k] (s' as a distribution) and E[s]."""
    return np.concatenate([[mean], derivative_coefficients[:-1]])


def step_coefficients(max_order: int) -> Floats:
    """step' = delta."""
    return _integrated(0.5, _delta_coefficients(max_order))


def relu_coefficients(max_order: int) -> Floats:
    """relu' = step; so E[relu He_k] = He_{k-2}(0) / sqrt(2 pi) for k >= 2."""
    return _integrated(1 / sqrt(2 * pi), step_coefficients(max_order))


def monomial(order: int) -> Callable[[int], Floats]:
    """E[He_order He_k] = k! [k = order]."""
    return lambda max_order: np.array([float(factorial(k)) if k == order else 0.0 for k in range(max_order + 1)])


def combined(*terms: tuple[float, Callable[[int], Floats]]) -> Callable[[int], Floats]:
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


def erf_coefficients(max_order: int) -> Floats:
    """erf'(z) = 2 exp(-z^2) / sqrt(pi), a bump with b = 1."""
    return _integrated(0.0, _gaussian_coefficients(2 / sqrt(3 * pi), 1 / 3, max_order))


def gelu_coefficients(max_order: int) -> Floats:
    """E[z Phi He_k] = E[Phi He_{k+1}] + k E[Phi He_{k-1}], and Phi' = phi is a bump with b = 1/2."""
    cumulative = _integrated(0.5, _gaussian_coefficients(1 / (2 * sqrt(pi)), 1 / 4, max_order + 1))
    orders = np.arange(max_order + 1)
    return cumulative[1:] + orders * np.concatenate([[0.0], cumulative[:-2]])


def wave_coefficients(part: Callable[[Any], Any]) -> Callable[[int], Floats]:
    """E[exp(i z) He_k] = i^k exp(-1/2); sin and cos are its parts."""
    return lambda max_order: part(np.array([(1, 1j, -1, -1j)[k % 4] for k in range(max_order + 1)])) / sqrt(e)


# --- kernels E[s(u) s(v)] --------------------------------------------------------------------------------------------


def sine_of(rho: Floats) -> Floats:
    """sin t with rho = cos t."""
    return np.sqrt((1 - rho) * (1 + rho))


def relu_kernel(rho: Floats) -> Floats:
    """(sin t + (pi - t) cos t) / (2 pi) with rho = cos t: the arc-cosine kernel of order 1 (Cho and Saul 2009)."""
    return (sine_of(rho) + rho * (pi - np.arccos(rho))) / (2 * pi)


def leaky_kernel(a: float, rho: Floats) -> Floats:
    """leaky = (1 - a) relu + a identity, and E[relu(u) v] = rho / 2."""
    return (1 - a) ** 2 * relu_kernel(rho) + a * (1 - a) * rho + a**2 * rho


def step_kernel(rho: Floats) -> Floats:
    """P(u > 0, v > 0) = 1/4 + arcsin(rho) / (2 pi) (Sheppard 1899)."""
    return 0.25 + np.arcsin(rho) / (2 * pi)


def gelu_kernel(rho: Floats) -> Floats:
    """E[u Phi(u) v Phi(v)] = E[phi(u) phi(v)] + rho E[Phi(u) Phi(v)].

    By Stein's lemma in u, then in v (the remaining terms cancel); E[phi phi] = (4 - rho^2)^{-1/2} / (2 pi) and
    E[Phi Phi] = 1/4 + arcsin(rho / 2) / (2 pi). An equivalent form is in Tsuchida et al. (2021).
    """
    return 1 / (2 * pi * np.sqrt(4 - rho**2)) + rho * (0.25 + np.arcsin(rho / 2) / (2 * pi))
