"""Polynomials exactly: from an expression to its Hermite coefficients by algebra, without quadrature."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from math import factorial, prod
from typing import Any

import numpy as np
import sympy
from sympy.polys.domains import QQ
from sympy.polys.rings import ring

from featlab.analysis.structured.expansion import Expansion
from featlab.gaussian.hermite import Floats, Integers
from featlab.targets import Target
from featlab.targets.evaluate import values
from featlab.targets.functions import is_call
from featlab.targets.polynomials import expanded_terms

# Products met when the polynomial is multiplied out, and terms of a power of it.
_MOST_PRODUCTS, _MOST_TERMS = 200_000, 1500
# A coefficient is a rational number, rounded once.
_LAST_DIGIT = 4e-16
# Of numerator or denominator: twelve digits, where 0.9999999999999998 is what is left of cos(1)^2 + sin(1)^2.
_BITS_OF_A_TYPED = 40


def polynomial_of(target: Target) -> Any | None:
    """The link as a sparse polynomial with rational coefficients in h1..hr; None if it is not one, or too large.

    Numbers that are not rational enter with 16 digits.
    """
    if target.tree is None or target.degree is None or target.hidden or expanded_terms(target.tree) > _MOST_PRODUCTS:
        return None
    numbers, *variables = ring(target.names, QQ)
    found = _multiplied_out(target.tree, numbers, dict(zip(target.names, variables, strict=True)))
    return found if len(found) <= _MOST_TERMS else None


def _multiplied_out(node: sympy.Expr, numbers: Any, variables: dict[str, Any]) -> Any:
    if isinstance(node, sympy.Rational):
        return numbers(QQ(int(node.p), int(node.q)))
    if not node.free_symbols:
        exact = Fraction(float(values(node, {})))
        return numbers(QQ(exact.numerator, exact.denominator))
    if isinstance(node, sympy.Symbol):
        return variables[node.name]
    if isinstance(node, sympy.Pow):
        return _multiplied_out(node.base, numbers, variables) ** int(node.exp)
    if is_call(node, "He"):
        return _hermite(int(node.args[0]), _multiplied_out(node.args[1], numbers, variables), numbers)
    arguments = [_multiplied_out(argument, numbers, variables) for argument in node.args]
    return sum(arguments, numbers(0)) if isinstance(node, sympy.Add) else prod(arguments, start=numbers(1))


def _hermite(order: int, argument: Any, numbers: Any) -> Any:
    before, here = numbers(0), numbers(1)
    for k in range(order):
        before, here = here, argument * here - k * before
    return here


def powers_of(polynomial: Any, most: int) -> Iterator[Any]:
    """The polynomial, its square, ... up to the power `most`, as long as they are not too large."""
    power = polynomial
    for _ in range(most):
        yield power
        power = power * polynomial
        if len(power) > _MOST_TERMS:
            return


def polynomial_expansion(target: Target) -> Expansion | None:
    """The Hermite expansion of a polynomial link; None if it is not one, or too large."""
    polynomial = polynomial_of(target)
    return None if polynomial is None else expansion_of(polynomial, is_exact(target.tree))


def is_exact(tree: sympy.Expr) -> bool:
    """Whether the numbers of a polynomial tree are rational and of few digits: those of many may be rounded ones."""
    if not tree.free_symbols:
        return isinstance(tree, sympy.Rational) and min(tree.p.bit_length(), tree.q.bit_length()) <= _BITS_OF_A_TYPED
    return all(is_exact(argument) for argument in tree.args)


def expansion_of(polynomial: Any, exact: bool = False) -> Expansion:
    """The Hermite expansion of a polynomial: rational numbers, rounded once.

    Args:
        exact: whether the polynomial's coefficients are those meant, not rounded ones.

    Statement: x^n = sum_m n! / (2^m m! (n - 2m)!) He_{n-2m}(x), and c_a = sqrt(a!) times the coefficient of He_a.
    """
    found = _in_hermite(polynomial)
    found.setdefault((0,) * polynomial.ring.ngens, 0)
    indices: Integers = np.array(list(found), dtype=np.intp)
    sizes = [float(value) * prod(factorial(a) for a in index) ** 0.5 for index, value in found.items()]
    coefficients = np.array(sizes)
    degrees = indices.sum(axis=1)
    per_degree: Floats = np.bincount(degrees, coefficients**2).astype(float)
    variance = float(per_degree[1:].sum())
    errors = _LAST_DIGIT * np.abs(coefficients)
    return Expansion(indices, coefficients, errors, int(degrees.max()), variance, per_degree, exact)


def mean_of(polynomial: Any) -> Any:
    """E[f], a rational number."""
    return _in_hermite(polynomial).get((0,) * polynomial.ring.ngens, 0)


def _in_hermite(polynomial: Any) -> dict[tuple[int, ...], Any]:
    """The coefficient of every product He_a that occurs."""
    found: dict[tuple[int, ...], Any] = {}
    for powers, coefficient in polynomial.terms():
        for chosen in product(*(_power_in_hermite(n) for n in powers)):
            index = tuple(order for order, _ in chosen)
            found[index] = found.get(index, 0) + coefficient * prod(weight for _, weight in chosen)
    return {index: value for index, value in sorted(found.items()) if value}


@cache
def _power_in_hermite(power: int) -> tuple[tuple[int, int], ...]:
    """The (order, weight) of every Hermite polynomial in x^power."""
    halves = range(power // 2 + 1)
    return tuple((power - 2 * m, factorial(power) // (2**m * factorial(m) * factorial(power - 2 * m))) for m in halves)
