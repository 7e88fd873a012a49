"""Pictures from data: each function takes arrays or an analysis and returns a matplotlib figure.

They compose; they never analyse, simulate or keep state: figures are made with matplotlib's object API, never pyplot.
"""

from __future__ import annotations

import importlib
from typing import Any

_PUBLIC = {
    "cost_figure": "costs",
    "energy_figure": "energies",
    "link_figure": "link",
    "staircase_figure": "staircase",
    "to_svg": "style",
    "trajectory_figure": "trajectories",
}

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(f"featlab.figures.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module 'featlab.figures' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
