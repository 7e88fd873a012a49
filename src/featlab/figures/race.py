"""A race: what each learner finds from n samples, theory as lines and simulation as points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from featlab.figures.panels import mark, measured_points, panels, theory_line
from featlab.figures.style import add_legend, headline
from featlab.gaussian.hermite import Floats

SHARE, RISK = "share of the directions found", "risk over the variance of the label"


@dataclass(frozen=True)
class RacedCurve:
    """One learner: mean and standard error at ratios n/d, and theory at its own; None where there is none.

    Attributes:
        label: in the legend.
        panel: what is measured; curves of one panel share axes.
        measured: ratios, means and standard errors.
        theory: ratios and values.
    """

    label: str
    panel: str
    measured: tuple[Floats, Floats, Floats] | None
    theory: tuple[Floats, Floats] | None


def race_figure(curves: Sequence[RacedCurve], title: str) -> Figure:
    """A panel for each quantity that somebody has, over n/d, with its legend below.

    Args:
        curves: of all learners.
        title: of the figure.

    Examples:
        >>> import numpy as np
        >>> import featlab
        >>> theory = np.array([1.0, 2.0]), np.array([0.2, 0.4])
        >>> curve = featlab.figures.RacedCurve("SIR", "found", None, theory)
        >>> featlab.figures.race_figure([curve], "theory alone")
        <Figure size 640x560 with 1 Axes>
    """
    names = [name for name in (SHARE, RISK) if any(curve.panel == name for curve in curves)] or [SHARE]
    figure, axes = panels(names, x="samples over dimension, n/d")
    figure.set_size_inches(6.4 * len(names), 5.6)
    for name, panel in zip(names, axes, strict=True):
        shown = [curve for curve in curves if curve.panel == name]
        keys: dict[str, list[Any]] = {}  # of each learner its line and its points, one over the other
        for series, curve in enumerate(shown):
            if curve.theory is not None:
                theory_line(panel, *curve.theory, series=series)
                keys.setdefault(curve.label, []).append(panel.lines[-1])
            if curve.measured is not None:
                measured_points(panel, *curve.measured, series=series)
                keys.setdefault(curve.label, []).append(panel.containers[-1])
        panel.set_xscale("log", base=2)
        panel.xaxis.set_major_locator(FixedLocator(_ticks(curves)))
        panel.xaxis.set_minor_locator(NullLocator())
        panel.xaxis.set_major_formatter(lambda value, _: f"{value:.3g}")
        if name == SHARE:
            panel.set_ylim(-0.03, 1.05)
            mark(panel, 0.5, "", along="y")
        elif shown:
            panel.set_ylim(0.0, max(1.05, *(_largest(curve) for curve in shown)))
        if keys:
            add_legend(panel, handles=[tuple(key) for key in keys.values()], labels=[*keys], handlelength=3)
    headline(figure, title)
    return figure


def _ticks(curves: Sequence[RacedCurve]) -> list[float]:
    """Where somebody was measured; powers of two where that is at most one place."""
    measured = {float(x) for curve in curves if curve.measured is not None for x in curve.measured[0]}
    if len(measured) > 1:
        return sorted(measured)
    predicted = [float(x) for curve in curves if curve.theory is not None for x in curve.theory[0]]
    if not predicted:
        return sorted(measured)
    low, high = np.log2(min(predicted)), np.log2(max(predicted))
    return (2.0 ** np.arange(np.floor(low), np.ceil(high) + 1)).tolist()


def _largest(curve: RacedCurve) -> float:
    return (
        0.0
        if curve.measured is None
        else 1.05 * float(np.nanmax(curve.measured[1] + 2 * curve.measured[2], initial=0.0))
    )
