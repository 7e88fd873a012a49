"""Hermite energies: the share of the variance that each degree carries."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from featlab.analysis.energies import Energies
from featlab.figures.style import ACCENT, EASY, INK, MUTED, TEXT_SIZE, add_legend, dress, new_figure
from featlab.gaussian.hermite import Floats

_MOST_DEGREES = 16


def energy_figure(energies: Energies, information_exponent: int | None) -> Figure:
    """Bars of the share of each degree, the cumulative share as steps; the first degree that counts is marked.

    Examples:
        >>> import featlab
        >>> analysis = featlab.analyse(featlab.target("abs(h1)"))
        >>> featlab.figures.energy_figure(analysis.energies, analysis.information_exponent)
        <Figure size 560x300 with 1 Axes>
    """
    share = energies.per_degree[1:] / energies.variance
    shown = min(_MOST_DEGREES, len(share))
    degrees = np.arange(1, shown + 1)
    figure = new_figure(5.6, 3.0)
    title = _heading(information_exponent, share)
    axes = dress(figure.add_subplot(), title=title, x="degree", y="share of the variance")
    total = np.cumsum(share)[:shown]
    edges = np.append(degrees - 0.5, shown + 0.5)
    axes.stairs(total, edges, color=MUTED, linewidth=1.4, baseline=None, label="all degrees up to this one")
    colours = [EASY if degree == information_exponent else ACCENT for degree in degrees]
    axes.bar(degrees, share[:shown], width=0.62, color=colours)
    axes.set_xlim(0.4, shown + 0.6)
    axes.set_ylim(0, 1.12)
    axes.set_xticks(degrees)
    beyond = 1 - total[-1]
    if beyond > 5e-4:
        text = f"{beyond:.1%} beyond degree {shown}"
        axes.text(shown + 0.5, 1.05, text, ha="right", color=INK, fontsize=TEXT_SIZE - 0.5)
    add_legend(axes)
    return figure


def _heading(exponent: int | None, share: Floats) -> str:
    """The lowest degree and its size: it counts however small it is."""
    if exponent is None or exponent > len(share):
        return ""
    size = float(share[exponent - 1])
    amount = f"{size:.1%}" if size >= 1e-3 else f"{size:.0e}"
    return f"lowest degree {exponent}, with {amount} of the variance"
