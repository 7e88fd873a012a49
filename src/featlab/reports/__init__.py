"""The explanation of a target: the analysis in words, in a terminal, in a notebook, as JSON and as a page."""

from __future__ import annotations

import importlib
from typing import Any

_PUBLIC = {"Explanation": "explanation", "explain": "explanation"}

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(f"featlab.reports.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module 'featlab.reports' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
