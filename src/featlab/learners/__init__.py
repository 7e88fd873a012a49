"""How it is to be learned: students and algorithms as frozen, validated descriptions without dynamics.

The public names are loaded when they are first asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

_PUBLIC = {
    "TwoLayer": "students",
    "StepLaw": "steps",
    "OnlineSgd": "online",
    "Extragradient": "online",
    "GiantSteps": "giant",
    "ReusedBatch": "reuse",
    "Readout": "readout",
    "RandomFeatures": "readout",
}

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(f"featlab.learners.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module 'featlab.learners' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
