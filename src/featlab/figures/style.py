"""One look for every picture: colours, fonts, axes, and how a figure becomes an SVG inside a page."""

from __future__ import annotations

import io
import re
from html import escape
from textwrap import fill, wrap
from typing import Any, Literal

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation

from featlab.gaussian.hermite import Floats

# Ink is the one colour that follows the page: in an SVG it becomes currentColor, light or dark.
INK = "#20242b"
ACCENT = "#3b78c2"
MUTED = "#8b93a0"
TRIVIAL, EASY, HARD = "#1f8059", "#b06a10", "#bd3f38"  # white text on them stays readable
KIND_COLOURS = {"trivial": TRIVIAL, "easy": EASY, "hard": HARD}
SERIES = ("#3b78c2", "#d9902a", "#2f9e72", "#8f63b8")
DIVERGING, SEQUENTIAL = "RdBu_r", "viridis"
TEXT_SIZE = 9.5
# Times whose median is this far below the largest are spread over decades: they are drawn on a logarithmic axis.
_SPREAD = 0.25
_Y_COLUMNS = 40  # letters that fit along the y axis of a panel
_COLUMNS_PER_INCH = 10.0  # letters of a title
_BELOW = 0.45  # inches from a panel to its legend, past the numbers and the name of its axis


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of this size in inches, transparent, laid out so that labels never overlap the axes."""
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0.0)
    _Canvas(figure)
    return figure


class _Canvas(FigureCanvasAgg):
    """matplotlib's default, but that `savefig("picture.pgf")` needs no TeX."""

    def print_pgf(self, file: Any, *, bbox_inches_restore: Any = None, **_given: Any) -> None:
        """What `savefig` calls; colours and the like are those of the figure by then."""
        from featlab.figures.pgf import write

        write(self.figure, file, bbox_inches_restore)


def dress(axes: Axes, *, title: str = "", x: str = "", y: str = "", grid: Literal["x", "y"] | None = "y") -> Axes:
    """Give axes the common look: no box, thin ink, a faint grid along one direction (or none)."""
    axes.patch.set_alpha(0.0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(INK)
        axes.spines[side].set_linewidth(0.8)
    axes.tick_params(colors=INK, labelsize=TEXT_SIZE, width=0.8)
    axes.set_title(title, color=INK, fontsize=TEXT_SIZE + 1.5, loc="left")
    axes.set_xlabel(x, color=INK, fontsize=TEXT_SIZE)
    axes.set_ylabel(fill(y, _Y_COLUMNS), color=INK, fontsize=TEXT_SIZE)
    if grid:
        axes.grid(axis=grid, color=MUTED, alpha=0.25, linewidth=0.7)
        axes.set_axisbelow(True)
    return axes


def headline(figure: Figure, *parts: str, colour: str = INK) -> None:
    """The title over all panels; parts that do not fit into one line begin lines of their own, and long ones go on."""
    most = int(_COLUMNS_PER_INCH * figure.get_figwidth())
    whole = " ".join(parts)
    lines = [whole] if len(whole) <= most else [line for part in parts for line in wrap(part, most)]
    figure.suptitle("\n".join(lines), color=colour, fontsize=TEXT_SIZE + 1.5)


def add_legend(where: Axes | Figure, **options: Any) -> None:
    """A legend without a frame, in ink; below the figure or its panel, where it covers nothing, or at its side.

    A place within a panel (`loc` without `bbox_to_anchor`) is not taken: at some size of a run there are data. Claims
    whose code is fixed name one.
    """
    look: dict[str, Any] = {"frameon": False, "fontsize": TEXT_SIZE - 0.5, "labelcolor": INK}
    if isinstance(where, Figure):
        where.legend(**look, **({"loc": "outside lower center"} | options))
    elif "bbox_to_anchor" in options:
        where.legend(**look, **options)
    else:
        below = ScaledTranslation(0, -_BELOW, where.figure.dpi_scale_trans)
        place = {"bbox_to_anchor": (0.5, 0), "bbox_transform": where.transAxes + below}
        look |= {"ncols": 2} | options | place | {"loc": "upper center"}
        if _too_wide(where.legend(**look), where):  # it would write over that of its neighbour, and narrow the panels
            where.legend(**look | {"ncols": 1})


def _too_wide(legend: Legend, axes: Axes) -> bool:
    """Whether it takes more than its panel's share of the figure."""
    spec = axes.get_subplotspec()
    share = 1.0 if spec is None else len(spec.colspan) / spec.get_gridspec().ncols
    return legend.get_window_extent().width > share * axes.figure.bbox.width


def time_axis(axes: Axes, times: Floats, *, words: str, stepwise: bool) -> None:
    """Times spread over decades on a logarithmic axis, others on a linear one, with no room beside them.

    A single time has no scale, and a result without a history, at time 0, no name of an axis either.
    """
    if len(times) == 1:
        axes.set_xticks(times[times > 0])
        axes.set_xlabel(words if times[0] > 0 else "", color=INK, fontsize=TEXT_SIZE)
        return
    axes.set_xlabel(words, color=INK, fontsize=TEXT_SIZE)
    positive = times[times > 0]
    if positive.size > 2 and np.median(positive) < _SPREAD * positive[-1]:
        axes.set_xscale("log")
        axes.set_xlim(positive[0], positive[-1])
    elif times[-1] > times[0]:
        axes.set_xlim(times[0], times[-1])
        if stepwise:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def to_svg(figure: Figure, label: str, prefix: str) -> str:
    """The figure as one <svg> element for a page: described by `label`, its ids made unique by `prefix`.

    Text stays text (selectable, read aloud), and ink follows the page's text colour.

    Examples:
        >>> import featlab
        >>> figure = featlab.figures.link_figure(featlab.target("tanh(h1)"))
        >>> featlab.figures.to_svg(figure, label="the link", prefix="one").startswith("<svg")
        True
    """
    buffer = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": prefix}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'(href="|url\()#', rf"\1#{prefix}-", svg)
    svg = svg.replace(INK, "currentColor")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(label, quote=True)}" ', 1)
