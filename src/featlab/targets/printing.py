"""Canonical trees as text of the language and as LaTeX.

The text is sorted by its own rules (short terms first, constants last), so that equal trees have equal texts and
parsing a text gives back the tree that it was printed from.
"""

from __future__ import annotations

import sympy

from featlab.targets.canonical import HALF
from featlab.targets.functions import row_of

# How tightly an expression binds; a child that binds less tightly than its place demands gets brackets.
SUM, PRODUCT, NEGATIVE, POWER, ATOM = range(5)


def text_of(tree: sympy.Expr) -> str:
    """The canonical text of a tree; `parse` reads it back."""
    return _print(tree)[0]


def _print(tree: sympy.Expr) -> tuple[str, int]:
    if isinstance(tree, sympy.Rational):
        return _number(tree)
    if isinstance(tree, sympy.Symbol):
        return tree.name, ATOM
    if tree is sympy.pi:
        return "pi", ATOM
    if tree is sympy.E:
        return "e", ATOM
    if isinstance(tree, sympy.Add):
        return signed_sum([text_of(term) for term in ordered_terms(tree)]), SUM
    if isinstance(tree, sympy.Mul | sympy.Pow):
        return _product(tree)
    row = row_of(tree)
    if row is None:
        raise TypeError(f"not a canonical tree: {type(tree).__name__}")
    if row.name == "He":
        order, argument = tree.args
        name = f"He{order}(" if order <= 12 else f"He({order}, "
        return name + _print(argument)[0] + ")", ATOM
    if row.name == "power":
        return _power(tree.args[0], tree.args[1])
    return f"{row.name}({', '.join(_print(argument)[0] for argument in tree.args)})", ATOM


def _number(value: sympy.Rational) -> tuple[str, int]:
    if value.q == 1:
        return str(value.p), (ATOM if value.p >= 0 else NEGATIVE)
    decimal = _decimal(value)
    if decimal is not None:
        return decimal, (ATOM if value.p >= 0 else NEGATIVE)
    return f"{value.p}/{value.q}", PRODUCT


def _decimal(value: sympy.Rational) -> str | None:
    """The exact decimal form where it is short, such as 0.25 for 1/4."""
    twos = fives = 0
    rest = int(value.q)
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest != 1 or places > 20:
        return None
    digits = str(abs(value.p) * 10**places // value.q).rjust(places + 1, "0")
    return ("-" if value.p < 0 else "") + digits[:-places] + "." + digits[-places:]


def _order(text: str) -> tuple[int, str]:
    return len(text), text


def ordered_terms(tree: sympy.Add) -> list[sympy.Expr]:
    """The terms of a sum as they are printed: by length, constants last, a positive one in front if there is one."""
    order = {term: (not term.free_symbols, _order(text_of(term.as_coeff_Mul()[1]))) for term in tree.args}
    terms = sorted(tree.args, key=order.__getitem__)
    first = next((term for term in terms if not text_of(term).startswith("-")), terms[0])
    return [first, *[term for term in terms if term is not first]]


def signed_sum(texts: list[str]) -> str:
    """Terms joined by " + ", or by " - " where a term starts with a minus sign."""
    rest = (f" - {text[1:].lstrip()}" if text.startswith("-") else f" + {text}" for text in texts[1:])
    return texts[0] + "".join(rest)


def _product(tree: sympy.Expr) -> tuple[str, int]:
    coefficient, rest = tree.as_coeff_Mul()
    factors = rest.args if isinstance(rest, sympy.Mul) else (rest,)
    above, below = [], []
    for factor in factors:
        base, exponent = _base_and_exponent(factor)
        if exponent.is_Rational and exponent < 0:
            below.append((not factor.free_symbols, _power(base, -exponent)))
        else:
            above.append((bool(factor.free_symbols), _power(base, exponent)))
    numerator = [_bracketed(text, NEGATIVE) for _, text in sorted(above, key=lambda f: (f[0], _order(f[1][0])))]
    denominator = [_bracketed(text, POWER) for _, text in sorted(below, key=lambda f: (not f[0], _order(f[1][0])))]
    negative = coefficient < 0
    coefficient = abs(coefficient)
    head, tail = _coefficient(coefficient, bool(numerator))
    text = ("-" if negative else "") + "*".join([*head, *numerator]) + "".join("/" + d for d in tail + denominator)
    lonely = not negative and not tail and not denominator and len(head) + len(numerator) == 1
    if lonely and not head:
        return text, above[0][1][1]
    return text, NEGATIVE if negative and not denominator and not tail and len(numerator) == 1 else PRODUCT


def _coefficient(coefficient: sympy.Rational, has_numerator: bool) -> tuple[list[str], list[str]]:
    """The coefficient as factors in front and as divisors behind."""
    if coefficient == 1:
        return ([] if has_numerator else ["1"]), []
    text, binding = _number(coefficient)
    if binding == ATOM:
        return [text], []
    top = [] if coefficient.p == 1 and has_numerator else [str(coefficient.p)]
    return top, [str(coefficient.q)]


def _base_and_exponent(factor: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    row = row_of(factor)
    if row is not None and row.name == "power":
        return factor.args[0], factor.args[1]
    if isinstance(factor, sympy.Pow):
        return factor.base, factor.exp
    return factor, sympy.Integer(1)


def _power(base: sympy.Expr, exponent: sympy.Expr) -> tuple[str, int]:
    if exponent == 1:
        return _print(base)
    if exponent == HALF:
        return f"sqrt({_print(base)[0]})", ATOM
    return f"{_bracketed(_print(base), ATOM)}**{_bracketed(_print(exponent), ATOM)}", POWER


def _bracketed(printed: tuple[str, int], demanded: int) -> str:
    text, binding = printed
    return text if binding >= demanded else f"({text})"
