"""Theory over simulation: the prediction as lines, the measurement as points with error bars, the verdict on top."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from featlab.comparison import Comparison, Laid, compare
from featlab.comparison.lines import along, curves, visible_curves
from featlab.figures.style import EASY as UNSURE
from featlab.figures.style import HARD as WRONG
from featlab.figures.style import INK, SERIES, TEXT_SIZE, TRIVIAL, add_legend, dress, new_figure, time_axis

if TYPE_CHECKING:
    import xarray as xr

_NAMES = {
    "overlap": ("Overlap with each direction", "M = <w, w*>"),
    "cosine": ("Cosine with each direction", "<w, w*> / |w|"),
    "norm": ("Norm of each neuron", "|w|"),
    "gram": ("Products of neurons", "Q = <w_i, w_j>"),
    "subspace": ("Directions found", "singular values of the cosines / sqrt(p)"),
    "risk": ("Risk", "E[(y - f)^2]"),
}
_AXES = {"alpha": "samples over dimension, n / d", "dim": "dimension d"}
_COLOURS = {"agrees": TRIVIAL, "disagrees": WRONG, "cannot tell": UNSURE}
_MARKERS = ("o", "s", "^", "D")
_MOST_CURVES = 8
_LONG_TITLE = 90  # a longer one stands on two lines
_STEADY = 1e-9


def comparison_figure(prediction: xr.Dataset, measurement: xr.Dataset, comparison: Comparison | None = None) -> Figure:
    """A panel for each compared quantity: theory as lines, simulation as points with two standard errors.

    Args:
        prediction, measurement: as `featlab.compare` takes them.
        comparison: of these two, if it is there already.
    """
    found = compare(prediction, measurement) if comparison is None else comparison
    shown = [laid for laid in found.quantities.values() if _worth_showing(laid)] or list(found.quantities.values())
    figure = new_figure(4.5 * len(shown) if len(shown) > 1 else 6.0, 3.9)
    for axes, laid in zip(np.ravel(figure.subplots(1, len(shown))), shown, strict=True):
        _panel(axes, laid, prediction, measurement)
    target, dim = measurement.attrs.get("target", "target"), measurement.attrs.get("dim")
    where = f", d = {dim:,}" if dim is not None else ""
    title, verdict = f"{target}{where}:", _verdict(found)
    between = " " if len(shown) > 1 and len(title) + len(verdict) < _LONG_TITLE else "\n"
    figure.suptitle(f"{title}{between}{verdict}", color=_COLOURS[found.verdict], fontsize=TEXT_SIZE + 1.5)
    return figure


def prediction_figure(prediction: xr.Dataset) -> Figure:
    """The prediction alone: a panel of overlaps, where there are any, and one of the risk."""
    shown = [name for name in ("overlap", "risk") if name in prediction]
    figure = new_figure(4.5 * len(shown) if len(shown) > 1 else 6.0, 3.7)
    for axes, name in zip(np.ravel(figure.subplots(1, len(shown))), shown, strict=True):
        values = prediction[name].mean("seed") if "seed" in prediction[name].dims else prediction[name]
        x = _dress_panel(axes, name, along(values), prediction)
        for number, curve in enumerate(itertools.islice(curves(values), _MOST_CURVES)):
            line = values.isel(curve.place).values
            axes.plot(x, line, color=SERIES[number % len(SERIES)], linewidth=1.8, label=curve.label)
        add_legend(axes, loc="best")
    figure.suptitle(f"{prediction.attrs['target']}: prediction for d to infinity", color=INK, fontsize=TEXT_SIZE + 1.5)
    return figure


def _worth_showing(laid: Laid) -> bool:
    """Not what stands still as predicted, such as norms on the sphere."""
    present = laid.theory.values[np.isfinite(laid.theory.values)]
    still = present.size > 0 and np.ptp(present) <= _STEADY * laid.size and laid.name == "norm"
    return not (still and np.nanmax(np.abs(laid.z.values), initial=0.0) == 0)


def _panel(axes: Axes, laid: Laid, prediction: xr.Dataset, measurement: xr.Dataset) -> None:
    axis = along(laid.theory)
    x = _dress_panel(axes, laid.name, axis, measurement, laid.theory, laid.signless)
    whole = abs(prediction[laid.name]) if laid.signless else prediction[laid.name]
    whole = whole.mean("seed") if "seed" in whole.dims else whole
    drawn = visible_curves(laid.theory)[:_MOST_CURVES]
    for number, curve in enumerate(drawn):
        colour, marker = SERIES[number % len(SERIES)], _MARKERS[number // len(SERIES) % len(_MARKERS)]
        name = f", {curve.label}" if len(drawn) > 1 else ""
        axes.plot(
            whole[axis].values, whole.isel(curve.place).values, color=colour, linewidth=1.8, label=f"theory{name}"
        )
        points, error = (part.isel(curve.place).values for part in (laid.simulation, laid.error))
        label = f"simulation{name}, 2 s.e."
        axes.errorbar(x, points, yerr=2 * error, label=label, fmt=marker, color=colour, markersize=4.5, capsize=2)
    add_legend(axes, loc="best")


def _dress_panel(
    axes: Axes, name: str, axis: str, dataset: xr.Dataset, values: xr.DataArray | None = None, signless: bool = False
) -> np.ndarray:
    """Title and axes in words and symbols; returns the positions along the axis."""
    x = (dataset if values is None else values)[axis].values.astype(np.float64)
    title, symbol = _NAMES.get(name, (name, name))
    symbol = f"|{symbol}|" if signless else symbol
    words = _AXES.get(axis, axis)
    if axis == "time":
        stepwise = "step" in dataset.coords and np.array_equal(dataset["time"].values, dataset["step"].values)
        words = "steps" if stepwise else "time, steps / d"
        time_axis(axes, x)
        axes.autoscale(axis="x")  # points at the ends need room
        if stepwise and axes.get_xscale() == "linear":
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    dress(axes, title=title, x=words, y=symbol)
    return x


def _verdict(found: Comparison) -> str:
    numbers = f"largest |z| {found.largest_z:.1f} of {found.allowed_z:.1f}" if found.points else "nothing to compare"
    return f"theory and simulation {_SAID[found.verdict]} ({numbers})"


_SAID = {"agrees": "agree", "disagrees": "disagree", "cannot tell": "are too noisy to compare"}
