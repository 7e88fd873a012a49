"""The first gate of the language: characters and brackets.

What passes holds only numbers, names, operators, words, commas and brackets that match, so Python's own parser can be
trusted with it. A range 1..10 is handed on as 1//10, of the same length; a typed // is refused.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from featlab.errors import InvalidTarget

MAX_LENGTH = 2000
MAX_DEPTH = 40
_MAX_TOKENS = 900

_TOKEN = re.compile(
    r"(?P<space>[ \t]+)|(?P<range>\d+[ \t]*\.\.[ \t]*\d+)|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<word>(?:and|or|not|for|in|if)(?![A-Za-z0-9_]))|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<comparison><=|>=|==|!=|<|>)|(?P<operator>\*\*|/(?!/)|[-+*])|(?P<open>[(\[])|(?P<close>[)\]])|(?P<comma>,)",
    re.ASCII,
)
_OPERANDS = ("number", "range", "name", "close")
_FOREIGN = {
    "^": ("'^' is not a power here", "write ** for powers, as in h1**2"),
    ".": ("attribute access is not part of the language", "use numbers, h1, h2, .., + - * / ** and the functions"),
    "/": ("'//' is not part of the language", "write floor(a/b)"),
    "%": ("'%' is not part of the language", "write mod(a, b)"),
    **dict.fromkeys("'\"", ("strings are not part of the language", None)),
    **dict.fromkeys("{}", ("curly brackets are not part of the language", "use round brackets")),
    "=": ("a target is an expression, not an equation", "type the right-hand side only"),
    "|": ("'|' is not part of the language", "write abs(...) for absolute values, or `or` between comparisons"),
    "&": ("'&' is not part of the language", "write `and` between comparisons"),
    **dict.fromkeys("~!", ("this sign is not part of the language", "write `not` before a comparison")),
    **dict.fromkeys("\n\r", ("a target is one line", None)),
    "#": ("comments are not part of the language", None),
    "\0": ("the text holds a NUL character", None),
}


class Token(NamedTuple):
    """A symbol of the text, where it begins (1-based), and its kind: a group of `_TOKEN`."""

    kind: str
    text: str
    column: int


def refusal(text: str, column: int | None, reason: str, suggestion: str | None = None) -> InvalidTarget:
    """The refusal of a text, at a column within it."""
    if column is not None:
        column = min(max(column, 1), len(text) + 1)
    return InvalidTarget(reason, text=text, column=column, suggestion=suggestion)


def tokens_of(text: str) -> list[Token]:
    """The symbols of a text, after a look at its characters, brackets and neighbours."""
    if len(text) > 5 * MAX_LENGTH or len(text) - text.count(" ") > MAX_LENGTH:
        reason = f"the text has {len(text)} characters, the limit is {MAX_LENGTH}"
        raise refusal(text[:100], MAX_LENGTH + 1, reason, "give a Python function with its rank instead")
    found: list[Token] = []
    opened: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _foreign(text, position)
        token = Token(str(match.lastgroup), match.group(), position + 1)
        position = match.end()
        if token.kind == "space":
            continue
        if len(found) == _MAX_TOKENS:
            raise refusal(text, token.column, f"the expression has more than {_MAX_TOKENS} symbols")
        _check_neighbours(text, found[-1] if found else None, token)
        _check_brackets(text, opened, token)
        found.append(token)
    if opened:
        closing = ")" if opened[-1].text == "(" else "]"
        raise refusal(text, opened[-1].column, "this bracket is never closed", f"add a {closing!r}")
    if not found:
        raise refusal(text, 1, "the text is empty", 'type a target such as "He3(h1)"')
    return found


def _foreign(text: str, position: int) -> InvalidTarget:
    character = text[position]
    if ".." in text[max(0, position - 1) : position + 2]:  # the first point may have been read as that of 1.
        advice = "an end that is an index is a condition: sum(h[j] for j in 1..4 if j <= i)"
        return refusal(text, position + 1, "a range has whole numbers at both ends", advice)
    if character in _FOREIGN:
        reason, suggestion = _FOREIGN[character]
    elif ord(character) > 127:
        reason, suggestion = f"{character!r} is not an ASCII character", "type plain letters, digits and + - * /"
    else:
        reason, suggestion = f"{character!r} is not part of the language", None
    return refusal(text, position + 1, reason, suggestion)


def _check_brackets(text: str, opened: list[Token], token: Token) -> None:
    """Keep the list of brackets that are open; a comma stands within one."""
    if token.kind == "open":
        opened.append(token)
        if len(opened) > MAX_DEPTH:
            raise refusal(text, token.column, f"brackets are nested more than {MAX_DEPTH} deep")
    elif token.kind == "close":
        if not opened or opened[-1].text + token.text not in ("()", "[]"):
            raise refusal(text, token.column, "this bracket closes nothing", "remove it or open one before")
        opened.pop()
    elif token.kind == "comma" and not opened:
        raise refusal(text, token.column, "a comma outside a function call", "a target is one expression")


def _check_neighbours(text: str, before: Token | None, token: Token) -> None:
    """Refuse what Python would read in a way of its own: missing operators, calls of calls, stray ranges."""
    if token.text == "[" and (before is None or before.text not in ("h", "xi")):
        advice = "use round brackets; h[i] is for sums such as sum(h[i]**2 for i in 1..3)"
        raise refusal(text, token.column, "square brackets are for h[i] and xi[i] only", advice)
    if token.kind == "range" and (before is None or before.text != "in"):
        advice = "write it as in sum(h[i]**2 for i in 1..3)"
        raise refusal(text, token.column, "a range is for the index of a sum or product only", advice)
    if before is None or before.kind not in _OPERANDS:
        return
    if token.kind == "word" and before.kind != "close" and before.column + len(before.text) == token.column:
        raise refusal(text, token.column, f"a blank is missing before {token.text!r}")  # Python would warn
    if token.kind not in ("number", "range", "name", "open") or (token.kind == "open" and before.kind == "name"):
        return
    if before.kind == "close" and token.kind == "open":
        reason = "the result of a call or bracket cannot be called"
        raise refusal(text, token.column, reason, "write * to multiply")
    if before.kind == "number" and token.text in ("j", "J"):
        raise refusal(text, token.column, "complex numbers are not part of the language")
    if token.text == "else":
        raise refusal(text, token.column, "'if' and 'else' do not choose here", "write where(condition, a, b)")
    advice = "write * for products, as in 2*h1"
    raise refusal(text, token.column, f"an operator is missing before {token.text!r}", advice)


def with_ranges(text: str, tokens: list[Token]) -> str:
    """The text with each .. of a range as //, which Python can read; every column stays."""
    for token in tokens:
        if token.kind == "range":
            at = token.column - 1
            text = text[:at] + token.text.replace("..", "//") + text[at + len(token.text) :]
    return text


def spaced(tokens: list[Token]) -> str:
    """The symbols as one text: blanks around + - and comparisons, none around * / **, none inside brackets."""
    parts: list[str] = []
    before: Token | None = None
    for token in tokens:
        ends = before is not None and before.kind in _OPERANDS
        if token.kind == "comparison" or (token.text in ("+", "-") and ends):
            parts.append(f" {token.text} ")
        elif token.kind == "word":
            parts.append(f" {token.text} " if ends else f"{token.text} ")
        elif token.kind == "comma":
            parts.append(", ")
        else:
            parts.append(re.sub(r"[ \t]", "", token.text))
        before = token
    return "".join(parts)
