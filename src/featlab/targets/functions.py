"""The functions of the target language: those of one variable in `featlab.gaussian.functions`, and a few more.

A function of one variable is added there, with one entry, and is then an activation too. Here are log, floor, round,
mod, min, max, clip, where, He(k, x) and power, which no student is activated by.

In the expression tree every function is an *inert* SymPy function, so that building a tree can never start a symbolic
computation; only `exp` is SymPy's own, because products of exponentials should combine. `power(x, q)` is the
row behind `x**q` for exponents that are not integer literals; it is not typed by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

import numpy as np
import sympy

from featlab.gaussian.functions import FUNCTIONS, NUMPY_OPS, ScalarFunction, sympy_ops

MAX_HERMITE_ORDER = 40
MAX_VARIABLES = 32
VARIABLE = re.compile(r"(h|xi)([1-9]\d?)", re.ASCII)  # and its number at most MAX_VARIABLES

_Surfaces = list[tuple[str, sympy.Expr]]


def _no_surfaces(*_: sympy.Expr) -> _Surfaces:
    return []


@dataclass(frozen=True)
class LanguageFunction:
    """One function of the language.

    Attributes:
        name: as typed.
        formula: (ops, *arguments) -> value, for NumPy, JAX and SymPy alike.
        partials: the derivatives in each argument (NumPy); at a kink, either one-sided value.
        latex: a template for `str.format` with the arguments in LaTeX.
        arity: smallest and largest number of arguments.
        surfaces: the (kind, expression) pairs whose zero sets are kinks; kind is "jump", "corner" or "singular".
        rational: whether its value at rational arguments is rational, and SymPy's form finds it.
        outside: where the arguments leave the domain (NumPy mask), or None for a function defined everywhere.
        outside_words: what is wrong there.
        sign_of_value: +1 if f > 0 everywhere, 0 if f >= 0 everywhere, None if unknown.
        staircase: the arguments -> (x, c), for a function that jumps where x is a whole number plus c; else None.
        scalar: its entry in the table of functions of one variable, or None.
    """

    name: str
    formula: Callable[..., Any]
    partials: Callable[..., Sequence[Any]]
    latex: str
    arity: tuple[int, int] = (1, 1)
    surfaces: Callable[..., _Surfaces] = _no_surfaces
    rational: bool = False
    outside: Callable[..., Any] | None = None
    outside_words: str = ""
    sign_of_value: int | None = None
    staircase: Callable[..., tuple[sympy.Expr, sympy.Rational]] | None = None
    scalar: ScalarFunction | None = None

    @property
    def inert(self) -> Any:
        """The SymPy function that stands for this row in expression trees."""
        return _inert(self.name)

    def value(self, *arguments: Any) -> Any:
        """In NumPy."""
        return self.formula(NUMPY_OPS, *arguments)

    def native(self, *arguments: sympy.Expr) -> sympy.Expr:
        """In SymPy's own functions; at rational arguments of a rational function, its exact value."""
        return self.formula(sympy_ops(), *arguments)


def _chosen(better: Callable[[Any, Any], Any]) -> Callable[..., list[Any]]:
    """Partials of min or max: one for the argument that is chosen (the first of equals), zero for the others."""

    def partials(*arguments: Any) -> list[Any]:
        best, chosen = arguments[0], np.zeros(np.shape(sum(np.asarray(a, dtype=float) for a in arguments)), int)
        for index, argument in enumerate(arguments[1:], start=1):
            wins = better(argument, best)
            chosen = np.where(wins, index, chosen)
            best = np.where(wins, argument, best)
        return [(chosen == index).astype(float) for index in range(len(arguments))]

    return partials


def _pairs(*arguments: sympy.Expr) -> _Surfaces:
    return [("corner", a - b) for i, a in enumerate(arguments) for b in arguments[i + 1 :]]


def _clip_partials(x: Any, low: Any, high: Any) -> list[Any]:
    above = np.greater(np.maximum(x, low), high)
    below = np.less(x, low) & ~above
    return [1.0 - below - above, 1.0 * below, 1.0 * above]


def _power_partials(base: Any, exponent: Any) -> list[Any]:
    value = np.power(base, exponent)
    return [exponent * np.power(base, exponent - 1.0), value * np.log(base)]


def _select_partials(condition: Any, a: Any, b: Any) -> list[Any]:
    """Partials of where: one for the argument that is chosen, none for the condition, which only jumps."""
    chosen = np.greater(condition, 0.5)
    return [np.zeros(np.shape(chosen)), 1.0 * chosen, 1.0 * ~chosen]


_FURTHER = {
    row.name: row
    for row in (
        LanguageFunction(
            "log",
            formula=lambda ops, x: ops.log(x),
            partials=lambda x: [np.divide(1.0, x)],
            latex=r"\log\left({0}\right)",
            surfaces=lambda x: [("singular", x)],
            outside=lambda x: np.less(x, 0.0),
            outside_words="the logarithm of a negative number",
        ),
        LanguageFunction(
            "min",
            formula=lambda ops, *a: reduce(ops.minimum, a),
            partials=_chosen(np.less),
            latex=r"\min\left({joined}\right)",
            arity=(2, MAX_VARIABLES),
            surfaces=_pairs,
            rational=True,
        ),
        LanguageFunction(
            "max",
            formula=lambda ops, *a: reduce(ops.maximum, a),
            partials=_chosen(np.greater),
            latex=r"\max\left({joined}\right)",
            arity=(2, MAX_VARIABLES),
            surfaces=_pairs,
            rational=True,
        ),
        LanguageFunction(
            "clip",
            formula=lambda ops, x, low, high: ops.minimum(ops.maximum(x, low), high),
            partials=_clip_partials,
            latex=r"\operatorname{{clip}}\left({joined}\right)",
            arity=(3, 3),
            surfaces=lambda x, low, high: [("corner", x - low), ("corner", x - high)],
            rational=True,
        ),
        LanguageFunction(
            "floor",
            formula=lambda ops, x: ops.floor(x),
            partials=lambda x: [np.zeros(np.shape(x))],
            latex=r"\left\lfloor {0} \right\rfloor",
            rational=True,
            staircase=lambda x: (x, sympy.Integer(0)),
        ),
        LanguageFunction(
            "round",  # halves to the even neighbour, as NumPy does
            formula=lambda ops, x: ops.round(x),
            partials=lambda x: [np.zeros(np.shape(x))],
            latex=r"\operatorname{{round}}\left({0}\right)",
            rational=True,
            staircase=lambda x: (x, sympy.Rational(1, 2)),
        ),
        LanguageFunction(
            "mod",  # in [0, m); its second argument is a positive number
            formula=lambda ops, x, period: ops.mod(x, period),
            partials=lambda x, period: [np.ones(np.shape(x)), -np.floor_divide(x, period)],
            latex=r"{0} \bmod {1}",
            arity=(2, 2),
            rational=True,
            sign_of_value=0,
            staircase=lambda x, period: (x / period, sympy.Integer(0)),
        ),
        LanguageFunction(
            "where",  # its condition is a tree of 0 and 1 made of steps, which know where they jump
            formula=lambda ops, condition, a, b: ops.where(condition > 0.5, a, b),
            partials=_select_partials,
            latex=r"\begin{{cases}} {1} & {0} \\ {2} & \text{{otherwise}} \end{{cases}}",
            arity=(3, 3),
        ),
        LanguageFunction(
            "He",
            formula=lambda ops, order, x: ops.hermite(order, x),
            partials=lambda order, x: [0.0, order * NUMPY_OPS.hermite(max(order - 1, 0), x)],
            latex=r"\mathrm{{He}}_{{{0}}}\left({1}\right)",
            arity=(2, 2),
            rational=True,
        ),
        LanguageFunction(
            "power",
            formula=lambda ops, x, q: ops.power(x, q),
            partials=_power_partials,
            latex=r"\left({0}\right)^{{{1}}}",
            arity=(2, 2),
            surfaces=lambda x, q: [("singular", x)],
            outside=lambda x, q: np.less(x, 0.0) & np.not_equal(q, np.floor(q)),
            outside_words="a negative number to a power that is not an integer",
            sign_of_value=0,
        ),
    )
}


@cache
def _of_one(name: str, scalar: ScalarFunction) -> LanguageFunction:
    """The row of a function of one variable."""
    return LanguageFunction(
        name,
        formula=scalar.value,
        partials=lambda x: [scalar.derivative(NUMPY_OPS, x)],
        latex=scalar.latex or r"\operatorname{{NAME}}\left({0}\right)".replace("NAME", name.replace("_", r"\_")),
        surfaces=lambda x: [(kind, x - sympy.Rational(str(place))) for kind, place in scalar.kinks],
        rational=scalar.scaling is not None,
        sign_of_value=scalar.sign_of_value,
        scalar=scalar,
    )


@cache
def _inert(name: str) -> Any:
    return sympy.exp if name == "exp" else sympy.Function(name, real=True)


def function(name: str) -> LanguageFunction | None:
    """The function of that name, or None."""
    scalar = FUNCTIONS.get(name)
    return _of_one(name, scalar) if scalar is not None and scalar.typed else _FURTHER.get(name)


def apply_inert(name: str, *arguments: sympy.Expr) -> sympy.Expr:
    """The unevaluated node name(*arguments)."""
    return sympy.exp(*arguments, evaluate=False) if name == "exp" else _inert(name)(*arguments)


def typed_names() -> list[str]:
    """The function names that a user may type, `He1` to `He12` aside."""
    of_one = {name for name, scalar in FUNCTIONS.items() if scalar.typed}
    return sorted({*of_one, *_FURTHER, "sqrt"} - {"power"})


def row_of(node: sympy.Basic) -> LanguageFunction | None:
    """The row of a function node of an expression tree, or None for any other node."""
    return function(node.func.__name__) if isinstance(node, sympy.Function) else None


def is_call(node: sympy.Basic, *names: str) -> bool:
    """Whether a node of an expression tree is a call of one of these functions."""
    return isinstance(node, sympy.Function) and node.func.__name__ in names
