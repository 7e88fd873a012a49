"""Formulas in pages as MathML, which browsers set by themselves: from the LaTeX of a target, and from powers in words.

Only the LaTeX that `featlab.targets` writes is known: fractions, roots, brackets, indices, powers, cases, names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from markupsafe import Markup

_NAMESPACE = "http://www.w3.org/1998/Math/MathML"
_TOKEN = re.compile(
    r"\\(?:mathrm|operatorname|text|mathbf)\{(?:\\hat\{\}|[^{}])*\}|\\(?:begin|end)\{cases\}|\\[a-zA-Z]+|\\.|\d+(?:\.\d+)?|\S"
)
_WORD = re.compile(r"\\(mathrm|operatorname|text|mathbf)\{(.*)\}")
_LETTERS = {r"\xi": "ξ", r"\pi": "π", r"\varsigma": "ς", "alpha": "α"}
_SIGNS = {
    r"\leq": "≤",
    r"\geq": "≥",
    r"\lfloor": "⌊",
    r"\rfloor": "⌋",
    r"\bmod": "mod",
    r"\{": "{",
    r"\}": "}",
    r"\,": "\u2062",  # the invisible sign of a product
    "-": "\u2212",
}
# In words: a letter, one by name, or He, with an index or a power. Names stay names, as in the words around them.
_NAMES = "alpha|epsilon|gamma|kappa|lambda|theta"
_INDEX = r"(?:_([A-Za-z0-9]+))?"
_EXPONENT = rf"(?:\^(-?[0-9]+(?:\.[0-9]+)?|-?(?:{_NAMES}|[A-Za-z])[0-9]?|\((?:[^()]|\([^()]*\))*\)))?"
_POWER = re.compile(rf"(?<![\w^])(He|{_NAMES}|[A-Za-z]){_INDEX}{_EXPONENT}(?![\w^])")
# What a browser may not part from a formula by the end of a line: brackets before it, brackets and marks after it.
_BEFORE, _AFTER = re.compile(r"[\w(\[|]*[(\[|]$"), re.compile(r"[)\]|.,;:]+")
_FUNCTIONS = ("log", "min", "max", "sin", "cos", "tanh", "arctan", "sinh", "cosh")


def formula(latex: str) -> Markup:
    """The LaTeX of a target as a formula on a line of its own."""
    # Every text in it is escaped.
    return Markup(mathml_of(latex).replace("<math ", '<math display="block" ', 1))  # nosec B704


def mathml_of(latex: str) -> str:
    """The formula as an element `math`.

    Raises:
        ValueError: for LaTeX that no link has.
    """
    tokens = _Tokens(latex)
    row = _row(tokens, ())
    return f'<math xmlns="{_NAMESPACE}">{row}</math>'


def powers(words: object) -> Markup:
    """Words, escaped, in which d^2, d^(1 - 1/k), He_k and alpha_c are formulas; what is HTML already stays as it is."""
    if isinstance(words, Markup):
        return words
    words, pieces, end = str(words), list[str](), 0
    for found in _POWER.finditer(words):
        base, index, power = found.groups()
        if index is None and power is None:
            continue
        parts = [f"<mi>{_LETTERS.get(base, base)}</mi>"]
        parts += ([f"<mi>{index}</mi>"] if index else []) + ([_power(power)] if power else [])
        tag = "msubsup" if index and power else "msub" if index else "msup"
        before, after = _BEFORE.search(words, end, found.start()), _AFTER.match(words, found.end())
        start = before.start() if before else found.start()
        pieces.append(escape(words[end:start], quote=False))
        end = after.end() if after else found.end()
        held = [escape(part, quote=False) for part in (words[start : found.start()], words[found.end() : end])]
        whole = f"<math><{tag}>{''.join(parts)}</{tag}></math>".join(held)
        pieces.append(f'<span class="whole">{whole}</span>' if any(held) else whole)
    return Markup("".join([*pieces, escape(words[end:], quote=False)]))  # nosec B704


def _power(text: str) -> str:
    """An exponent: a number, a name, or words in parentheses, which go."""
    if text.startswith("("):
        return f"<mtext>{escape(text[1:-1], quote=False).replace('-', _SIGNS['-'])}</mtext>"
    sign, name = f"<mo>{_SIGNS['-']}</mo>" * text.startswith("-"), text.removeprefix("-")
    element = f"<mn>{name}</mn>" if name[0].isdigit() else f"<mi>{_LETTERS.get(name, name)}</mi>"
    return f"<mrow>{sign}{element}</mrow>" if sign else element


class _Tokens:
    """The tokens one after the other; "" at the end."""

    def __init__(self, latex: str) -> None:
        self._left: Iterator[str] = (found[0] for found in _TOKEN.finditer(latex))
        self.next = next(self._left, "")

    def take(self, expected: str = "") -> str:
        piece, self.next = self.next, next(self._left, "")
        if not piece or (expected and piece != expected):
            raise ValueError(f"got {piece!r} in LaTeX, expected {expected or 'more'}")
        return piece


def _row(tokens: _Tokens, ends: tuple[str, ...]) -> str:
    """Everything up to one of the ends, which is left."""
    parts: list[str] = []
    while tokens.next and tokens.next not in ends:
        piece = tokens.take()
        if piece in ("_", "^"):
            base, element = (parts.pop() if parts else "<mrow></mrow>"), "msub" if piece == "_" else "msup"
            parts.append(f"<{element}>{base}{_argument(tokens)}</{element}>")
        else:
            parts.append(_element(piece, tokens))
    return f"<mrow>{''.join(parts)}</mrow>"


def _argument(tokens: _Tokens) -> str:
    piece = tokens.take()
    return _group(tokens) if piece == "{" else _element(piece, tokens)


def _group(tokens: _Tokens) -> str:
    row = _row(tokens, ("}",))
    tokens.take("}")
    return row


def _element(piece: str, tokens: _Tokens) -> str:
    word = _WORD.fullmatch(piece)
    if word is not None:
        text = escape(word[2].replace(r"\_", "_").replace(r"\hat{}", "^"), quote=False)
        if word[1] == "text":
            return f"<mtext>{text.replace(' ', chr(0xA0))}</mtext>"
        variant = ' mathvariant="bold"' if word[1] == "mathbf" else ' mathvariant="normal"'
        return f"<mi{variant}>{text}</mi>"
    if piece == "{":
        return _group(tokens)
    if piece == r"\frac":
        return f"<mfrac>{_argument(tokens)}{_argument(tokens)}</mfrac>"
    if piece == r"\sqrt":
        return f"<msqrt>{_argument(tokens)}</msqrt>"
    if piece == r"\left":
        return _fenced(tokens)
    if piece == r"\begin{cases}":
        return _cases(tokens)
    return _atom(piece)


def _fenced(tokens: _Tokens) -> str:
    opened = tokens.take()
    inner = _row(tokens, (r"\right",))
    tokens.take(r"\right")
    return f"<mrow>{_sign(opened)}{inner}{_sign(tokens.take())}</mrow>"


def _cases(tokens: _Tokens) -> str:
    rows: list[list[str]] = [[]]
    while True:
        rows[-1].append(f"<mtd>{_row(tokens, ('&', chr(92) * 2, chr(92) + 'end{cases}'))}</mtd>")
        end = tokens.take()
        if end == r"\end{cases}":
            break
        if end != "&":
            rows.append([])
    table = "".join(f"<mtr>{''.join(cells)}</mtr>" for cells in rows)
    return f'<mrow><mo>{{</mo><mtable columnalign="left left">{table}</mtable></mrow>'


def _atom(piece: str) -> str:
    if piece[0].isdigit():
        return f"<mn>{piece}</mn>"
    if piece in _LETTERS or piece.isalpha():
        return f"<mi>{_LETTERS.get(piece, piece)}</mi>"
    if piece[:1] == "\\" and piece[1:] in _FUNCTIONS:
        return f"<mi>{piece[1:]}</mi>"
    return _sign(piece)


def _sign(piece: str) -> str:
    if piece.startswith("\\") and piece not in _SIGNS:
        raise ValueError(f"got {piece!r} in LaTeX, expected what links are written in")
    return f"<mo>{escape(_SIGNS.get(piece, piece), quote=False)}</mo>"
