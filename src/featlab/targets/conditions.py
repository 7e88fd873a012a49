"""Conditions: comparisons joined by and, or, not, as trees that are 0 or 1.

a >= b is step(a - b) and a > b is 1 - step(b - a), exactly, also where a = b. `p and q` is p q, `not p` is 1 - p, and
`p or q` is 1 - (1 - p) (1 - q). Where a condition jumps is known from its steps.
"""

from __future__ import annotations

import sympy

from featlab.targets.functions import apply_inert, is_call

_ONE = sympy.Integer(1)


def compared(left: sympy.Expr, sign: str, right: sympy.Expr) -> sympy.Expr:
    """The literal tree of `left sign right`, for < <= > >=."""
    if sign in ("<", ">"):
        return negation(compared(left, {"<": ">=", ">": "<="}[sign], right))
    above, below = (left, right) if sign == ">=" else (right, left)
    return apply_inert("step", sympy.Add(above, sympy.Mul(-1, below, evaluate=False), evaluate=False))


def negation(condition: sympy.Expr) -> sympy.Expr:
    """not p."""
    return sympy.Add(_ONE, sympy.Mul(-1, condition, evaluate=False), evaluate=False)


def conjunction(conditions: list[sympy.Expr]) -> sympy.Expr:
    """p and q and .."""
    return conditions[0] if len(conditions) == 1 else sympy.Mul(*conditions, evaluate=False)


def disjunction(conditions: list[sympy.Expr]) -> sympy.Expr:
    """p or q or .."""
    return negation(conjunction([negation(condition) for condition in conditions]))


def is_condition(tree: sympy.Expr) -> bool:
    """Whether a canonical tree is 0 or 1 because it is made as conditions are."""
    if is_call(tree, "step"):
        return True
    if isinstance(tree, sympy.Mul):
        return all(is_condition(factor) for factor in tree.args)
    opposite = negated(tree)
    return opposite is not None and is_condition(opposite)


def negated(tree: sympy.Expr) -> sympy.Expr | None:
    """The p of a canonical tree 1 - p; None for a tree of another form."""
    if not isinstance(tree, sympy.Add) or len(tree.args) != 2 or _ONE not in tree.args:
        return None
    (term,) = (argument for argument in tree.args if argument != _ONE)
    return -term if term.as_coeff_Mul()[0] == -1 else None
