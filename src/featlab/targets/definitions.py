"""Names that stand for something the language has already: other spellings, and functions defined by a formula.

NumPy's names mean what they mean there. They are replaced while a text is read, so the canonical text knows one
form: arctan(h1) + maximum(h1, 0) reads back as arctan(h1) + max(0, h1), expm1(h1) as exp(h1) - 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sympy

from featlab.gaussian.functions import ALIASES
from featlab.targets.functions import apply_inert

SPELLINGS = {
    **ALIASES,
    "maximum": "max", "minimum": "min", "rint": "round", "around": "round", "remainder": "mod",
}  # fmt: skip


@dataclass(frozen=True)
class Definition:
    """A function that is replaced by its formula.

    Attributes:
        formula: the literal trees of its arguments -> that of its value.
        arity: smallest and largest number of arguments.
        number: which argument has to be a number, if one has to.
    """

    formula: Callable[..., sympy.Expr]
    arity: tuple[int, int] = (1, 1)
    number: int | None = None


def _sum(*terms: sympy.Expr | int) -> sympy.Expr:
    return sympy.Add(*map(sympy.sympify, terms), evaluate=False)


def _product(*factors: sympy.Expr | int) -> sympy.Expr:
    return sympy.Mul(*map(sympy.sympify, factors), evaluate=False)


def _minus(tree: sympy.Expr) -> sympy.Expr:
    return _product(-1, tree)


def _over(tree: sympy.Expr) -> sympy.Expr:
    return sympy.Pow(tree, sympy.Integer(-1), evaluate=False)


def _square(tree: sympy.Expr) -> sympy.Expr:
    return sympy.Pow(tree, sympy.Integer(2), evaluate=False)


def _log_in_base(base: int) -> Callable[[sympy.Expr], sympy.Expr]:
    return lambda x: _product(apply_inert("log", x), _over(apply_inert("log", sympy.Integer(base))))


def _heaviside(x: sympy.Expr, at_zero: sympy.Expr = sympy.S.One) -> sympy.Expr:
    """0 for x < 0, v at x = 0 and 1 beyond: (1 - v) (1 - step(-x)) + v step(x), shorter for v = 0, 1/2, 1."""
    if at_zero == sympy.S.Half:
        return _product(sympy.S.Half, _sum(1, apply_inert("sign", x)))
    closed, strict = apply_inert("step", x), _sum(1, _minus(apply_inert("step", _minus(x))))
    if at_zero in (0, 1):
        return closed if at_zero == 1 else strict
    return _sum(_product(_sum(1, _minus(at_zero)), strict), _product(at_zero, closed))


DEFINITIONS = {
    "log1p": Definition(lambda x: apply_inert("log", _sum(1, x))),
    "log2": Definition(_log_in_base(2)),
    "log10": Definition(_log_in_base(10)),
    "expm1": Definition(lambda x: _sum(apply_inert("exp", x), -1)),
    "exp2": Definition(lambda x: apply_inert("power", sympy.Integer(2), x)),
    "erfc": Definition(lambda x: _sum(1, _minus(apply_inert("erf", x)))),
    "cbrt": Definition(
        lambda x: _product(apply_inert("sign", x), apply_inert("power", apply_inert("abs", x), sympy.Rational(1, 3)))
    ),
    "reciprocal": Definition(_over),
    "ceil": Definition(lambda x: _minus(apply_inert("floor", _minus(x)))),
    "trunc": Definition(lambda x: _product(apply_inert("sign", x), apply_inert("floor", apply_inert("abs", x)))),
    "heaviside": Definition(_heaviside, (1, 2), number=1),
    "hypot": Definition(lambda x, y: apply_inert("power", _sum(_square(x), _square(y)), sympy.S.Half), (2, 2)),
    "logaddexp": Definition(lambda x, y: _sum(y, apply_inert("softplus", _sum(x, _minus(y)))), (2, 2)),
}
