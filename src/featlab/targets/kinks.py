"""Kinks: the surfaces where a link, or a derivative of it, jumps or is singular.

They are read off the tree: sign and step jump where their argument changes sign; abs, relu, min, max and clip have
corners there; logarithms, negative powers and fractional powers are singular where their base vanishes. A product
changes sign where a factor does, so sign(h1*h2*h3) has the three kinks h1, h2, h3. Small polynomials are factored.
A comparison is a step, so where(..) jumps where its condition changes. floor, round and mod have infinitely many jumps:
those that their argument reaches within eight standard deviations of the origin are listed (the others have a
probability below 1e-14), and a target with more than 64 of them in one function is refused.

What is found is a superset: h1*sign(h1) is listed as a jump at h1 = 0 although it has only a corner there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import sympy

from featlab.errors import InvalidTarget
from featlab.targets.canonical import canonical, leading_sign, product
from featlab.targets.evaluate import Floats, value_at, values
from featlab.targets.functions import is_call, row_of
from featlab.targets.polynomials import polynomial_degree, small_polynomial
from featlab.targets.printing import text_of
from featlab.targets.surfaces import low_points

_SEVERITY = {"corner": 0, "jump": 1, "singular": 2}
_MAX_FACTORISATIONS = 12
_MAX_LEVELS = 64
_BULK = 8.0


@dataclass(frozen=True)
class Kink:
    """A surface {function(fields) = 0} on which the link may jump ("jump"), bend ("corner") or blow up ("singular").

    Attributes:
        kind: "jump", "corner" or "singular"; the worst that the expression allows.
        variables: indices into the fields (h1.. then xi1..) that the surface depends on.
        function: NumPy function of fields (..., rank + hidden), zero on the surface.
        text: the function in words of the language (or the name of a user's function).
    """

    kind: str
    variables: tuple[int, ...]
    function: Callable[[Floats], Floats] = field(compare=False, repr=False)
    text: str


def kinks_of(tree: sympy.Expr, names: list[str]) -> tuple[Kink, ...]:
    """The kinks of a tree as functions of fields (..., len(names))."""
    return tuple(_kink(kind, surface, names) for surface, kind in surfaces(tree).items())


def _kink(kind: str, surface: sympy.Expr, names: list[str]) -> Kink:
    used = {symbol.name for symbol in surface.free_symbols}
    variables = tuple(index for index, name in enumerate(names) if name in used)

    return Kink(kind, variables, value_at(surface, names), text_of(surface))


def surfaces(tree: sympy.Expr) -> dict[sympy.Expr, str]:
    """The expressions whose zero sets are kinks, each with the worst kind met there; sorted by their texts."""
    finder = _Finder()
    for node in dict.fromkeys(sympy.preorder_traversal(tree)):
        if not node.free_symbols:
            continue
        row = row_of(node)
        if row is not None and row.staircase is not None:
            argument, offset = row.staircase(*node.args)
            for level in _levels(canonical(argument), offset, row.name):
                finder.add("jump", canonical(_unclipped(argument) - level))
        elif row is not None:
            for kind, expression in row.surfaces(*node.args):
                finder.add(kind, canonical(expression))
        elif isinstance(node, sympy.Pow) and node.exp.is_negative:
            finder.add("singular", node.base)
    texts = {surface: text_of(surface) for surface in finder.found}
    return dict(sorted(finder.found.items(), key=lambda item: (len(texts[item[0]]), texts[item[0]])))


def _unclipped(argument: sympy.Expr) -> sympy.Expr:
    """x for clip(x, a, b) with numbers a, b: both take a level between them at the same place."""
    bounded = is_call(argument, "clip") and not any(bound.free_symbols for bound in argument.args[1:])
    return argument.args[0] if bounded else argument


def _levels(argument: sympy.Expr, offset: sympy.Rational, name: str) -> list[sympy.Rational]:
    """The whole numbers plus `offset` that the argument takes in the bulk."""
    names = sorted(symbol.name for symbol in argument.free_symbols)
    function = value_at(argument, names)
    low = float(np.nanmin(function(low_points(function, len(names), _BULK))))
    high = float(np.nanmax(function(low_points(lambda points: -function(points), len(names), _BULK))))
    first, last = np.ceil(low - float(offset)), np.floor(high - float(offset))
    if not last - first < _MAX_LEVELS:
        raise InvalidTarget(
            f"{name}({text_of(argument)}) jumps more than {_MAX_LEVELS} times within {_BULK:g} standard deviations",
            suggestion=f"make the steps wider, or bound it, as in {name}(clip(h1**3, -9, 9))",
        )
    return [offset + int(level) for level in np.arange(first, last + 1)]


class _Finder:
    def __init__(self) -> None:
        self.found: dict[sympy.Expr, str] = {}
        self.factorisations = 0

    def add(self, kind: str, expression: sympy.Expr) -> None:
        for part in self._parts(expression, crossing=kind != "singular"):
            surface = part if leading_sign(part) > 0 else product([sympy.Integer(-1), part])
            known = self.found.get(surface)
            if known is None or _SEVERITY[kind] > _SEVERITY[known]:
                self.found[surface] = kind

    def _parts(self, expression: sympy.Expr, crossing: bool) -> list[sympy.Expr]:
        """Simpler expressions whose zero sets cover that of `expression` (with a change of sign, if `crossing`)."""
        if not expression.free_symbols or _is_positive(expression):
            return []
        if isinstance(expression, sympy.Mul):
            return [part for factor in expression.args for part in self._parts(factor, crossing)]
        if isinstance(expression, sympy.Pow):
            even = int(expression.exp) % 2 == 0
            return [] if crossing and even else self._parts(expression.base, crossing)
        if is_call(expression, "abs", "power"):
            return [] if crossing else self._parts(expression.args[0], crossing)
        row = row_of(expression)
        if row is not None and row.scalar is not None and row.scalar.zero_at_zero:
            return self._parts(expression.args[0], crossing)
        if is_call(expression, "log"):
            return self._parts(canonical(expression.args[0] - 1), crossing)
        return self._factors(expression, crossing)

    def _factors(self, expression: sympy.Expr, crossing: bool) -> list[sympy.Expr]:
        if polynomial_degree(expression) in (None, 1) or self.factorisations >= _MAX_FACTORISATIONS:
            return [expression]
        polynomial = small_polynomial(expression)
        if polynomial is None or polynomial.total_degree() <= 1:
            return [expression]
        self.factorisations += 1
        factors = polynomial.factor_list()[1]
        parts = [factor.as_expr() for factor, power in factors if not (crossing and power % 2 == 0)]
        return [part for part in map(canonical, parts) if not _is_positive(part)]


def _is_positive(expression: sympy.Expr) -> bool:
    """True if the expression is positive everywhere for a reason that shows in its form, such as h1**2 + 1."""
    return _lower_sign(expression) == 1


def _lower_sign(expression: sympy.Expr) -> int:
    """1 if certainly > 0 everywhere, 0 if certainly >= 0, -1 if not known."""
    if not expression.free_symbols:
        value = float(values(expression, {}))
        return 1 if value > 0 else (0 if value == 0 else -1)
    row = row_of(expression)
    if row is not None:
        return -1 if row.sign_of_value is None else row.sign_of_value
    if isinstance(expression, sympy.Pow):
        below = _lower_sign(expression.base)
        even = int(expression.exp) % 2 == 0
        return 1 if below == 1 else (0 if (even and expression.exp > 0) or below == 0 else -1)
    signs = [_lower_sign(argument) for argument in expression.args]
    if isinstance(expression, sympy.Add):
        return -1 if min(signs) < 0 else max(signs)
    if isinstance(expression, sympy.Mul):
        return min(signs)
    return -1
