"""Values and derivatives of expression trees, by walking them: NumPy (with gradients) and JAX.

No code is generated. Each different node is computed once per call.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from featlab.gaussian.functions import jax_ops
from featlab.targets.functions import LanguageFunction, row_of

Floats = NDArray[np.float64]
Memo = dict[sympy.Basic, Any]


def number(node: sympy.Expr) -> float:
    """A number leaf as a float."""
    if isinstance(node, sympy.Rational):
        return int(node.p) / int(node.q)
    return {sympy.pi: np.pi, sympy.E: np.e}[node]


def values(tree: sympy.Expr, fields: Mapping[str, Any], memo: Memo | None = None) -> Any:
    """NumPy values of a tree at named fields; overflow gives inf and undefined values nan, without warnings.

    Pass an empty `memo` to get the value of every node in it.
    """
    with np.errstate(all="ignore"):
        return _walk(tree, fields, {} if memo is None else memo, LanguageFunction.value)


def values_jax(tree: sympy.Expr, fields: Mapping[str, Any]) -> Any:
    """JAX values of a tree at named fields, in the fields' precision; traceable."""
    ops = jax_ops()
    value = _walk(tree, fields, _constants(tree), lambda row, *arguments: row.formula(ops, *arguments))
    # A choice between two numbers is as wide as Python's floats.
    return value.astype(next(iter(fields.values())).dtype)


def _constants(tree: sympy.Expr) -> Memo:
    """The parts without variables, computed in float64; as Python's floats they take the fields' precision."""
    return {node: float(values(node, {})) for node in sympy.preorder_traversal(tree) if not node.free_symbols}


def _walk(node: sympy.Expr, fields: Mapping[str, Any], memo: Memo, call: Callable[..., Any]) -> Any:
    if node in memo:
        return memo[node]

    def walk(child: sympy.Expr) -> Any:
        return _walk(child, fields, memo, call)

    if isinstance(node, sympy.Symbol):
        result = fields[node.name]
    elif isinstance(node, sympy.Rational | sympy.NumberSymbol):
        result = np.float64(number(node))
    elif isinstance(node, sympy.Add | sympy.Mul):
        combine = operator.add if isinstance(node, sympy.Add) else operator.mul
        result = reduce(combine, [walk(argument) for argument in node.args])
    elif isinstance(node, sympy.Pow) and isinstance(node.exp, sympy.Integer) and abs(node.exp) < 2000:
        result = _integer_power(walk(node.base), int(node.exp))
    elif isinstance(node, sympy.Pow):
        result = walk(node.base) ** walk(node.exp)
    else:
        row = row_of(node)
        if row is None:
            raise TypeError(f"not a tree of the language: {type(node).__name__}")
        result = call(row, *[int(a) if row.name == "He" and i == 0 else walk(a) for i, a in enumerate(node.args)])
    memo[node] = result
    return result


def _integer_power(base: Any, exponent: int) -> Any:
    if isinstance(base, Jet):
        slope = exponent * _integer_power(base.value, exponent - 1)
        return base.through(_integer_power(base.value, exponent), slope)
    return base**exponent if exponent >= 0 else 1.0 / base ** (-exponent)


def value_at(tree: sympy.Expr, names: Sequence[str]) -> Callable[[Floats], Floats]:
    """The tree as a NumPy function of fields (..., len(names))."""

    def function(fields: Floats) -> Floats:
        value = values(tree, {name: fields[..., index] for index, name in enumerate(names)})
        return np.broadcast_to(value, np.shape(fields)[:-1])

    return function


def gradient_at(tree: sympy.Expr, names: Sequence[str]) -> Callable[[Floats], Floats]:
    """The gradient of a tree as a function from points (n, m) to (n, m)."""
    return lambda points: gradients(tree, names, points).gradient.T


@dataclass(frozen=True)
class Jet:
    """Values (n,), gradient (m, n) and its size without cancellation (m, n), which scales its rounding error."""

    value: Any
    gradient: Any
    magnitude: Any

    __array_ufunc__ = None  # a NumPy number leaves sums and products with a jet to the jet

    def through(self, value: Any, slope: Any) -> Jet:
        """The jet of a function with this value and slope."""
        return Jet(value, slope * self.gradient, np.abs(slope) * self.magnitude)

    def __add__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return Jet(self.value + other, self.gradient, self.magnitude)
        return Jet(self.value + other.value, self.gradient + other.gradient, self.magnitude + other.magnitude)

    def __mul__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return self.through(self.value * other, other)
        left, right = self.through(self.value * other.value, other.value), other.through(0.0, self.value)
        return left + right

    __radd__, __rmul__ = __add__, __mul__


def gradients(tree: sympy.Expr, names: Sequence[str], points: Floats) -> Jet:
    """Values and gradients at points (n, m) by forward accumulation; kinks contribute no delta functions."""
    count, variables = points.shape
    units = np.eye(variables)[:, :, None]
    fields = {name: Jet(points[:, k], units[k], units[k]) for k, name in enumerate(names)}
    with np.errstate(all="ignore"):
        jet = _walk(tree, fields, _constants(tree), _chained)
        zero = np.zeros((variables, count))
        return Jet(np.broadcast_to(jet.value, (count,)), zero + jet.gradient, zero + jet.magnitude)


def _chained(row: LanguageFunction, *arguments: Any) -> Jet:
    """A function of jets and numbers, by the chain rule; slopes in the numbers may be undefined."""
    at = [argument.value if isinstance(argument, Jet) else argument for argument in arguments]
    slopes = zip(row.partials(*at), arguments, strict=True)
    parts = [_weighed(argument, slope) for slope, argument in slopes if isinstance(argument, Jet)]
    return reduce(operator.add, parts) + row.value(*at)


def _weighed(jet: Jet, slope: Any) -> Jet:
    """The jet's part in the gradient: none where the slope is zero, be the gradient there undefined."""
    part = jet.through(0.0, slope)
    return Jet(0.0, *[np.where(slope == 0.0, 0.0, column) for column in (part.gradient, part.magnitude)])
