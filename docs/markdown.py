"""Plain text with formulas, as help texts and docstrings are, made ready for Markdown."""

from __future__ import annotations

import re

_CODE = re.compile(r"(`+[^`]+`+)")


def plain(text: str) -> str:
    """The same text: <w, x> would be a tag, and stars would make what stands between them slanted.

    Code, between backticks, in indented paragraphs and in examples, is left alone.
    """
    return "\n\n".join(map(_paragraph, text.split("\n\n")))


def _paragraph(text: str) -> str:
    if text.startswith("    ") or text.lstrip().startswith(">>>"):
        return text
    return "".join(part if place % 2 else _escaped(part) for place, part in enumerate(_CODE.split(text)))


def _escaped(text: str) -> str:
    return text.replace("*", "\\*").replace("<", "&lt;")
