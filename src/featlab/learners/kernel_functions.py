"""Kernels of two inputs x, y in R^d, as small descriptions: each is a function of t = <x, y>/d, |x|^2/d and |y|^2/d.

Two families. *Inner-product kernels* g(t) = sum_j c_j t^j do not look at the norms. *Homogeneous kernels* of degree a
are k = (q q')^(a/2) J(t / sqrt(q q')), q = |x|^2/d, J(rho) = sum_j c_j rho^j: those of random features and of the
tangents of relu networks. They are positive definite in every dimension if no c_j is negative (Schoenberg 1942).

Formulas are written once; `ops` is NumPy (theory) or jax.numpy (simulation).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from featlab.errors import InvalidParameter, or_meant
from featlab.gaussian.hermite import Floats
from featlab.learners.checks import finite_number, positive_integer


class Kernel(ABC):
    """A positive definite kernel."""

    @property
    def homogeneity(self) -> int | None:
        """The degree a of a homogeneous kernel; None for g(<x, y>/d)."""
        return None

    @abstractmethod
    def shape(self, ops: Any, at: Any) -> Any:
        """g(t), or J(rho), elementwise; `ops` is numpy or jax.numpy."""

    @abstractmethod
    def series(self, count: int) -> Floats:
        """c_0, ..., c_(count - 1) of g or J."""

    def value(self, ops: Any, products: Any, left: Any, right: Any) -> Any:
        """k at t = `products`, |x|^2/d = `left` and |y|^2/d = `right`, elementwise."""
        if self.homogeneity is None:
            return self.shape(ops, products)
        size = ops.sqrt(left * right)
        # The correlation of a point with itself may round to above 1, where no kernel is defined.
        return size**self.homogeneity * self.shape(ops, ops.clip(products / size, -1, 1))


@cache
def _inverse_factorials(count: int) -> tuple[float, ...]:
    return tuple(1 / math.factorial(j) for j in range(count))


@dataclass(frozen=True)
class Exponential(Kernel):
    """g(t) = exp(t), c_j = 1/j!."""

    def shape(self, ops: Any, at: Any) -> Any:
        """exp(t)."""
        return ops.exp(at)

    def series(self, count: int) -> Floats:
        """1/j!."""
        return np.array(_inverse_factorials(count))


@dataclass(frozen=True)
class Polynomial(Kernel):
    """g(t) = (1 + t)^q: every polynomial of degree q, with binomial weights.

    Attributes:
        degree: q.
    """

    degree: int

    def __post_init__(self) -> None:
        positive_integer("degree", self.degree)

    def shape(self, ops: Any, at: Any) -> Any:
        """(1 + t)^q."""
        return (1 + at) ** self.degree

    def series(self, count: int) -> Floats:
        """The binomials (q over j)."""
        return np.array([float(math.comb(self.degree, j)) for j in range(count)])


@dataclass(frozen=True)
class PowerSeries(Kernel):
    """g(t) = sum_j c_j t^j with given c_j.

    Attributes:
        coefficients: c_0, c_1, ..., none negative, not all zero.
    """

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        given = self.coefficients
        if not isinstance(given, tuple) or not given:
            raise InvalidParameter("coefficients", given, "a tuple of numbers c_0, c_1, ..., such as (1, 1, 0.5)")
        if min(finite_number("coefficients", c) for c in given) < 0 or not any(given):
            expected = "numbers none of which is negative, not all zero: only these kernels are positive definite"
            raise InvalidParameter("coefficients", given, expected)

    def shape(self, ops: Any, at: Any) -> Any:
        """sum_j c_j t^j, by Horner's rule."""
        total = ops.zeros_like(at)
        for coefficient in reversed(self.coefficients):
            total = total * at + float(coefficient)
        return total

    def series(self, count: int) -> Floats:
        """The given ones, then zeros."""
        return np.array([*map(float, self.coefficients), *[0.0] * count][:count])


@dataclass(frozen=True)
class ArcCosine(Kernel):
    """k(x, y) = E[s(<w, x>) s(<w, y>)], w ~ N(0, I_d/d): infinitely many random features s(<w, x>) without biases,
    s the unit step (order 0) or relu (order 1). Half of Cho and Saul's arc-cosine kernel (2009) at x/sqrt(d).

    With rho = cos(angle): J_0 = (pi - angle)/(2 pi) = 1/4 + arcsin(rho)/(2 pi) and
    J_1 = (sin(angle) + (pi - angle) cos(angle))/(2 pi), whose derivative is J_0; homogeneous of degree 0 and 1.

    Attributes:
        order: 0 or 1.
    """

    order: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.order, bool) or self.order not in (0, 1):
            raise InvalidParameter("order", self.order, "0 (unit step) or 1 (relu)")

    @property
    def homogeneity(self) -> int:
        """The order."""
        return self.order

    def shape(self, ops: Any, at: Any) -> Any:
        """J_0 or J_1."""
        return _step_shape(ops, at) if self.order == 0 else _relu_shape(ops, at)

    def series(self, count: int) -> Floats:
        """Those of `relu_series` or `step_series`."""
        return step_series(count) if self.order == 0 else relu_series(count)


@dataclass(frozen=True)
class ReluTangent(Kernel):
    """The neural tangent kernel (Jacot et al. 2018) of f(x) = (1/sqrt p) sum_i a_i relu(<w_i, x>/sqrt d), both layers
    trained from N(0, 1) entries, as p -> infinity: k(x, y) = E[relu relu] + (<x, y>/d) E[relu' relu'], that is
    J = J_1 + rho J_0 in the notation of `ArcCosine`, homogeneous of degree 1.
    """

    @property
    def homogeneity(self) -> int:
        """1."""
        return 1

    def shape(self, ops: Any, at: Any) -> Any:
        """J_1 + rho J_0."""
        return _relu_shape(ops, at) + at * _step_shape(ops, at)

    def series(self, count: int) -> Floats:
        """Those of J_1, and those of J_0 one place on."""
        return relu_series(count) + np.r_[0.0, step_series(count)][:count]


def step_series(count: int) -> Floats:
    """J_0 = 1/4 + arcsin(rho)/(2 pi): 1/4, then (2m over m) / (4^m (2m + 1) 2 pi) at the odd places 2m + 1."""
    result = np.zeros(max(count, 1))
    result[0] = 0.25
    share = 1 / (2 * math.pi)  # (2m over m) / 4^m / (2 pi)
    for odd in range(1, count, 2):
        result[odd] = share / odd
        share *= odd / (odd + 1)
    return result[:count]


def relu_series(count: int) -> Floats:
    """J_1 = 1/(2 pi) + the integral of J_0 from 0."""
    return np.r_[1 / (2 * math.pi), step_series(count) / np.arange(1, count + 1)][:count]


def _step_shape(ops: Any, rho: Any) -> Any:
    return 0.25 + ops.arcsin(rho) / (2 * math.pi)


def _relu_shape(ops: Any, rho: Any) -> Any:
    return (ops.sqrt(1 - rho * rho) + rho * (math.pi / 2 + ops.arcsin(rho))) / (2 * math.pi)


_NAMED: dict[str, Kernel] = {
    "exponential": Exponential(),
    "arc-cosine-0": ArcCosine(0),
    "arc-cosine-1": ArcCosine(1),
    "relu-ntk": ReluTangent(),
    **{f"polynomial-{degree}": Polynomial(degree) for degree in range(1, 10)},
}


def kernel_function(given: Kernel | str | tuple[float, ...]) -> Kernel:
    """The kernel as it was given: a `Kernel`, its name, or the coefficients of a `PowerSeries`.

    Names: "exponential", "polynomial-1" to "polynomial-9", "arc-cosine-0", "arc-cosine-1", "relu-ntk".
    """
    if isinstance(given, Kernel):
        return given
    if isinstance(given, tuple):
        return PowerSeries(given)
    if not isinstance(given, str) or given not in _NAMED:
        hint = or_meant(given, _NAMED)
        known = "exponential, polynomial-1 to polynomial-9, arc-cosine-0, arc-cosine-1, relu-ntk"
        raise InvalidParameter("kernel", given, f"a kernel: coefficients (c_0, c_1, ...), or one of {known}{hint}")
    return _NAMED[given]
