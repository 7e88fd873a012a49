"""How results show themselves in a notebook and as a picture, although those who draw stand to their right.

A class names who draws it, as `module:function`; nothing is imported until it is looked at.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Shown:
    """Something with a picture, `.plot()`, and a page in notebooks."""

    _picture: ClassVar[str]
    _page: ClassVar[str]

    def plot(self) -> Figure:
        """The picture, a matplotlib figure: `.savefig("name.pdf")` writes it."""
        return _found(self._picture)(self)

    def _repr_html_(self) -> str:
        return _found(self._page)(self)


def _found(reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


def written(reference: str, thing: object) -> str:
    """What the function `module:name` writes of a thing."""
    return str(_found(reference)(thing))
