"""Expression trees: from what was typed to one canonical form, without ever starting a long computation.

A *literal* tree holds exactly what was typed (unevaluated SymPy nodes). The *canonical* tree is rebuilt from it bottom
up: sums and products are collected by SymPy, parities and positive factors are pulled out of functions, numbers are
folded exactly. Nothing is expanded, no assumption of SymPy is queried, and every number is bounded before it is
computed, so the time is that of walking the tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import log2

import numpy as np
import sympy

from featlab.errors import InvalidTarget
from featlab.targets.conditions import is_condition
from featlab.targets.functions import LanguageFunction, apply_inert, function, is_call

MAX_EXPONENT = 40
MAX_NODES = 800
_MAX_BITS = 2000
_MAX_LOG2 = 340  # numbers between 1e-102 and 1e102

HALF = sympy.Rational(1, 2)


def power(base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
    """The inert node for base**exponent with an exponent that is not an integer."""
    return apply_inert("power", base, exponent)


def canonical(tree: sympy.Expr, replace: Mapping[sympy.Expr, sympy.Expr] | None = None) -> sympy.Expr:
    """The canonical form of a tree, with symbols replaced on the way where `replace` says so."""
    return _Canoniser(dict(replace or {})).rebuild(tree)


class _Canoniser:
    def __init__(self, known: dict[sympy.Expr, sympy.Expr]) -> None:
        self.known = known
        self.nodes = 0

    def rebuild(self, node: sympy.Expr) -> sympy.Expr:
        if node not in self.known:
            self.nodes += 1
            if self.nodes > MAX_NODES:
                raise InvalidTarget(f"the expression has more than {MAX_NODES} different parts")
            self.known[node] = self._rebuild(node)
        return self.known[node]

    def _rebuild(self, node: sympy.Expr) -> sympy.Expr:
        if isinstance(node, sympy.Rational):
            return _bounded(node)
        if not node.args:
            return node
        arguments = [self.rebuild(argument) for argument in node.args]
        if isinstance(node, sympy.Add):
            return _bounded(sympy.Add(*arguments))
        if isinstance(node, sympy.Mul):
            return product(arguments)
        if isinstance(node, sympy.Pow):
            return _raise_to(arguments[0], arguments[1])
        return apply(node.func.__name__, arguments)


def _bounded(expression: sympy.Expr) -> sympy.Expr:
    """The expression itself, after a look at its numbers: none infinite, undefined or too large."""
    parts = [expression, *expression.args] if isinstance(expression, sympy.Add | sympy.Mul) else [expression]
    for part in parts:
        number = part.as_coeff_Mul()[0] if isinstance(part, sympy.Mul) else part
        if isinstance(number, sympy.Rational):
            _check_size(int(number.p), int(number.q))
        elif number in (sympy.zoo, sympy.nan, sympy.oo, -sympy.oo):
            raise InvalidTarget("division by zero")
    return expression


def _check_size(numerator: int, denominator: int) -> None:
    top, bottom = numerator.bit_length(), denominator.bit_length()
    if max(top, bottom) > _MAX_BITS or (numerator and abs(top - bottom) > _MAX_LOG2):
        raise InvalidTarget("a number is too large, too small or has too many digits")


def product(factors: list[sympy.Expr]) -> sympy.Expr:
    """The product of canonical factors; powers that arise from equal factors are tidied again."""
    result = _bounded(sympy.Mul(*factors))
    if isinstance(result, sympy.Mul):
        tidied = [_tidy(factor) for factor in result.args]
        if tidied != list(result.args):
            return product(tidied)
        return result
    return _tidy(result)


def _tidy(factor: sympy.Expr) -> sympy.Expr:
    if isinstance(factor, sympy.Pow) and isinstance(factor.exp, sympy.Integer):
        return _raise_to(factor.base, factor.exp)
    return factor


def _raise_to(base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
    """base**exponent in canonical form.

    Integer powers are SymPy's (never expanded); rational powers of positive rationals are SymPy's too (so sqrt(8) is
    2*sqrt(2)); everything else is an inert `power`. That base >= 0 where it must be is checked on the literal tree.
    """
    if base is sympy.E:
        return sympy.exp(exponent)
    if isinstance(exponent, sympy.Integer):
        return _integer_power(base, int(exponent))
    if base == 0 and isinstance(exponent, sympy.Rational):
        return sympy.Integer(0) if exponent > 0 else _divided_by_zero()
    if isinstance(base, sympy.Rational) and base > 0 and isinstance(exponent, sympy.Rational):
        size = abs(log2(base.p) - log2(base.q)) * abs(exponent.p / exponent.q)
        if size > _MAX_LOG2 or exponent.q > 1000:
            return power(base, exponent) if size <= _MAX_LOG2 else _too_large()
        return _bounded(sympy.Pow(base, exponent))
    if isinstance(exponent, sympy.Rational):
        return _rational_power(base, exponent)
    return power(base, exponent)


def _divided_by_zero() -> sympy.Expr:
    raise InvalidTarget("division by zero")


def _too_large() -> sympy.Expr:
    raise InvalidTarget("a power of numbers is too large or too small")


def _integer_power(base: sympy.Expr, exponent: int) -> sympy.Expr:
    if exponent < 0 and base == 0:
        _divided_by_zero()
    if isinstance(base, sympy.Rational):
        if base not in (0, 1, -1) and max(base.p.bit_length(), base.q.bit_length()) * abs(exponent) > _MAX_BITS:
            _too_large()
        return _bounded(sympy.Pow(base, exponent))
    if abs(exponent) > MAX_EXPONENT:
        raise InvalidTarget(f"the exponent {_shown(exponent)} is beyond the limit of {MAX_EXPONENT}")
    if is_call(base, "abs") and exponent % 2 == 0:
        return _raise_to(base.args[0], sympy.Integer(exponent))
    if is_call(base, "sign") and exponent:
        return _power_of_sign(base, exponent)
    if exponent > 0 and is_condition(base):
        return base
    if isinstance(base, sympy.Pow) and isinstance(base.exp, sympy.Integer):
        return _integer_power(base.base, int(base.exp) * exponent)
    if isinstance(base, sympy.Mul):
        return product([_raise_to(factor, sympy.Integer(exponent)) for factor in base.args])
    return sympy.Pow(base, exponent)


def _power_of_sign(base: sympy.Expr, exponent: int) -> sympy.Expr:
    """sign(u)**n: sign(u) or 1, unless u may vanish on a set of positive measure, as relu(h1) does."""
    if _vanishes_nowhere(base.args[0]):
        return base if exponent % 2 else sympy.Integer(1)
    if exponent > 0:
        return base if exponent % 2 else sympy.Pow(base, 2)
    return sympy.Pow(base, exponent)


def _vanishes_nowhere(tree: sympy.Expr) -> bool:
    """True if the zeros of a tree that is not constant have measure 0 because all its functions are analytic."""
    calls = [node for node in sympy.preorder_traversal(tree) if isinstance(node, sympy.Function)]
    rows = [function(node.func.__name__) for node in calls]
    return all(row is not None and not _bends(row) for row in rows)


def _bends(row: LanguageFunction) -> bool:
    if row.scalar is not None:
        return bool(row.scalar.kinks)
    return row.name not in ("He", "log", "power")


def _shown(number: int) -> str:
    return str(number) if abs(number) < 10**12 else "(a large number)"


def _rational_power(base: sympy.Expr, exponent: sympy.Rational) -> sympy.Expr:
    """base**(p/q), q > 1, for a base that is not a positive rational; base >= 0 wherever the target is defined."""
    if isinstance(base, sympy.exp):
        return sympy.exp(product([exponent, base.args[0]]))
    if is_call(base, "power") and isinstance(base.args[1], sympy.Rational):
        return _raise_to(base.args[0], base.args[1] * exponent)
    if isinstance(base, sympy.Pow) and isinstance(base.exp, sympy.Integer) and base.exp % 2 == 0:
        return _raise_to(apply("abs", [base.base]), base.exp * exponent)
    coefficient, rest = base.as_coeff_Mul()
    if coefficient > 0 and coefficient != 1 and rest != 1:
        return product([_raise_to(coefficient, exponent), _raise_to(rest, exponent)])
    return power(base, exponent)


def apply(name: str, arguments: list[sympy.Expr]) -> sympy.Expr:
    """A function of canonical arguments in canonical form."""
    row = function(name)
    if row is None:
        raise InvalidTarget(f"{name} is not a function of the language")
    if row.rational and all(isinstance(argument, sympy.Rational) for argument in arguments):
        return _bounded(row.native(*arguments))
    if name == "He":
        return _hermite(arguments[0], arguments[1])
    if name == "power":
        return _raise_to(*arguments)
    if name in ("min", "max"):
        return _extremum(row, arguments)
    if name == "where":
        return _choice(row, *arguments)
    if len(arguments) == 1:
        return _unary(row, arguments[0])
    return row.inert(*arguments)


def _choice(row: LanguageFunction, condition: sympy.Expr, a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
    """where(condition, a, b), unless the condition is always or never met or makes no difference."""
    if isinstance(condition, sympy.Rational):
        return a if condition == 1 else b
    return a if a == b else row.inert(condition, a, b)


def _unary(row: LanguageFunction, argument: sympy.Expr) -> sympy.Expr:
    """Pull signs (by parity) and positive rational factors (by scaling) out of a function of one argument."""
    if row.name == "log" and isinstance(argument, sympy.exp):
        return argument.args[0]
    if row.name in ("floor", "round") and is_call(argument, "floor", "round"):
        return argument
    if argument in (0, 1):
        with np.errstate(all="ignore"):
            value = float(row.value(np.float64(argument)))
        if value in (0.0, 0.5, 1.0):  # tanh(0), cos(0), sigmoid(0), log(1)
            return sympy.Rational(str(value))
    scalar = row.scalar
    if scalar is None:
        return row.inert(argument)
    if scalar.written_out:
        return canonical(row.native(argument))
    if scalar.parity and leading_sign(argument) < 0:
        flipped = _unary(row, product([sympy.Integer(-1), argument]))
        return product([sympy.Integer(scalar.parity), flipped])
    if scalar.scaling is not None:
        coefficient, rest = _content(argument)
        if coefficient != 1 and rest != 1:
            return product([coefficient**scalar.scaling, row.inert(rest)])
    return row.inert(argument)


def _content(expression: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """The positive constant c and the rest in expression = c * rest: the common rational and irrational factors."""
    terms = expression.args if isinstance(expression, sympy.Add) else (expression,)
    split = [_split_constant(term) for term in terms]
    numerator, denominator = 0, 1
    for coefficient, _ in split:
        numerator = sympy.igcd(numerator, coefficient.p)
        denominator = sympy.ilcm(denominator, coefficient.q)
    irrational = split[0][1] if len({constant for _, constant in split}) == 1 else sympy.Integer(1)
    content = product([sympy.Rational(numerator, denominator), irrational])
    if content in (0, 1):
        return sympy.Integer(1), expression
    inverse = _raise_to(content, sympy.Integer(-1))
    return content, _bounded(sympy.Add(*[product([inverse, term]) for term in terms]))


def _split_constant(term: sympy.Expr) -> tuple[sympy.Rational, sympy.Expr]:
    """The rational coefficient of a term and the product of its positive irrational constants."""
    coefficient, rest = term.as_coeff_Mul()
    factors = rest.args if isinstance(rest, sympy.Mul) else (rest,)
    return coefficient, sympy.Mul(*[factor for factor in factors if _is_positive_constant(factor)])


def _is_positive_constant(factor: sympy.Expr) -> bool:
    if isinstance(factor, sympy.Pow):
        return isinstance(factor.base, sympy.Rational) and factor.base > 0
    return factor in (sympy.pi, sympy.E)


def leading_sign(expression: sympy.Expr) -> int:
    """-1 if the expression is better written with its sign pulled out, by a rule that holds for exactly one of e, -e.

    For a sum the sign of the coefficient of its first term in a fixed order decides.
    """
    if isinstance(expression, sympy.Add):
        terms = [term for term in expression.args if term.free_symbols] or expression.args
        first = min(terms, key=lambda term: _order_key(term.as_coeff_Mul()[1]))
        return leading_sign(first)
    return -1 if expression.as_coeff_Mul()[0] < 0 else 1


def _order_key(tree: sympy.Expr) -> tuple[int, str]:
    """A key that sorts trees by length and spelling. SymPy's own sort key may evaluate numbers, however large."""
    spelled = _spelled(tree)
    return len(spelled), spelled


@lru_cache(maxsize=4096)
def _spelled(tree: sympy.Expr) -> str:
    if not tree.args:
        return str(tree)
    parts = [_spelled(argument) for argument in tree.args]
    inside = sorted(parts) if isinstance(tree, sympy.Add | sympy.Mul) else parts
    return f"{tree.func.__name__}({','.join(inside)})"


def _hermite(order: sympy.Expr, argument: sympy.Expr) -> sympy.Expr:
    if order == 0:
        return sympy.Integer(1)
    if order == 1:
        return argument
    if leading_sign(argument) < 0:
        flipped = _hermite(order, product([sympy.Integer(-1), argument]))
        return product([sympy.Integer((-1) ** int(order)), flipped])
    return apply_inert("He", order, argument)


def _extremum(row: LanguageFunction, arguments: list[sympy.Expr]) -> sympy.Expr:
    """min and max with nested ones flattened, equal arguments merged and numbers folded into one."""
    flat: set[sympy.Expr] = set()
    for argument in arguments:
        flat.update(argument.args if is_call(argument, row.name) else (argument,))
    if len(flat) > row.arity[1]:
        flat = set(arguments)
    numbers = [argument for argument in flat if isinstance(argument, sympy.Rational)]
    rest = flat.difference(numbers)
    if numbers:
        rest.add(row.native(*numbers))
    if len(rest) == 1:
        return rest.pop()
    return row.inert(*sorted(rest, key=_order_key))


def free_names(tree: sympy.Expr, prefix: str) -> list[str]:
    """The variables `prefix1`, `prefix2`, ... in a tree, in the order of their numbers."""
    names = [s.name for s in tree.free_symbols if s.name.removeprefix(prefix).isdigit()]
    return sorted((name for name in names if name.startswith(prefix)), key=lambda n: int(n.removeprefix(prefix)))
