"""Formulas in pages as MathML, which browsers set by themselves: from the LaTeX of a target, and from powers in words.

The LaTeX is our own (`featlab.targets.printing`): of its commands all are known here, and a test holds that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from markupsafe import Markup

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[0-9]+(?:\.[0-9]+)?|\s+|.", re.DOTALL)
_UPRIGHT = ("log", "sin", "cos", "tan", "tanh", "arctan", "sinh", "cosh", "min", "max", "exp")
_SIGNS = {
    r"\leq": "≤", r"\geq": "≥", r"\lfloor": "⌊", r"\rfloor": "⌋", r"\bmod": "mod", r"\{": "{", r"\}": "}", "-": "−",
    r"\left": "", r"\right": "", r"\,": "\N{INVISIBLE TIMES}", r"\_": "_", "*": "*",
}  # fmt: skip
_LETTERS = {r"\xi": "ξ", r"\pi": "π", r"\varsigma": "ς", "alpha": "α"}
_TEXTS = {r"\mathrm": "mi", r"\operatorname": "mi", r"\mathbf": "mn", r"\text": "mtext"}
# In words: a letter, He or alpha with an index or a power.
_INDEX, _EXPONENT = r"(?:_([A-Za-z0-9]+))?", r"(?:\^([0-9]+(?:\.[0-9]+)?))?"
_POWER = re.compile(rf"(?<![\w^])(He|alpha|[A-Za-z]){_INDEX}{_EXPONENT}(?![\w^])")


def formula(latex: str) -> Markup:
    """LaTeX of a target as a formula on a line of its own."""
    # Every text in it is escaped.
    return Markup(f'<math display="block">{_row(_TOKEN.findall(latex))}</math>')  # nosec B704


def powers(words: object) -> Markup:
    """Words, escaped, in which d^2, He_k and alpha_c are formulas; what is HTML already stays as it is."""
    if isinstance(words, Markup):
        return words
    words, pieces, end = str(words), list[str](), 0
    for found in _POWER.finditer(words):
        base, index, power = found.groups()
        if index is None and power is None:
            continue
        parts = [f"<mi>{_LETTERS.get(base, base)}</mi>"]
        parts += [f"<mi>{index}</mi>"] * bool(index) + [f"<mn>{power}</mn>"] * bool(power)
        tag = "msubsup" if index and power else "msub" if index else "msup"
        pieces += [escape(words[end : found.start()]), f"<math><{tag}>{''.join(parts)}</{tag}></math>"]
        end = found.end()
    return Markup("".join([*pieces, escape(words[end:])]))  # nosec B704


def _row(tokens: list[str]) -> str:
    return f"<mrow>{''.join(_elements(tokens))}</mrow>"


def _elements(tokens: list[str]) -> Iterator[str]:
    """The elements of a list of tokens, which is used up; an index or a power belongs to the element before it."""
    last = ""
    while tokens:
        token = tokens.pop(0)
        if token in "_^" and token:
            tag = "msub" if token == "_" else "msup"
            last = f"<{tag}>{last or '<mrow></mrow>'}{_row(_group(tokens))}</{tag}>"
            continue
        if last:
            yield last
        last = _element(token, tokens)
    yield last


def _element(token: str, tokens: list[str]) -> str:
    if token.isspace():
        return ""
    if token == "{":
        tokens.insert(0, token)
        return _row(_group(tokens))
    if token == r"\frac":
        return f"<mfrac>{_row(_group(tokens))}{_row(_group(tokens))}</mfrac>"
    if token == r"\sqrt":
        return f"<msqrt>{_row(_group(tokens))}</msqrt>"
    if token == r"\hat":
        _group(tokens)
        return "<mo>^</mo>"
    if token in _TEXTS:
        words = "".join("^" if part == r"\hat" else _SIGNS.get(part, part) for part in _group(tokens))
        return f"<{_TEXTS[token]}>{escape(words.replace('{}', ''))}</{_TEXTS[token]}>"
    if token == r"\begin":
        return _cases(tokens)
    if token[1:] in _UPRIGHT and token.startswith("\\"):
        return f"<mi>{token[1:]}</mi>"
    if token in _LETTERS:
        return f"<mi>{_LETTERS[token]}</mi>"
    if token[0].isdecimal():
        return f"<mn>{token}</mn>"
    if token.isalpha():
        return f"<mi>{token}</mi>"
    if token.startswith("\\") and token not in _SIGNS:
        raise ValueError(f"no MathML for {token}")
    sign = _SIGNS.get(token, token)
    return f"<mo>{escape(sign)}</mo>" if sign else ""


def _group(tokens: list[str]) -> list[str]:
    """What stands in the braces at the head of the tokens, or the first of them; it is taken off."""
    while tokens and tokens[0].isspace():
        tokens.pop(0)
    depth, inside = 0, []
    while tokens:
        token = tokens.pop(0)
        depth += (token == "{") - (token == "}")
        inside.append(token)
        if depth == 0:
            break
    return inside[1:-1] if inside and inside[0] == "{" else inside


def _cases(tokens: list[str]) -> str:
    """A table of values and conditions behind a brace, up to its end."""
    _group(tokens)
    rows: list[list[list[str]]] = [[[]]]
    depth = 0
    while tokens:
        token = tokens.pop(0)
        depth += (token == r"\begin") - (token == r"\end")
        if depth < 0:
            break
        if depth == 0 and token == r"\\":
            rows.append([[]])
        elif depth == 0 and token == "&":
            rows[-1].append([])
        else:
            rows[-1][-1].append(token)
    _group(tokens)
    lines = ("".join(f"<mtd>{_row(cell)}</mtd>" for cell in row) for row in rows)
    table = "".join(f"<mtr>{line}</mtr>" for line in lines)
    return f"<mrow><mo>{{</mo><mtable columnalign='left'>{table}</mtable></mrow>"
