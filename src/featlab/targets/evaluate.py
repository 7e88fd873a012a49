"""Values and derivatives of expression trees, by walking them: NumPy (with gradients) and JAX.

No code is generated. Each different node is computed once per call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

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
        return _walk(tree, fields, {} if memo is None else memo, lambda node: np.float64(number(node)), _in_numpy)


def values_jax(tree: sympy.Expr, fields: Mapping[str, Any]) -> Any:
    """JAX values of a tree at named fields, in the fields' precision; traceable."""
    ops = jax_ops()
    # Constant parts are computed once in float64 and enter as Python floats, which take the fields' precision.
    memo = {node: float(values(node, {})) for node in sympy.preorder_traversal(tree) if not node.free_symbols}
    return _walk(tree, fields, memo, number, lambda row, arguments: row.formula(ops, *arguments))


def _in_numpy(row: LanguageFunction, arguments: Sequence[Any]) -> Any:
    return row.value(*arguments)


def _walk(
    node: sympy.Expr,
    fields: Mapping[str, Any],
    memo: Memo,
    constant: Callable[[sympy.Expr], Any],
    call: Callable[[LanguageFunction, Sequence[Any]], Any],
) -> Any:
    if node in memo:
        return memo[node]

    def walk(child: sympy.Expr) -> Any:
        return _walk(child, fields, memo, constant, call)

    if isinstance(node, sympy.Symbol):
        result = fields[node.name]
    elif isinstance(node, sympy.Rational | sympy.NumberSymbol):
        result = constant(node)
    elif isinstance(node, sympy.Add):
        result = _total([walk(argument) for argument in node.args])
    elif isinstance(node, sympy.Mul):
        result = _product([walk(argument) for argument in node.args])
    elif isinstance(node, sympy.Pow) and isinstance(node.exp, sympy.Integer) and abs(node.exp) < 2000:
        result = integer_power(walk(node.base), int(node.exp))
    elif isinstance(node, sympy.Pow):
        result = walk(node.base) ** walk(node.exp)
    else:
        row = row_of(node)
        if row is None:
            raise TypeError(f"not a tree of the language: {type(node).__name__}")
        result = call(row, [int(a) if row.name == "He" and i == 0 else walk(a) for i, a in enumerate(node.args)])
    memo[node] = result
    return result


def _total(terms: Sequence[Any]) -> Any:
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result


def _product(factors: Sequence[Any]) -> Any:
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result


def integer_power(base: Any, exponent: int) -> Any:
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


class Jet(NamedTuple):
    """Values (n,), gradient (m, n) and its size without cancellation (m, n), which scales its rounding error."""

    value: Any
    gradient: Any
    magnitude: Any


def gradients(tree: sympy.Expr, names: Sequence[str], points: Floats) -> Jet:
    """Values and gradients at points (n, m) by forward accumulation; kinks contribute no delta functions."""
    count, variables = points.shape
    with np.errstate(all="ignore"):
        jet = _jet(tree, dict(zip(names, points.T, strict=True)), list(names), {})
        zero = np.zeros((variables, count))
        value = np.broadcast_to(jet.value, (count,))
        return Jet(value, zero + jet.gradient, zero + jet.magnitude)


def _jet(node: sympy.Expr, fields: Mapping[str, Floats], names: list[str], memo: dict[sympy.Expr, Jet]) -> Jet:
    if node not in memo:
        memo[node] = _new_jet(node, fields, names, memo)
    return memo[node]


def _new_jet(node: sympy.Expr, fields: Mapping[str, Floats], names: list[str], memo: dict[sympy.Expr, Jet]) -> Jet:
    if isinstance(node, sympy.Symbol):
        unit = np.zeros((len(names), 1))
        unit[names.index(node.name)] = 1.0
        return Jet(fields[node.name], unit, unit)
    if not node.free_symbols:
        return Jet(values(node, {}), 0.0, 0.0)
    if isinstance(node, sympy.Pow):
        base, exponent = _jet(node.base, fields, names, memo), int(node.exp)
        slope = exponent * integer_power(base.value, exponent - 1)
        return Jet(integer_power(base.value, exponent), slope * base.gradient, abs(slope) * base.magnitude)
    row = row_of(node)
    if row is not None and row.name == "He":
        argument = _jet(node.args[1], fields, names, memo)
        order = int(node.args[0])
        slope = row.partials(order, argument.value)[1]
        return Jet(row.value(order, argument.value), slope * argument.gradient, abs(slope) * argument.magnitude)
    parts = [_jet(argument, fields, names, memo) for argument in node.args]
    at = [part.value for part in parts]
    if isinstance(node, sympy.Add):
        value, slopes = _total(at), [1.0] * len(parts)
    elif isinstance(node, sympy.Mul):
        value, slopes = _product(at), [_product([1.0, *at[:i], *at[i + 1 :]]) for i in range(len(at))]
    elif row is not None:
        value, slopes = row.value(*at), list(row.partials(*at))
    else:
        raise TypeError(f"not a canonical tree: {type(node).__name__}")
    live = [
        (slope, part) for slope, part, argument in zip(slopes, parts, node.args, strict=True) if argument.free_symbols
    ]
    return Jet(
        value,
        _total([slope * part.gradient for slope, part in live]),
        _total([np.abs(slope) * part.magnitude for slope, part in live]),
    )
