"""A map of powers of d over how strong a spike is and how well it is aligned with the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from featlab.errors import InvalidParameter
from featlab.figures.style import HARD, INK, SEQUENTIAL, TEXT_SIZE, add_legend, dress, new_figure
from featlab.gaussian.hermite import Floats

_LEVELS = 8


@dataclass(frozen=True)
class MeasuredExponent:
    """A power of d that was measured at (g1, g2).

    Attributes:
        overlap_exponent, strength_exponent: g1 and g2.
        value: the power of d.
    """

    overlap_exponent: float
    strength_exponent: float
    value: float


def complexity_figure(
    overlap_exponents: Floats,
    strength_exponents: Floats,
    exponents: Floats,
    *,
    title: str = "",
    measured: Sequence[MeasuredExponent] = (),
) -> Figure:
    """The exponents (rows g2, columns g1) in colour with contours, the lines g2 = g1 and g2 = 2 g1 between which the
    regimes change, and what was measured as points of the same colours.

    Args:
        overlap_exponents, strength_exponents: g1 and g2.
        exponents: (g2, g1), powers of d.
        title: of the figure.
        measured: points.

    Examples:
        >>> import numpy as np
        >>> import featlab
        >>> g1, g2 = np.array([0.0, 0.25, 0.5]), np.array([0.0, 0.5, 1.0])
        >>> featlab.figures.complexity_figure(g1, g2, featlab.theory.complexity_map(3, g1, g2).samples)
        <Figure size 560x420 with 2 Axes>
    """
    figure = new_figure(5.6, 4.2)
    axes = figure.add_subplot()
    colours = draw_complexity(axes, overlap_exponents, strength_exponents, exponents, title=title, measured=measured)
    bar = figure.colorbar(colours, ax=axes)
    bar.set_label("power of d", color=INK, fontsize=TEXT_SIZE)
    bar.ax.tick_params(colors=INK, labelsize=TEXT_SIZE)
    add_legend(figure, ncols=3)  # on the map it would be unreadable somewhere
    return figure


def draw_complexity(
    axes: Axes,
    overlap_exponents: Floats,
    strength_exponents: Floats,
    exponents: Floats,
    *,
    title: str = "",
    measured: Sequence[MeasuredExponent] = (),
    limits: tuple[float, float] | None = None,
) -> QuadMesh:
    """The map of `complexity_figure` on given axes, without a colour bar; `limits` are those of the colours, if several
    maps share them. Returns what a colour bar is made from."""
    g1, g2, values = (np.asarray(grid, dtype=np.float64) for grid in (overlap_exponents, strength_exponents, exponents))
    if values.shape != (g2.size, g1.size):
        expected = f"a row for each g2 and a column for each g1, {(g2.size, g1.size)}"
        raise InvalidParameter("exponents", f"shape {values.shape}", expected)
    dress(axes, title=title, x="g1: <mu, beta> = d^-g1", y="g2: theta = d^g2", grid=None)
    varies = float(values.max()) > float(values.min())
    low, high = limits or (float(values.min()), float(values.max()) if varies else float(values.min()) + 1)
    shades: dict[str, Any] = {"vmin": low, "vmax": high, "cmap": SEQUENTIAL}
    colours = axes.pcolormesh(g1, g2, values, shading="gouraud", rasterized=True, **shades)
    if varies:
        lines = axes.contour(g1, g2, values, levels=_LEVELS, colors="white", linewidths=0.7)
        axes.clabel(lines, fontsize=TEXT_SIZE - 1.5)
    for factor, style in ((1, "--"), (2, ":")):
        ends = np.array([0.0, min(g1[-1], g2[-1] / factor)])
        axes.plot(ends, factor * ends, style, color=HARD, linewidth=1.4, label=f"g2 = {'' if factor == 1 else '2 '}g1")
    if measured:
        points = [(point.overlap_exponent, point.strength_exponent, point.value) for point in measured]
        x, y, colour = zip(*points, strict=True)
        look: dict[str, Any] = {"s": 70, "edgecolors": "white", "linewidths": 1.5, "zorder": 3, "clip_on": False}
        axes.scatter(x, y, c=colour, label="measured", **look, **shades)
    axes.set_xlim(g1[0], g1[-1])
    axes.set_ylim(g2[0], g2[-1])
    return colours
