"""The targets of the literature: a row for each, its exponents along it."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from featlab.figures.style import ACCENT, INK, KIND_COLOURS, MUTED, TEXT_SIZE, add_legend, dress, new_figure
from featlab.targets import CatalogueEntry

_ROW_INCHES = 0.2


def catalogue_figure(entries: Mapping[str, CatalogueEntry]) -> Figure:
    """Of every target whose exponents a paper states, the information exponent (ring) and the generative one (dot).

    Args:
        entries: as `featlab.catalogue` gives them.

    Examples:
        >>> import featlab
        >>> featlab.figures.catalogue_figure(featlab.catalogue)
        <Figure size 640x1480 with 1 Axes>
    """
    told = [one for one in entries.values() if one.information_exponent is not None]
    figure = new_figure(6.4, 1.0 + _ROW_INCHES * max(1, len(told)))
    axes = dress(figure.add_subplot(), x="exponent", grid="x")
    rings = [one.information_exponent or 0 for one in told]
    axes.scatter(rings, range(len(told)), s=60, facecolors="none", edgecolors=ACCENT, label="information exponent")
    known = [(row, one) for row, one in enumerate(told) if one.generative_exponent is not None]
    colours = [KIND_COLOURS.get((one.verdict or "").lower(), MUTED) for _, one in known]
    places = [one.generative_exponent or 0 for _, one in known]
    axes.scatter(places, [row for row, _ in known], s=18, c=colours, label="generative exponent (by verdict)")
    axes.set_yticks(range(len(told)), [one.name for one in told], color=INK, fontsize=TEXT_SIZE - 2)
    axes.invert_yaxis()
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    add_legend(figure, ncols=2)
    return figure
