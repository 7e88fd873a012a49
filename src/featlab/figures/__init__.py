"""Pictures from data: each function takes arrays or an analysis and returns a matplotlib figure.

They compose; they never analyse, simulate or keep state: figures are made with matplotlib's object API, never pyplot.
"""

from __future__ import annotations

from featlab.lazy import public_names

_PUBLIC = {
    "MeasuredExponent": "complexity",
    "comparison_figure": "comparison",
    "complexity_figure": "complexity",
    "cost_figure": "costs",
    "energy_figure": "energies",
    "link_figure": "link",
    "prediction_figure": "comparison",
    "staircase_figure": "staircase",
    "to_svg": "style",
    "trajectory_figure": "trajectories",
}

__all__ = list(_PUBLIC)
__getattr__, __dir__ = public_names(__name__, _PUBLIC)
