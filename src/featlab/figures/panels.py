"""The parts of a theory-over-simulation picture: panels, lines, points with error bars, marked values.

Series are told apart by colour, marker and line style together, so that they survive print and colour blindness.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from featlab.figures.style import INK, MUTED, SERIES, TEXT_SIZE, dress, new_figure

_MARKERS = ("o", "s", "^", "D")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))
_PANEL = (4.6, 4.0)
MOST_SERIES = 8  # that can be told apart by colour, marker and dashes


def panels(
    titles: Sequence[str], *, x: str | Sequence[str] = "", y: str | Sequence[str] = ""
) -> tuple[Figure, list[Axes]]:
    """A figure with one dressed panel for each title, side by side; up to three in a row."""
    columns = min(len(titles), 3)
    rows = -(-len(titles) // columns)
    width = 6.2 if columns == 1 else _PANEL[0] * columns
    figure = new_figure(width, _PANEL[1] * rows)
    axes = list(np.ravel(figure.subplots(rows, columns, squeeze=False)))
    for spare in axes[len(titles) :]:
        spare.set_visible(False)
    for place, title in enumerate(titles):
        dress(axes[place], title=title, x=_of(x, place), y=_of(y, place))
    return figure, axes[: len(titles)]


def line_style(series: int) -> dict[str, Any]:
    """The colour and dashes of a series: `MOST_SERIES` of them differ."""
    return {"color": SERIES[series % len(SERIES)], "linestyle": DASHES[_style(series) % len(DASHES)]}


def theory_line(axes: Axes, x: ArrayLike, y: ArrayLike, *, series: int = 0, label: str | None = None) -> None:
    """What theory says: a line; of a single point a dash that is wider than the mark of a measurement."""
    alone = np.sum(np.isfinite(np.asarray(y, dtype=np.float64))) == 1
    point: dict[str, Any] = {"marker": "_", "markersize": 22, "markeredgewidth": 1.8} if alone else {}
    axes.plot(np.asarray(x), np.asarray(y), **line_style(series), linewidth=1.8, label=label, **point)


def measured_points(
    axes: Axes, x: ArrayLike, y: ArrayLike, error: ArrayLike | None, *, series: int = 0, label: str | None = None
) -> None:
    """What was measured: points with two standard errors."""
    bars = None if error is None else 2 * np.asarray(error)
    axes.errorbar(
        np.asarray(x),
        np.asarray(y),
        yerr=bars,
        fmt=_MARKERS[_style(series) % len(_MARKERS)],
        color=SERIES[series % len(SERIES)],
        markeredgecolor=INK,
        markeredgewidth=0.5,
        markersize=5.0,
        capsize=2,
        label=label,
    )


def limit_points(axes: Axes, x: ArrayLike, y: ArrayLike, error: ArrayLike, *, series: int = 0) -> None:
    """What measurements at several sizes tend to: larger open marks with two standard errors, not in the legend."""
    axes.errorbar(
        np.asarray(x),
        np.asarray(y),
        yerr=2 * np.asarray(error),
        fmt=_MARKERS[_style(series) % len(_MARKERS)],
        color=SERIES[series % len(SERIES)],
        markerfacecolor="none",
        markeredgewidth=1.0,
        markersize=8.0,
        elinewidth=0.8,
    )


def measured_histogram(
    axes: Axes, values: ArrayLike, bins: ArrayLike, *, series: int = 0, label: str | None = None
) -> None:
    """Measured values as a density in steps, pale; those outside of the bins count in the whole."""
    values, edges = np.ravel(values), np.asarray(bins, dtype=np.float64)
    counts, _ = np.histogram(values, edges)
    density = counts / (values.size * np.diff(edges))
    axes.stairs(density, edges, fill=True, color=SERIES[series % len(SERIES)], alpha=0.3, label=label)
    axes.stairs(density, edges, color=SERIES[series % len(SERIES)], linewidth=0.8)


def mark(axes: Axes, value: float, words: str, *, along: Literal["x", "y"] = "x", under: bool = False) -> None:
    """A thin dotted line at a value that matters, with its name: across the x axis, or the y axis.

    A name on the y axis stands over the line on the right, or `under` it on the left.
    """
    line = axes.axvline if along == "x" else axes.axhline
    line(value, color=MUTED, linewidth=1.1, linestyle=":")
    place = (value, 0.98) if along == "x" else (0.01 if under else 0.99, value)
    transform = axes.get_xaxis_transform() if along == "x" else axes.get_yaxis_transform()
    across = {"va": "top", "ha": "left"} if under else {"va": "bottom", "ha": "right"}
    options = {"rotation": 90, "va": "top", "ha": "right"} if along == "x" else across
    axes.text(*place, words, transform=transform, color=INK, fontsize=TEXT_SIZE - 1.5, **options)


def _style(series: int) -> int:
    """Which marker and line style: where the colours start again, they are others than before."""
    return series + series // len(SERIES)


def _of(words: str | Sequence[str], place: int) -> str:
    return words if isinstance(words, str) else words[place]
