"""Docstrings are plain text with formulas: an extension of griffe, named in mkdocs.yml, that keeps them so."""

from __future__ import annotations

from typing import Any

from griffe import Extension, Object

from docs.markdown import plain


class PlainDocstrings(Extension):
    """Escapes every docstring once, when its object is collected."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = plain(obj.docstring.value)
