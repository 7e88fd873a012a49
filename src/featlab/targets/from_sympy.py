"""SymPy expressions in and out: a foreign expression to a literal tree, and a tree to SymPy's own functions."""

from __future__ import annotations

import sympy

from featlab.errors import InvalidTarget
from featlab.targets.canonical import MAX_NODES, power
from featlab.targets.conditions import compared, conjunction, disjunction, negation
from featlab.targets.functions import MAX_HERMITE_ORDER, MAX_VARIABLES, VARIABLE, apply_inert, function, row_of

_NAMES = {
    "Abs": "abs", "Max": "max", "Min": "min", "Heaviside": "step", "hermite_prob": "He", "atan": "arctan",
    "asinh": "arcsinh", "Mod": "mod",
}  # fmt: skip


def literal_of(expression: sympy.Basic) -> sympy.Expr:
    """A literal tree for a SymPy expression in symbols named h1.., xi1.. and functions of the language."""
    count = sum(1 for _, _ in zip(sympy.preorder_traversal(expression), range(MAX_NODES + 1), strict=False))
    if count > MAX_NODES:
        raise InvalidTarget(f"the expression has more than {MAX_NODES} parts")
    return _convert(expression)


_JOINED = {sympy.And: conjunction, sympy.Or: disjunction}


def _convert(node: sympy.Basic) -> sympy.Expr:
    if isinstance(node, sympy.Symbol):
        return _symbol(node)
    if isinstance(node, sympy.Float):
        if not node.is_finite:
            raise InvalidTarget("the expression holds a number that is not finite")
        return sympy.Rational(repr(float(node)))
    if isinstance(node, sympy.Rational) or node in (sympy.pi, sympy.E):
        return node
    if isinstance(node, sympy.Add | sympy.Mul):
        return node.func(*[_convert(argument) for argument in node.args], evaluate=False)
    if isinstance(node, sympy.Pow):
        base, exponent = _convert(node.base), _convert(node.exp)
        whole = isinstance(exponent, sympy.Integer)
        return sympy.Pow(base, exponent, evaluate=False) if whole else power(base, exponent)
    if isinstance(node, sympy.Piecewise):
        return _choice(node)
    return _function(node)


def _choice(node: sympy.Piecewise) -> sympy.Expr:
    """Pieces with conditions as nested `where`; the last has to hold wherever the others do not."""
    *pieces, (last, otherwise) = node.args
    if otherwise != sympy.true:
        raise InvalidTarget("a Piecewise whose last condition is not True is undefined elsewhere")
    tree = _convert(last)
    for value, condition in reversed(pieces):
        tree = apply_inert("where", _condition(condition), _convert(value), tree)
    return tree


def _condition(node: sympy.Basic) -> sympy.Expr:
    if type(node) in _JOINED:
        return _JOINED[type(node)]([_condition(part) for part in sorted(node.args, key=str)])
    if isinstance(node, sympy.Not):
        return negation(_condition(node.args[0]))
    if isinstance(node, sympy.StrictLessThan | sympy.LessThan | sympy.StrictGreaterThan | sympy.GreaterThan):
        return compared(_convert(node.lhs), node.rel_op, _convert(node.rhs))
    raise InvalidTarget(f"SymPy's {type(node).__name__} is not a condition of the language")


def _symbol(node: sympy.Symbol) -> sympy.Symbol:
    match = VARIABLE.fullmatch(node.name)
    if match is None or int(match[2]) > MAX_VARIABLES:
        names = f"directions are called h1..h{MAX_VARIABLES}, noise xi1..xi{MAX_VARIABLES}"
        raise InvalidTarget(f"unknown symbol {node.name!r}", suggestion=names)
    return sympy.Symbol(node.name, real=True)


def _function(node: sympy.Basic) -> sympy.Expr:
    name = node.func.__name__
    row = function(_NAMES.get(name, name))
    if row is None or row.name == "where" or not isinstance(node, sympy.Function | sympy.Max | sympy.Min):
        raise InvalidTarget(f"SymPy's {name} is not part of the language")
    arguments = node.args[:1] if row.name == "step" else node.args
    if row.name == "He" and not (isinstance(arguments[0], sympy.Integer) and 0 <= arguments[0] <= MAX_HERMITE_ORDER):
        raise InvalidTarget(f"the order of a Hermite polynomial is an integer from 0 to {MAX_HERMITE_ORDER}")
    if row.name == "mod" and not (isinstance(arguments[1], sympy.Rational) and arguments[1] > 0):
        raise InvalidTarget("the second argument of Mod has to be a positive rational number")
    converted = [_convert(argument) for argument in arguments]
    if not row.arity[0] <= len(converted) <= row.arity[1]:
        raise InvalidTarget(f"{row.name} takes {row.arity[0]} to {row.arity[1]} arguments, not {len(converted)}")
    return apply_inert(row.name, *converted)


def native(tree: sympy.Expr) -> sympy.Expr:
    """A tree in SymPy's own functions, for use with SymPy (which may take its time to simplify)."""
    if not tree.args:
        return tree
    arguments = [native(argument) for argument in tree.args]
    row = row_of(tree)
    return tree.func(*arguments) if row is None else row.native(*arguments)
