"""What happens at a finite dimension: designs, students, learning algorithms, run exactly in law.

The public names are loaded when they are first asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

_PUBLIC = {"simulate": "door", "DoesNotFit": "designs.choose"}

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(f"featlab.simulate.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module 'featlab.simulate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
