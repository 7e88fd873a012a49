"""Docstrings are plain text with formulas: what Markdown would take for markup is shown as it is.

An extension of griffe, named in mkdocs.yml: without it <w, x> would be a tag, and the stars of w* and W* would make
what stands between them slanted. Code, between backticks, in indented paragraphs and in examples, is left alone.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_CODE = re.compile(r"(`+[^`]+`+)")


def plain(text: str) -> str:
    """The same text, with `*`, `<` and `|` in words escaped."""
    return "\n\n".join(map(_paragraph, text.split("\n\n")))


def _paragraph(text: str) -> str:
    if text.startswith("    ") or text.lstrip().startswith(">>>"):
        return text
    return "".join(part if place % 2 else _escaped(part) for place, part in enumerate(_CODE.split(text)))


def _escaped(text: str) -> str:
    return text.replace("*", "\\*").replace("<", "&lt;")


class PlainDocstrings(Extension):
    """Escapes every docstring once, when its object is collected."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = plain(obj.docstring.value)
