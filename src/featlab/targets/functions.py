"""The functions of the target language: one row each, and nothing else knows their names.

A row says how a function is typed, computed (NumPy and JAX), differentiated, drawn (LaTeX), handed to SymPy, where it
has kinks and where it is undefined. Adding a function to the language is adding one row to `FUNCTIONS`.

In the expression tree every function is an *inert* SymPy function, so that building a tree can never start a symbolic
computation; only `exp` is SymPy's own, because products of exponentials should combine. `power(x, q)` is the
row behind `x**q` for exponents that are not integer literals; it is not typed by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy
from scipy import special

from featlab.gaussian.hermite import hermite

MAX_HERMITE_ORDER = 40
MAX_ARGUMENTS = 9

Surfaces = list[tuple[str, sympy.Expr]]


def _no_surfaces(*_: sympy.Expr) -> Surfaces:
    return []


@dataclass(frozen=True)
class LanguageFunction:
    """One function of the language.

    Attributes:
        name: as typed.
        arity: smallest and largest number of arguments.
        value: NumPy form.
        partials: the derivatives in each argument (NumPy); at a kink, either one-sided value.
        jax: JAX form; its first argument is the `jax` module, so that the table does not import it.
        native: SymPy's own form, for `Target.expression`.
        latex: a template for `str.format` with the arguments in LaTeX.
        surfaces: the (kind, expression) pairs whose zero sets are kinks; kind is "jump", "corner" or "singular".
        outside: where the arguments leave the domain (NumPy mask), or None for a function defined everywhere.
        outside_words: what is wrong there.
        parity: +1 for f(-x) = f(x), -1 for f(-x) = -f(x), 0 for neither.
        scaling: the power s in f(c x) = c^s f(x) for c > 0, or None.
        fold: the exact value at rational arguments, where it is rational; None if it is not.
        zero_at_zero: f(x) vanishes or turns where x = 0 and nowhere else, so its zero set is that of its argument.
        sign_of_value: +1 if f > 0 everywhere, 0 if f >= 0 everywhere, None if unknown.
    """

    name: str
    arity: tuple[int, int]
    value: Callable[..., Any]
    partials: Callable[..., Sequence[Any]]
    jax: Callable[..., Any]
    native: Callable[..., sympy.Expr]
    latex: str
    surfaces: Callable[..., Surfaces] = _no_surfaces
    outside: Callable[..., Any] | None = None
    outside_words: str = ""
    parity: int = 0
    scaling: int | None = None
    fold: Callable[..., sympy.Expr] | None = None
    zero_at_zero: bool = False
    sign_of_value: int | None = None

    @property
    def inert(self) -> Any:
        """The SymPy function that stands for this row in expression trees."""
        return _inert(self.name)


def _select(better: Callable[[Any, Any], Any]) -> Callable[..., list[Any]]:
    """Partials of min or max: one for the argument that is chosen (the first of equals), zero for the others."""

    def partials(*arguments: Any) -> list[Any]:
        best, chosen = arguments[0], np.zeros(np.shape(sum(np.asarray(a, dtype=float) for a in arguments)), int)
        for index, argument in enumerate(arguments[1:], start=1):
            wins = better(argument, best)
            chosen = np.where(wins, index, chosen)
            best = np.where(wins, argument, best)
        return [(chosen == index).astype(float) for index in range(len(arguments))]

    return partials


def _pairs(*arguments: sympy.Expr) -> Surfaces:
    return [("corner", a - b) for i, a in enumerate(arguments) for b in arguments[i + 1 :]]


def _clip_partials(x: Any, low: Any, high: Any) -> list[Any]:
    above = np.greater(np.maximum(x, low), high)
    below = np.less(x, low) & ~above
    return [1.0 - below - above, 1.0 * below, 1.0 * above]


def _power_partials(base: Any, exponent: Any) -> list[Any]:
    value = np.power(base, exponent)
    return [exponent * np.power(base, exponent - 1.0), value * np.log(base)]


def _power_outside(base: Any, exponent: Any) -> Any:
    return np.less(base, 0.0) & np.not_equal(exponent, np.floor(exponent))


def _jax_hermite(jax: Any, order: int, x: Any) -> Any:
    """He_order by the three-term recurrence; the order is static, so JAX sees a polynomial of fixed degree."""
    previous, current = jax.numpy.ones_like(x), x
    for k in range(1, order):
        previous, current = current, x * current - k * previous
    return current if order else previous


def _hermite_number(order: sympy.Integer, x: sympy.Expr) -> sympy.Expr:
    previous, current = sympy.Integer(1), x
    for k in range(1, int(order)):
        previous, current = current, x * current - k * previous
    return current if order else previous


def _sympy_hermite(order: sympy.Expr, x: sympy.Expr) -> sympy.Expr:
    return sympy.Add(*[c * x ** (int(order) - 2 * j) for j, c in enumerate(hermite_coefficients(int(order)))])


def hermite_coefficients(order: int) -> list[int]:
    """The integers c_j in He_k(x) = sum_j c_j x^{k-2j}: c_0 = 1, c_{j+1} = -c_j (k-2j)(k-2j-1) / (2 (j+1))."""
    coefficients = [1]
    for j in range(order // 2):
        left = order - 2 * j
        coefficients.append(-coefficients[-1] * left * (left - 1) // (2 * (j + 1)))
    return coefficients


_ROWS = [
    LanguageFunction(
        "sign", (1, 1), np.sign, lambda x: [np.zeros_like(x)], lambda jax, x: jax.numpy.sign(x), sympy.sign,
        r"\operatorname{{sign}}\left({0}\right)", surfaces=lambda x: [("jump", x)], parity=-1, scaling=0,
        fold=sympy.sign, zero_at_zero=True,
    ),
    LanguageFunction(
        "step", (1, 1), lambda x: np.greater_equal(x, 0.0).astype(float), lambda x: [np.zeros_like(x)],
        lambda jax, x: (x >= 0).astype(jax.numpy.result_type(x)), lambda x: sympy.Heaviside(x, 1),
        r"\mathbf{{1}}\left\{{{0} \geq 0\right\}}", surfaces=lambda x: [("jump", x)], scaling=0,
        fold=lambda x: sympy.Integer(1 if x >= 0 else 0), zero_at_zero=True, sign_of_value=0,
    ),
    LanguageFunction(
        "abs", (1, 1), np.abs, lambda x: [np.sign(x)], lambda jax, x: jax.numpy.abs(x), sympy.Abs,
        r"\left|{0}\right|", surfaces=lambda x: [("corner", x)], parity=1, scaling=1, fold=abs,
        zero_at_zero=True, sign_of_value=0,
    ),
    LanguageFunction(
        "relu", (1, 1), lambda x: np.maximum(x, 0.0), lambda x: [np.greater(x, 0.0).astype(float)],
        lambda jax, x: jax.nn.relu(x), lambda x: sympy.Max(x, 0), r"\left({0}\right)_+",
        surfaces=lambda x: [("corner", x)], scaling=1, fold=lambda x: max(x, sympy.Integer(0)),
        zero_at_zero=True, sign_of_value=0,
    ),
    LanguageFunction(
        "tanh", (1, 1), np.tanh, lambda x: [1.0 / np.cosh(np.clip(x, -350.0, 350.0)) ** 2],
        lambda jax, x: jax.numpy.tanh(x), sympy.tanh, r"\tanh\left({0}\right)", parity=-1, zero_at_zero=True,
    ),
    LanguageFunction(
        "erf", (1, 1), special.erf, lambda x: [2.0 / np.sqrt(np.pi) * np.exp(-np.square(x))],
        lambda jax, x: jax.scipy.special.erf(x), sympy.erf, r"\operatorname{{erf}}\left({0}\right)",
        parity=-1, zero_at_zero=True,
    ),
    LanguageFunction(
        "sigmoid", (1, 1), special.expit, lambda x: [special.expit(x) * special.expit(np.negative(x))],
        lambda jax, x: jax.nn.sigmoid(x), lambda x: 1 / (1 + sympy.exp(-x)), r"\varsigma\left({0}\right)",
        sign_of_value=1,
    ),
    LanguageFunction(
        "exp", (1, 1), np.exp, lambda x: [np.exp(x)], lambda jax, x: jax.numpy.exp(x), sympy.exp,
        r"e^{{{0}}}", sign_of_value=1,
    ),
    LanguageFunction(
        "log", (1, 1), np.log, lambda x: [np.divide(1.0, x)], lambda jax, x: jax.numpy.log(x), sympy.log,
        r"\log\left({0}\right)", surfaces=lambda x: [("singular", x)], outside=lambda x: np.less(x, 0.0),
        outside_words="the logarithm of a negative number",
    ),
    LanguageFunction(
        "sin", (1, 1), np.sin, lambda x: [np.cos(x)], lambda jax, x: jax.numpy.sin(x), sympy.sin,
        r"\sin\left({0}\right)", parity=-1,
    ),
    LanguageFunction(
        "cos", (1, 1), np.cos, lambda x: [-np.sin(x)], lambda jax, x: jax.numpy.cos(x), sympy.cos,
        r"\cos\left({0}\right)", parity=1,
    ),
    LanguageFunction(
        "min", (2, MAX_ARGUMENTS), lambda *a: np.minimum.reduce(np.broadcast_arrays(*a)), _select(np.less),
        lambda jax, *a: _fold_left(jax.numpy.minimum, a), sympy.Min, r"\min\left({joined}\right)",
        surfaces=_pairs, fold=lambda *a: min(a),
    ),
    LanguageFunction(
        "max", (2, MAX_ARGUMENTS), lambda *a: np.maximum.reduce(np.broadcast_arrays(*a)), _select(np.greater),
        lambda jax, *a: _fold_left(jax.numpy.maximum, a), sympy.Max, r"\max\left({joined}\right)",
        surfaces=_pairs, fold=lambda *a: max(a),
    ),
    LanguageFunction(
        "clip", (3, 3), lambda x, low, high: np.minimum(np.maximum(x, low), high), _clip_partials,
        lambda jax, x, low, high: jax.numpy.minimum(jax.numpy.maximum(x, low), high),
        lambda x, low, high: sympy.Min(sympy.Max(x, low), high), r"\operatorname{{clip}}\left({joined}\right)",
        surfaces=lambda x, low, high: [("corner", x - low), ("corner", x - high)],
        fold=lambda x, low, high: min(max(x, low), high),
    ),
    LanguageFunction(
        "He", (2, 2), hermite, lambda order, x: [0.0, order * hermite(max(order - 1, 0), x)], _jax_hermite,
        _sympy_hermite, r"\mathrm{{He}}_{{{0}}}\left({1}\right)", fold=_hermite_number,
    ),
    LanguageFunction(
        "power", (2, 2), np.power, _power_partials, lambda jax, x, q: jax.numpy.power(x, q), lambda x, q: x**q,
        r"\left({0}\right)^{{{1}}}", surfaces=lambda x, q: [("singular", x)], outside=_power_outside,
        outside_words="a negative number to a power that is not an integer", sign_of_value=0,
    ),
]  # fmt: skip


def _fold_left(combine: Callable[[Any, Any], Any], arguments: Sequence[Any]) -> Any:
    result = arguments[0]
    for argument in arguments[1:]:
        result = combine(result, argument)
    return result


FUNCTIONS: dict[str, LanguageFunction] = {row.name: row for row in _ROWS}


@cache
def _inert(name: str) -> Any:
    return sympy.exp if name == "exp" else sympy.Function(name, real=True)


def typed_names() -> list[str]:
    """The function names that a user may type, `He1` to `He12` aside."""
    return sorted({*FUNCTIONS, "sqrt"} - {"power"})


def row_of(node: sympy.Basic) -> LanguageFunction | None:
    """The row of a function node of an expression tree, or None for any other node."""
    return FUNCTIONS.get(node.func.__name__) if isinstance(node, sympy.Function) else None
