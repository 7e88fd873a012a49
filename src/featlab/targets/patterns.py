"""Links of a known form: an increasing function of a simpler link; a polynomial plus the sign of a product.

An increasing function of the label, such as tanh, tells neither more nor less than the label itself.

A polynomial of one direction plus the sign of the product of three is the form of the grand staircases of the
literature, He2(h1) + sign(h1 h2 h3) and He4(h1) + sign(h1 h2 h3) (Troiani et al. 2024; Arnaboldi et al. 2024): given
h1, what is left of the label is a two-parity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import sympy

from featlab.targets.functions import row_of
from featlab.targets.model import Target
from featlab.targets.model import target as make_target
from featlab.targets.printing import text_of

_MOST_DEGREE = 8


@dataclass(frozen=True)
class PolynomialAndParity:
    """g(h) = p(h_k) + c sign(h1 h2 h3).

    Attributes:
        coefficients: of p, by ascending powers, the last not zero; at least of degree 1.
        size: c, not zero.
        axis: k, counted from 0.
    """

    coefficients: tuple[float, ...]
    size: float
    axis: int


@lru_cache(maxsize=256)
def polynomial_and_parity(target: Target) -> PolynomialAndParity | None:
    """The parts of a noiseless link of this form; None for any other target."""
    if target.rank != 3 or target.hidden or target.noise > 0 or target.expression is None:
        return None
    expression = target.expression
    directions = sympy.symbols("h1 h2 h3")
    signs = expression.atoms(sympy.sign)
    parity = sympy.sign(sympy.Mul(*directions))
    if {str(sign) for sign in signs} != {str(parity)}:
        return None
    (sign,) = signs
    size = expression.coeff(sign)
    rest = sympy.expand(expression - size * sign)
    if not size.is_number or not size.is_real or len(rest.free_symbols) != 1:
        return None
    (variable,) = rest.free_symbols
    polynomial = rest.as_poly(variable)
    if polynomial is None or not 1 <= polynomial.degree() <= _MOST_DEGREE:
        return None
    coefficients = tuple(float(value) for value in reversed(polynomial.all_coeffs()))
    axis = [str(direction) for direction in directions].index(str(variable))
    return PolynomialAndParity(coefficients, float(size), axis)


@dataclass(frozen=True)
class Wrapped:
    """A link g = a f(u) + b with f strictly increasing and smooth: its level sets are those of u.

    Attributes:
        inner: the target with the link u.
        log_slope: log |dg/du| as a function of the values of u.
    """

    inner: Target
    log_slope: Callable[[np.ndarray], np.ndarray]


@lru_cache(maxsize=256)
def wrapped(target: Target) -> Wrapped | None:
    """The link inside an increasing function, if there is one and no noise is added."""
    if target.tree is None or target.noise > 0:
        return None
    _, scaled = target.tree.as_independent(*target.tree.free_symbols, as_Add=True)
    scale, core = scaled.as_independent(*target.tree.free_symbols, as_Add=False)
    row = row_of(core)
    log_slope = None if row is None or row.scalar is None else row.scalar.log_slope
    if log_slope is None:
        return None
    inner = make_target(text_of(core.args[0]))
    same = (inner.rank, inner.hidden) == (target.rank, target.hidden)
    if not same or not np.array_equal(inner.directions, np.eye(inner.rank)):
        return None  # it would speak of other directions
    offset = float(np.log(abs(float(scale))))
    return Wrapped(inner, lambda u: log_slope(u) + offset)
