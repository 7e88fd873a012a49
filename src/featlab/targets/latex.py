"""Canonical trees as LaTeX."""

from __future__ import annotations

import sympy

from featlab.targets.canonical import HALF
from featlab.targets.functions import row_of
from featlab.targets.printing import ordered_terms, signed_sum, text_of

_SUM, _PRODUCT, _ATOM = range(3)


def latex_of(tree: sympy.Expr) -> str:
    """LaTeX of a tree, terms and factors in the order of the text."""
    return _latex(tree)[0]


def _latex(tree: sympy.Expr) -> tuple[str, int]:
    if isinstance(tree, sympy.Symbol):
        letter, index = (r"\xi", tree.name[2:]) if tree.name.startswith("xi") else ("h", tree.name[1:])
        return f"{letter}_{{{index}}}", _ATOM
    if isinstance(tree, sympy.Rational | sympy.NumberSymbol):
        return _number(tree)
    if isinstance(tree, sympy.Add):
        return signed_sum([latex_of(term) for term in ordered_terms(tree)]), _SUM
    if isinstance(tree, sympy.Mul | sympy.Pow):
        return _product(tree), _PRODUCT
    row = row_of(tree)
    if row is None:
        raise TypeError(f"not a canonical tree: {type(tree).__name__}")
    if row.name == "power":
        return _power(tree.args[0], tree.args[1]), _ATOM
    arguments = [_latex(argument)[0] for argument in tree.args]
    return row.latex.format(*arguments, joined=", ".join(arguments)), _ATOM


def _number(value: sympy.Expr) -> tuple[str, int]:
    if isinstance(value, sympy.NumberSymbol):
        return (r"\pi" if value is sympy.pi else "e"), _ATOM
    text = text_of(value)
    if "/" in text:
        sign = "-" if value.p < 0 else ""
        return rf"{sign}\frac{{{abs(value.p)}}}{{{value.q}}}", _PRODUCT
    return text, _ATOM if value >= 0 else _PRODUCT


def _place(term: sympy.Expr) -> tuple[int, str]:
    text = text_of(term.as_coeff_Mul()[1])
    return len(text), text


def _product(tree: sympy.Expr) -> str:
    coefficient, rest = tree.as_coeff_Mul()
    above: list[tuple[sympy.Expr, sympy.Expr]] = []
    below: list[tuple[sympy.Expr, sympy.Expr]] = []
    for factor in sorted(
        rest.args if isinstance(rest, sympy.Mul) else (rest,), key=lambda f: (bool(f.free_symbols), _place(f))
    ):
        base, exponent = _split(factor)
        negative = isinstance(exponent, sympy.Rational) and exponent < 0
        (below if negative else above).append((base, -exponent if negative else exponent))
    sign, size = ("-" if coefficient < 0 else ""), abs(coefficient)
    if below:
        top = ([_number(size)[0]] if size != 1 else []) + [_factor(f, alone=len(above) == 1) for f in above]
        bottom = " ".join(_factor(f, alone=len(below) == 1) for f in below)
        return rf"{sign}\frac{{{' '.join(top) or '1'}}}{{{bottom}}}"
    head = [_number(size)[0]] if size != 1 else []
    alone = not head and not sign and len(above) == 1
    return sign + r" \, ".join([*head, *[_factor(f, alone=alone) for f in above]])


def _split(factor: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    row = row_of(factor)
    if row is not None and row.name == "power":
        return factor.args[0], factor.args[1]
    return (factor.base, factor.exp) if isinstance(factor, sympy.Pow) else (factor, sympy.Integer(1))


def _factor(factor: tuple[sympy.Expr, sympy.Expr], alone: bool) -> str:
    base, exponent = factor
    if exponent != 1:
        return _power(base, exponent)
    text, binding = _latex(base)
    return text if alone or binding > _SUM else rf"\left({text}\right)"


def _power(base: sympy.Expr, exponent: sympy.Expr) -> str:
    text = latex_of(base)
    if exponent == HALF:
        return rf"\sqrt{{{text}}}"
    simple = isinstance(base, sympy.Symbol) or (isinstance(base, sympy.Integer) and base >= 0)
    return (text if simple else rf"\left({text}\right)") + f"^{{{_latex(exponent)[0]}}}"
