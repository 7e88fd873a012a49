"""Polynomial trees: their degree, and their expansion where it is small."""

from __future__ import annotations

from math import comb, log, prod

import sympy

from featlab.targets.functions import is_call

_MAX_TERMS = 24
_MAX_COEFFICIENT_BITS = 40
_COUNTLESS = 10**9


def polynomial_degree(tree: sympy.Expr) -> int | None:
    """A bound on the total degree of a polynomial tree (exact unless leading terms cancel); None if not polynomial."""
    if not tree.free_symbols:
        return 0
    if isinstance(tree, sympy.Symbol):
        return 1
    if isinstance(tree, sympy.Pow) and isinstance(tree.exp, sympy.Integer) and tree.exp > 0:
        return _scaled(polynomial_degree(tree.base), int(tree.exp))
    if is_call(tree, "He"):
        return _scaled(polynomial_degree(tree.args[1]), int(tree.args[0]))
    if isinstance(tree, sympy.Add | sympy.Mul):
        degrees = [polynomial_degree(argument) for argument in tree.args]
        known = [degree for degree in degrees if degree is not None]
        if len(known) < len(degrees):
            return None
        return max(known) if isinstance(tree, sympy.Add) else sum(known)
    return None


def _scaled(degree: int | None, factor: int) -> int | None:
    return None if degree is None else degree * factor


def small_polynomial(expression: sympy.Expr) -> sympy.Poly | None:
    """The expression as an expanded polynomial over the rationals, if it is one and small enough to be factored."""
    degree = polynomial_degree(expression)
    symbols = sorted(expression.free_symbols, key=lambda symbol: symbol.name)
    if degree is None or not symbols or degree > (8 if len(symbols) <= 2 else 4):
        return None
    if not _has_rational_coefficients(expression):
        return None
    if expanded_terms(expression) > 40 * _MAX_TERMS:
        return None
    polynomial = sympy.Poly(expanded_hermite(expression), *symbols, domain="QQ")
    sizes = [max(c.p.bit_length(), c.q.bit_length()) for c in map(sympy.Rational, polynomial.coeffs())]
    if len(polynomial.coeffs()) > _MAX_TERMS or max(sizes) > _MAX_COEFFICIENT_BITS:
        return None
    return polynomial


def _has_rational_coefficients(expression: sympy.Expr) -> bool:
    """True if every part of a polynomial tree that holds no variable is a rational number."""
    if not expression.free_symbols:
        return isinstance(expression, sympy.Rational)
    return all(_has_rational_coefficients(argument) for argument in expression.args)


def expanded_terms(expression: sympy.Expr) -> int:
    """A bound on the number of products met when a polynomial tree is expanded."""
    if not expression.free_symbols:
        return 1
    if isinstance(expression, sympy.Add):
        return sum(expanded_terms(argument) for argument in expression.args)
    if isinstance(expression, sympy.Mul):
        return int(min(prod(float(expanded_terms(argument)) for argument in expression.args), _COUNTLESS))
    if isinstance(expression, sympy.Pow):
        return _products_of_power(expanded_terms(expression.base), int(expression.exp))
    if is_call(expression, "He"):
        return 20 * _products_of_power(expanded_terms(expression.args[1]), int(expression.args[0]))
    return 1


def _products_of_power(terms: int, power: int) -> int:
    """Of (a + b + ..)^n: all t^n of them, or, like powers being put together after each factor, t n C(n + t - 1, n)."""
    apart = terms**power if power * log(terms) < log(_COUNTLESS) else _COUNTLESS
    together = terms * power * comb(power + terms - 1, power) if terms * power < _COUNTLESS**0.5 else _COUNTLESS
    return min(apart, together, _COUNTLESS)


def expanded_hermite(expression: sympy.Expr) -> sympy.Expr:
    """The expression with its Hermite polynomials written out in powers."""
    if not expression.free_symbols or not expression.args:
        return expression
    arguments = [expanded_hermite(argument) for argument in expression.args]
    return sympy.hermite_prob(*arguments) if is_call(expression, "He") else expression.func(*arguments)
