"""Order parameters against time: what each direction's overlap does, and the risk, over many seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from featlab.comparison.curves import is_stepwise, measured_over_time, time_words
from featlab.comparison.recovery import recovery
from featlab.figures.panels import MOST_SERIES, line_style, panels
from featlab.figures.style import INK, MUTED, TEXT_SIZE, add_legend, time_axis
from featlab.gaussian.hermite import Floats

if TYPE_CHECKING:
    import xarray as xr

_MOST_FAINT_SEEDS = 24
_AXIS_NAMES = {
    "|cos|": "|cosine| with the neuron",
    "share": "share in the neurons' span",
    "in": "share of the weights within",
    "cos angle": "cosines of the principal angles",
}


def trajectory_figure(dataset: xr.Dataset) -> Figure:
    """Panels from a simulated dataset: the share of each direction that is found, if there is one (1 is all of it,
    see `featlab.comparison.recovery`), and the risk, or what is in its place, if there is anything.

    Lines are medians over seeds, bands reach from the first to the third quartile, single seeds are faint; seeds that
    diverged leave the picture where they do. The dashed line is what chance gives.

    Examples:
        >>> import featlab
        >>> learner = featlab.OnlineSgd(step_size=0.01)
        >>> run = featlab.simulate("tanh(h1)", learner, dim=100, times=[0, 1], seeds=3)
        >>> featlab.figures.trajectory_figure(run)
        <Figure size 920x400 with 2 Axes>
    """
    measured, dim = measured_over_time(dataset), int(dataset.attrs["dim"])
    times = dataset["time"].values.astype(np.float64)
    drawn: list[tuple[str, str, dict[str, Floats]]] = []  # of each panel the title, the y axis, and its curves
    found = recovery(dataset)
    if found.names:
        places = {name: found.values[:, :, place] for place, name in enumerate(found.names[:MOST_SERIES])}
        some = f", {MOST_SERIES} of {len(found.names)}" if len(found.names) > MOST_SERIES else ""
        drawn.append((f"Directions found, d = {dim:,}{some}", _AXIS_NAMES[found.column], places))
    for measure, values in list(measured.items())[:1]:
        formula = "E[(y - f)^2]" if measure == "risk" else dataset[measure].attrs["meaning"]
        drawn.append((measure.replace("_", " ").capitalize(), formula, {"median and quartiles": values}))
    titles, names, groups = zip(*drawn, strict=True)
    figure, frames = panels(titles, y=names)
    for axes, group in zip(frames, groups, strict=True):
        for series, (label, values) in enumerate(group.items()):
            _draw(axes, times, values, line_style(series), label)
        axes.set_ylim(bottom=0)
        time_axis(axes, times, words=time_words(dataset), stepwise=is_stepwise(dataset))
    if found.names:
        chance = "1/sqrt(d)" if found.chance == 1 else f"sqrt({found.chance**2:.0f}/d)"
        frames[0].axhline(found.chance * dim**-0.5, color=INK, linestyle="--", linewidth=0.9, label=chance)
        frames[0].set_ylim(0, 1.03)
    for axes in frames:
        add_legend(axes)
    _say_what_is_missing(frames[-1], dataset)
    return figure


def _draw(axes: Axes, times: Floats, values: Floats, style: dict[str, Any], label: str) -> None:
    """Median, quartiles and some seeds of values (seed, time); times at which no seed has a value are left out."""
    faint = 0.5 / max(1.0, min(len(values), _MOST_FAINT_SEEDS) ** 0.5)
    for row in values[:_MOST_FAINT_SEEDS]:
        axes.plot(times, row, color=style["color"], alpha=faint, linewidth=0.6)
    seen = np.any(np.isfinite(values), axis=0)
    low, middle, high = np.nanquantile(values[:, seen], (0.25, 0.5, 0.75), axis=0)
    axes.fill_between(times[seen], low, high, color=style["color"], alpha=0.2, linewidth=0)
    axes.plot(times[seen], middle, **style, linewidth=1.8, label=label, marker="o" if len(times) < 3 else None)


def _say_what_is_missing(axes: Axes, dataset: xr.Dataset) -> None:
    outcomes = dataset["outcome"].values
    missing = {word: int(np.sum(outcomes == word)) for word in ("diverged", "interrupted") if np.any(outcomes == word)}
    if missing:
        words = ", ".join(f"{count} of {len(outcomes)} seeds {word}" for word, count in missing.items())
        axes.set_title(words, loc="right", color=MUTED, fontsize=TEXT_SIZE - 0.5)  # beside the data, not over them
