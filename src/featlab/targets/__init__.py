"""Targets: what is to be learned. Safe text to target, its link, rank and kinks, and a catalogue from the literature.

The public names are loaded when they are first asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

_PUBLIC = {
    "Isotropic": "inputs",
    "Spiked": "inputs",
    "Kink": "kinks",
    "Target": "model",
    "target": "build",
    "catalogue": "literature",
    "CatalogueEntry": "literature",
}

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(f"featlab.targets.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module 'featlab.targets' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
