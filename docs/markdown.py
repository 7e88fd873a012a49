"""Text with formulas made ready for Markdown, which would take <w, x> for a tag and the stars of w* for emphasis."""

from __future__ import annotations

import re
from collections.abc import Callable

# What is left alone: code between backticks or fences, formulas between dollars, paragraphs that are indented.
_VERBATIM = re.compile(r"(^```.*?^```$|`+[^`\n]+`+|\$\$.+?\$\$|\$[^$\n]+\$)", flags=re.MULTILINE | re.DOTALL)
_PRODUCT = re.compile(r"<(?=[\w*]+, [^<>\n]*>)")
_EMPHASIS = re.compile(r"((?<![\w*\\])(\*{1,2})(?=[^\s*])[^\n]*?(?<=[^\s*])\2(?![\w*]))")
_STAR = re.compile(r"(?<=[\w)}\]])\*")


def plain(text: str) -> str:
    """A docstring or a help text, in which nothing is markup but backticks: shown as it is."""
    return _outside_code(text, lambda part: part.replace("*", "\\*").replace("<", "&lt;"))


def page(text: str) -> str:
    """A page, in which emphasis is markup: products and the stars of symbols are shown as they are."""
    return _outside_code(text, lambda part: _PRODUCT.sub("&lt;", _stars(part)))


def _stars(text: str) -> str:
    """Escape the stars that follow a symbol, those that end an emphasis apart."""
    pieces = _EMPHASIS.split(text)  # text, emphasis, its stars, text, ..
    texts, emphasised = pieces[::3], [*pieces[1::3], ""]
    return "".join(_STAR.sub(r"\\*", text) + kept for text, kept in zip(texts, emphasised, strict=True))


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    parts = _VERBATIM.split(text)
    return "".join(part if place % 2 else _paragraphs(part, change) for place, part in enumerate(parts))


def _paragraphs(text: str, change: Callable[[str], str]) -> str:
    paragraphs = text.split("\n\n")
    return "\n\n".join(one if one.startswith("    ") or ">>>" in one else change(one) for one in paragraphs)
