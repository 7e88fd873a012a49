"""Canonical trees as text of the language and as LaTeX.

The text is sorted by its own rules (short terms first, constants last), so that equal trees have equal texts and
parsing a text gives back the tree that it was printed from. LaTeX has terms and factors in the order of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sympy

from featlab.targets.canonical import HALF, leading_sign
from featlab.targets.conditions import negated
from featlab.targets.functions import is_call, row_of

# How tightly an expression binds; a child that binds less tightly than its place demands gets brackets.
_SUM, _PRODUCT, _NEGATIVE, _POWER, _ATOM = range(5)
_Printed = tuple[str, int]

_WORDS = {"and": " and ", "or": " or ", "(": "(", ")": ")"} | {sign: sign for sign in ("<", "<=", ">", ">=")}
_LATEX_WORDS = {
    "and": r" \text{ and } ", "or": r" \text{ or } ", "(": r"\left(", ")": r"\right)", "<": "<", ">": ">",
    "<=": r"\leq", ">=": r"\geq",
}  # fmt: skip


def text_of(tree: sympy.Expr) -> str:
    """The canonical text of a tree; `parse` reads it back."""
    return _print(tree)[0]


def _print(tree: sympy.Expr) -> _Printed:
    if isinstance(tree, sympy.Rational):
        return _number(tree)
    if isinstance(tree, sympy.Symbol | sympy.NumberSymbol):
        return {sympy.E: "e"}.get(tree, str(tree)), _ATOM
    if isinstance(tree, sympy.Add):
        return _signed_sum(tree, text_of), _SUM
    if isinstance(tree, sympy.Mul | sympy.Pow):
        return _product(tree)
    if is_call(tree, "power"):
        return _power(tree.args[0], tree.args[1])
    if is_call(tree, "He"):
        order, argument = tree.args
        return (f"He{order}({text_of(argument)})" if order <= 12 else f"He({order}, {text_of(argument)})"), _ATOM
    if is_call(tree, "where"):
        condition, *choices = tree.args
        return f"where({', '.join([_condition(condition, text_of, _WORDS), *map(text_of, choices)])})", _ATOM
    if row_of(tree) is None:
        raise TypeError(f"not a canonical tree: {type(tree).__name__}")
    return f"{tree.func.__name__}({', '.join(map(text_of, tree.args))})", _ATOM


def _condition(tree: sympy.Expr, show: Callable[[sympy.Expr], str], words: Mapping[str, str]) -> str:
    """A condition as comparisons joined by and and or: p q is `p and q`, 1 - p q is `not p or not q`."""
    if is_call(tree, "step"):
        return _comparison(tree.args[0], ">=", "<=", show, words)
    if isinstance(tree, sympy.Mul):
        texts = [_condition(factor, show, words) for factor in tree.args]
        marks = [(words["("], words[")"]) if _is_alternative(factor) else ("", "") for factor in tree.args]
        bracketed = (opened + text + closed for text, (opened, closed) in zip(texts, marks, strict=True))
        return words["and"].join(sorted(bracketed, key=_order))
    opposite = negated(tree)
    if opposite is None:
        raise TypeError(f"not a canonical condition: {tree}")
    if is_call(opposite, "step"):
        return _comparison(opposite.args[0], "<", ">", show, words)
    parts = [_condition(1 - factor, show, words) for factor in opposite.args]
    return words["or"].join(sorted(parts, key=_order))


def _is_alternative(condition: sympy.Expr) -> bool:
    opposite = negated(condition)
    return opposite is not None and not is_call(opposite, "step")


def _comparison(
    tree: sympy.Expr, sign: str, mirrored: str, show: Callable[[sympy.Expr], str], words: Mapping[str, str]
) -> str:
    """`tree sign 0` with negative terms on the other side: one without variables on the right, else the longer."""
    terms = tree.args if isinstance(tree, sympy.Add) else (tree,)
    above = sympy.Add(*[term for term in terms if leading_sign(term) > 0])
    below = sympy.Add(*[-term for term in terms if leading_sign(term) < 0])
    sides = sorted((above, below), key=lambda side: (not side.free_symbols, _order(text_of(side))))
    return f"{show(sides[0])} {words[sign if sides[0] is above else mirrored]} {show(sides[1])}"


def _number(value: sympy.Rational) -> _Printed:
    text = str(value.p) if value.q == 1 else _decimal(value)
    if text is not None:
        return text, (_ATOM if value.p >= 0 else _NEGATIVE)
    return f"{value.p}/{value.q}", _PRODUCT


def _decimal(value: sympy.Rational) -> str | None:
    """The exact decimal form where it is short, such as 0.25 for 1/4."""
    places = max(sympy.multiplicity(2, value.q), sympy.multiplicity(5, value.q))
    if places > 20 or 10**places % value.q:
        return None
    digits = str(abs(value.p) * 10**places // value.q).rjust(places + 1, "0")
    return ("-" if value.p < 0 else "") + digits[:-places] + "." + digits[-places:]


def _order(text: str) -> tuple[int, str]:
    return len(text), text


def _signed_sum(tree: sympy.Add, show: Callable[[sympy.Expr], str]) -> str:
    """The terms joined by + or -: by length, constants last, a positive one in front if there is one."""
    order = {term: (not term.free_symbols, _order(text_of(term.as_coeff_Mul()[1]))) for term in tree.args}
    terms = sorted(tree.args, key=order.__getitem__)
    first = next((term for term in terms if not text_of(term).startswith("-")), terms[0])
    texts = [show(term) for term in terms if term is not first]
    rest = (f" - {text[1:].lstrip()}" if text.startswith("-") else f" + {text}" for text in texts)
    return show(first) + "".join(rest)


def _factors(tree: sympy.Expr) -> tuple[sympy.Rational, list[tuple[sympy.Expr, sympy.Expr, sympy.Expr]]]:
    """A product as its coefficient and its factors, each with its base and exponent."""
    coefficient, rest = tree.as_coeff_Mul()
    factors = []
    for factor in rest.args if isinstance(rest, sympy.Mul) else (rest,):
        raised = isinstance(factor, sympy.Pow) or is_call(factor, "power")
        factors.append((factor, *(factor.args if raised else (factor, sympy.Integer(1)))))
    return coefficient, factors


def _is_below(exponent: sympy.Expr) -> bool:
    return isinstance(exponent, sympy.Rational) and exponent < 0


def _product(tree: sympy.Expr) -> _Printed:
    coefficient, factors = _factors(tree)
    above, below = [], []
    for factor, base, exponent in factors:
        if _is_below(exponent):
            below.append((bool(factor.free_symbols), _power(base, -exponent)))
        else:
            above.append((bool(factor.free_symbols), _power(base, exponent)))
    numerator = [_bracketed(text, _NEGATIVE) for _, text in sorted(above, key=lambda f: (f[0], _order(f[1][0])))]
    denominator = [_bracketed(text, _POWER) for _, text in sorted(below, key=lambda f: (f[0], _order(f[1][0])))]
    negative = coefficient < 0
    head, tail = _coefficient(abs(coefficient), bool(numerator))
    text = ("-" if negative else "") + "*".join([*head, *numerator]) + "".join("/" + d for d in tail + denominator)
    if tail or denominator or len(numerator) != 1:
        return text, _PRODUCT
    return text, _NEGATIVE if negative else (_PRODUCT if head else above[0][1][1])


def _coefficient(coefficient: sympy.Rational, has_numerator: bool) -> tuple[list[str], list[str]]:
    """The coefficient as factors in front and as divisors behind."""
    if coefficient == 1:
        return ([] if has_numerator else ["1"]), []
    text, binding = _number(coefficient)
    if binding == _ATOM:
        return [text], []
    top = [] if coefficient.p == 1 and has_numerator else [str(coefficient.p)]
    return top, [str(coefficient.q)]


def _power(base: sympy.Expr, exponent: sympy.Expr) -> _Printed:
    if exponent == 1:
        return _print(base)
    if exponent == HALF:
        return f"sqrt({text_of(base)})", _ATOM
    return f"{_bracketed(_print(base), _ATOM)}**{_bracketed(_print(exponent), _ATOM)}", _POWER


def _bracketed(printed: _Printed, demanded: int) -> str:
    text, binding = printed
    return text if binding >= demanded else f"({text})"


def latex_of(tree: sympy.Expr) -> str:
    """LaTeX of a tree."""
    if isinstance(tree, sympy.Symbol):
        letter, index = (r"\xi", tree.name[2:]) if tree.name.startswith("xi") else ("h", tree.name[1:])
        return f"{letter}_{{{index}}}"
    if isinstance(tree, sympy.Rational | sympy.NumberSymbol):
        return _latex_number(tree)
    if isinstance(tree, sympy.Add):
        return _signed_sum(tree, latex_of)
    if isinstance(tree, sympy.Mul | sympy.Pow):
        return _latex_product(tree)
    if is_call(tree, "power"):
        return _latex_power(tree.args[0], tree.args[1])
    row = row_of(tree)
    if row is None:
        raise TypeError(f"not a canonical tree: {type(tree).__name__}")
    arguments = [latex_of(argument) for argument in tree.args]
    if is_call(tree, "where"):
        arguments[0] = r"\text{if } " + _condition(tree.args[0], latex_of, _LATEX_WORDS)
    return row.latex.format(*arguments, joined=", ".join(arguments))


def _latex_number(value: sympy.Expr) -> str:
    text = text_of(value)
    if "/" in text:
        return rf"{'-' if value.p < 0 else ''}\frac{{{abs(value.p)}}}{{{value.q}}}"
    return r"\pi" if value is sympy.pi else text


def _latex_product(tree: sympy.Expr) -> str:
    coefficient, factors = _factors(tree)
    factors.sort(key=lambda f: (bool(f[0].free_symbols), _order(text_of(f[0].as_coeff_Mul()[1]))))
    above = [(base, exponent) for _, base, exponent in factors if not _is_below(exponent)]
    below = [(base, -exponent) for _, base, exponent in factors if _is_below(exponent)]
    sign, size = ("-" if coefficient < 0 else ""), abs(coefficient)
    head = [_latex_number(size)] if size != 1 else []
    if below:
        top = head + [_latex_factor(f, alone=len(above) == 1) for f in above]
        bottom = " ".join(_latex_factor(f, alone=len(below) == 1) for f in below)
        return rf"{sign}\frac{{{' '.join(top) or '1'}}}{{{bottom}}}"
    alone = not head and not sign and len(above) == 1
    return sign + r" \, ".join([*head, *[_latex_factor(f, alone=alone) for f in above]])


def _latex_factor(factor: tuple[sympy.Expr, sympy.Expr], alone: bool) -> str:
    base, exponent = factor
    if exponent != 1:
        return _latex_power(base, exponent)
    text = latex_of(base)
    return rf"\left({text}\right)" if isinstance(base, sympy.Add) and not alone else text


def _latex_power(base: sympy.Expr, exponent: sympy.Expr) -> str:
    text = latex_of(base)
    if exponent == HALF:
        return rf"\sqrt{{{text}}}"
    simple = isinstance(base, sympy.Symbol) or (isinstance(base, sympy.Integer) and base >= 0)
    return (text if simple else rf"\left({text}\right)") + f"^{{{latex_of(exponent)}}}"
