"""The staircases: which directions open when, for methods that only correlate and for methods that may do more."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from featlab.analysis import Analysis, Verdict
from featlab.analysis.staircase import GrandStage, Stage
from featlab.figures.naming import direction_texts, ratio_text
from featlab.figures.style import EASY, HARD, INK, MUTED, TEXT_SIZE, TRIVIAL, add_legend, dress, new_figure

_COLOURS = {1: TRIVIAL, 2: EASY}
_PANEL_INCHES = 3.3
_MOST_NAMES = 7
_MOST_INCHES = 6.0


def staircase_figure(analysis: Analysis) -> Figure:
    """Two staircases side by side: the leap's (correlations only) and the grand one (any function of the label).

    Args:
        analysis: as `featlab.analyse` gives it.

    Examples:
        >>> import featlab
        >>> featlab.figures.staircase_figure(featlab.analyse(featlab.target("abs(h1)")))
        <Figure size 740x240 with 2 Axes>
    """
    rank = analysis.target.rank
    room = max(2, _blocks(analysis.staircase, rank), _blocks(analysis.grand_staircase, rank))
    figure = new_figure(7.4, min(_MOST_INCHES, 2.0 + 0.4 * rank))
    left, right = figure.subplots(1, 2, sharey=True)
    _draw(left, analysis.staircase, rank, room, "Correlations with the label only")
    _draw(right, analysis.grand_staircase, rank, room, "Any function of the label")
    left.set_ylabel("directions known", color=INK, fontsize=TEXT_SIZE)
    names = ("order 1 (trivial)", "order 2 (easy)", "order 3 or more (hard)")
    if analysis.verdict is Verdict.OPEN:
        names = ("order 1", "order 2", "order 3 or more")
    patches = [Patch(color=colour, label=name) for colour, name in zip((TRIVIAL, EASY, HARD), names, strict=True)]
    patches.append(Patch(facecolor=MUTED, alpha=0.25, label="known before"))
    add_legend(figure, handles=patches, ncols=4)
    return figure


def _blocks(stages: Sequence[Stage], rank: int) -> int:
    """How many blocks a staircase takes: one for each stage, and one for what is undecided."""
    return len(stages) + (sum(stage.directions.shape[1] for stage in stages) < rank)


def _draw(axes: Axes, stages: Sequence[Stage], rank: int, room: int, title: str) -> None:
    dress(axes, title=title, x="stage")
    known = 0
    for place, stage in enumerate(stages):
        new = stage.directions.shape[1]
        colour = _COLOURS.get(stage.exponent, HARD)
        axes.add_patch(Rectangle((place, 0), 1, known, facecolor=MUTED, alpha=0.25, linewidth=0))
        axes.add_patch(Rectangle((place, known), 1, new, facecolor=colour, edgecolor="none"))
        _write(axes, place, known + new / 2, _caption(stage), room, "white")
        known += new
    if known < rank:
        # What the analysis did not reach is an empty dashed block, not an invented one.
        box = Rectangle((len(stages), known), 1, rank - known, fill=False, edgecolor=MUTED, linestyle="--")
        axes.add_patch(box)
        _write(axes, len(stages), (known + rank) / 2, "undecided", room, INK)
    axes.set_xlim(0, room)
    axes.set_ylim(0, rank * 1.04)
    axes.set_yticks(range(0, rank + 1, 1 + rank // 12))
    axes.set_xticks([place + 0.5 for place in range(len(stages))], [str(place + 1) for place in range(len(stages))])


def _write(axes: Axes, place: int, height: float, caption: str, room: int, colour: str) -> None:
    """Text in the middle of a block, as large as fits: a character is about 0.0078 inches wide for each point."""
    longest = max(len(line) for line in caption.split("\n"))
    size = max(5.0, min(TEXT_SIZE, 0.95 * _PANEL_INCHES / room / (0.0078 * longest)))
    axes.text(place + 0.5, height, caption, ha="center", va="center", color=colour, fontsize=size)


def _caption(stage: Stage) -> str:
    names = direction_texts(stage.directions)
    names = names if len(names) <= _MOST_NAMES else [f"{len(names)} directions"]
    lines = names if any(len(name) > 4 for name in names) else [", ".join(names)]
    if isinstance(stage, GrandStage) and stage.kind == "easy" and stage.alpha is not None:
        return "\n".join([*lines, f"alpha {ratio_text(stage)}"])
    return "\n".join([*lines, f"order {stage.exponent}"])
