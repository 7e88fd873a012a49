"""The sample cost of every algorithm, as a power of the dimension."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import log10

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from featlab.analysis.sample_cost import SampleCost, Status
from featlab.figures.style import ACCENT, INK, MUTED, TEXT_SIZE, add_legend, dress, new_figure

_BOUNDS = ("csq_bound", "sq_bound", "kernels_bound")
_ORDER = (
    "sq_bound",
    "csq_bound",
    "kernels_bound",
    "amp",
    "batch_reuse",
    "one_pass_sgd",
    "one_giant_step",
    "normalised_flow",
    "one_gradient_step",
    "kernels_linear",
    "random_features_99",
    "random_features",
)
_FACES = {
    "bound": MUTED,
    Status.THEOREM: ACCENT,
    Status.SUFFICIENT: "#6399d6",
    Status.CONJECTURE: "#8fb5e0",
    Status.HEURISTIC: "#c9d9ee",
}


def cost_figure(costs: Mapping[str, SampleCost], dim: int | None = None) -> Figure:
    """A bar for each algorithm: the exponent of d. With a dimension, a second axis reads as a number of samples.

    Args:
        costs: by algorithm, as `Analysis.sample_cost` has them.
        dim: d, for the second axis.

    Examples:
        >>> import featlab
        >>> featlab.figures.cost_figure(featlab.analyse(featlab.target("abs(h1)")).sample_cost, dim=1000)
        <Figure size 720x360 with 1 Axes>
    """
    shown = [costs[name] for name in reversed(_ORDER) if name in costs]
    longest = _longest(shown)
    figure = new_figure(7.2, 3.6)
    axes = dress(figure.add_subplot(), x="samples n, as a power of d", grid="x")
    for place, cost in enumerate(shown):
        _bar(axes, place, cost, longest)
    axes.set_yticks(range(len(shown)), [_name(cost) for cost in shown])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlim(0, longest * 1.22)
    axes.set_ylim(-0.6, len(shown) - 0.4)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if dim is not None:
        _second_axis(axes, dim)
    _legend(figure, shown)
    return figure


def _bar(axes: Axes, place: int, cost: SampleCost, longest: float) -> None:
    if cost.exponent is None:
        words = _NEVER.get(cost.name, "no power of d") if cost.known else "undecided"
        axes.text(0.02 * longest, place, words, va="center", color=INK, fontsize=TEXT_SIZE - 0.5, style="italic")
        return
    length = min(cost.exponent, longest)
    axes.barh(place, length, height=0.62, color=_FACES[_face(cost)])
    words = cost.text if cost.exponent <= longest else f"... {cost.text}"
    axes.text(length + 0.015 * longest, place, words, va="center", color=INK, fontsize=TEXT_SIZE)


def _longest(shown: list[SampleCost]) -> float:
    """The longest bar drawn in full: kernels may need a power so large that it would hide all others."""
    others = [cost.exponent for cost in shown if cost.exponent is not None and not cost.name.startswith("random")]
    every = [cost.exponent for cost in shown if cost.exponent is not None]
    return min(max(every, default=1.0), 2 * max(others, default=1.0) + 2)


_NEVER = {
    "amp": "not from n = O(d)",
    "random_features": "never exactly: not a polynomial",
    "kernels_linear": "never exactly: not a polynomial",
    "one_gradient_step": "a step finds S beta, not beta",
}


def _face(cost: SampleCost) -> str:
    return "bound" if cost.name in _BOUNDS else cost.status


def _name(cost: SampleCost) -> str:
    return cost.label.replace("any ", "").replace(" (lower bound)", "").replace(" method", "")


def _second_axis(axes: Axes, dim: int) -> None:
    """log10 of d^k at the top: the unknown constant (and the log d) are left out."""
    scale = log10(dim)
    top = axes.secondary_xaxis("top", functions=(partial(np.multiply, scale), partial(np.multiply, 1 / scale)))
    top.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    top.xaxis.set_major_formatter(lambda decade, _: f"1e{decade:g}")
    top.set_xlabel(f"samples at d = {dim:,}, without the unknown constant", color=INK, fontsize=TEXT_SIZE)
    top.tick_params(colors=INK, labelsize=TEXT_SIZE - 1)
    top.spines["top"].set_color(INK)


def _legend(figure: Figure, shown: list[SampleCost]) -> None:
    names = {"bound": "lower bound (theorem)"} | {status: f"algorithm ({status})" for status in Status}
    faces = dict.fromkeys(_face(cost) for cost in shown if cost.exponent is not None)
    patches = [Patch(color=_FACES[face], label=names[face]) for face in sorted(faces, key=list(names).index)]
    add_legend(figure, handles=patches, ncols=len(patches))
