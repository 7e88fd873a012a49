"""Tables inside of a figure: rows of words, and numbers on shades of grey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from featlab.figures.style import INK, MUTED, TEXT_SIZE


def text_table(axes: Axes, columns: Mapping[str, float], rows: Sequence[Sequence[tuple[str, str]]]) -> None:
    """Rows of (words, colour) under a line of column heads, each column from its place between 0 and 1 on."""
    axes.set_axis_off()
    axes.set(xlim=(0, 1), ylim=(len(rows) + 0.5, -0.7))
    for words, x in columns.items():
        axes.text(x, 0, words, color=INK, fontsize=TEXT_SIZE, weight="bold", va="center")
    for place, row in enumerate(rows, start=1):
        for x, (words, colour) in zip(columns.values(), row, strict=True):
            axes.text(x, place, words, color=colour, fontsize=TEXT_SIZE - 0.5, va="center")
    axes.axhline(0.5, color=MUTED, linewidth=0.8)


def shaded_table(axes: Axes, values: np.ndarray, bold: np.ndarray, rows: Sequence[str]) -> None:
    """Numbers between 0 and 1 with two digits, the larger the darker, some of them bold; `rows` names their rows."""
    axes.imshow(values, cmap="Greys", vmin=0, vmax=1, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        colour, weight = "white" if value > 0.5 else INK, "bold" if bold[row, column] else "normal"
        words = f"{round(float(value), 2) + 0.0:.2f}"
        axes.text(column, row, words, color=colour, weight=weight, ha="center", va="center")
    axes.grid(False)
    axes.set_yticks(range(len(rows)), labels=rows)
