"""Theory over simulation: the prediction as lines, the measurement as points with error bars, the verdict on top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from featlab.comparison import ComparedQuantity, Comparison, compare
from featlab.comparison.curves import VISIBLE, Curve, along, curves, is_stepwise, time_words, visible_curves
from featlab.comparison.recovery import shown_scale
from featlab.figures.panels import MOST_SERIES, limit_points, measured_points, panels, theory_line
from featlab.figures.style import EASY, HARD, TRIVIAL, add_legend, headline, time_axis

if TYPE_CHECKING:
    import xarray as xr

_NAMES = {
    "overlap": ("Overlap with each direction", "M = <w, w*>"),
    "cosine": ("Cosine with each direction", "<w, w*> / |w|"),
    "norm": ("Norm of each neuron", "|w|"),
    "gram": ("Products of neurons", "Q = <w_i, w_j>"),
    "subspace": ("Directions found", "singular values of the cosines / sqrt(p)"),
    "risk": ("Risk", "E[(y - f)^2]"),
    "first_overlap": ("Overlap of the first layer", "M_W, rms of |W* w_i| / |w_i|"),
    "growth": ("Growth where nothing is known", "leading eigenvalue"),
}
_ANGLES = ("Directions found", "cosines of the principal angles")  # what the subspace of an estimate is shown as
_AXES = {"alpha": "samples over dimension, n / d", "dim": "dimension d"}
_VERDICTS = {"agrees": " agree", "disagrees": " disagree", "cannot tell": ": cannot tell"}
_COLOURS = {"agrees": TRIVIAL, "disagrees": HARD, "cannot tell": EASY}
_STEADY = 1e-9
_OPEN = "open marks: the limit of several sizes, 2 s.e."


def comparison_figure(prediction: xr.Dataset, measurement: xr.Dataset, comparison: Comparison | None = None) -> Figure:
    """A panel for each compared quantity: theory as lines, simulation as points with two standard errors.

    Where several sizes were compared, open marks are the limit that is extrapolated from them, of which the verdict is.

    Args:
        prediction, measurement: as `featlab.compare` takes them.
        comparison: of these two, if it is there already.

    Examples:
        >>> import featlab
        >>> learner = featlab.OnlineSgd(step_size=0.01)
        >>> run = featlab.simulate("tanh(h1)", learner, dim=100, times=[0, 1], seeds=3)
        >>> featlab.figures.comparison_figure(2 * run[["risk"]].mean("seed"), run)
        <Figure size 620x400 with 1 Axes>
    """
    comparison = compare(prediction, measurement) if comparison is None else comparison
    every = list(comparison.quantities.values())
    shown = [quantity for quantity in every if _worth_showing(quantity)] or every
    figure, frames = _panels([quantity.name for quantity in shown], measurement)
    for axes, quantity in zip(frames, shown, strict=True):
        _draw(axes, quantity, prediction, measurement)
    target, dim = measurement.attrs.get("target"), measurement.attrs.get("dim")
    title = "" if target is None else f"{target}, d = {dim:,}:" if dim is not None else f"{target}:"
    words = title, _verdict(comparison, title), _OPEN if len(comparison.sizes) > 1 else ""
    headline(figure, *filter(None, words), colour=_COLOURS[comparison.verdict])
    return figure


def _verdict(comparison: Comparison, title: str) -> str:
    """The verdict with its numbers; a comparison alone does not know what was learned, and begins the sentence."""
    numbers = f"largest |z| {comparison.largest_z:.1f} of {comparison.allowed_z:.1f}"
    numbers = numbers if comparison.points else "nothing to compare"
    limit = " in the limit" if len(comparison.sizes) > 1 else ""
    verdict = f"theory and simulation{_VERDICTS[comparison.verdict]}{limit} ({numbers})"
    return verdict if title else verdict.capitalize()


def prediction_figure(prediction: xr.Dataset) -> Figure:
    """The prediction alone: a panel of overlaps, where there are any, and one of the risk.

    Examples:
        >>> import featlab
        >>> learner = featlab.OnlineSgd(step_size=0.01)
        >>> student = featlab.TwoLayer(start="orthogonal")
        >>> prediction = featlab.predict("tanh(h1)", learner, dim=100, times=[0, 1, 2], student=student)
        >>> featlab.figures.prediction_figure(prediction)
        <Figure size 920x400 with 2 Axes>
    """
    told = ("overlap", "risk") if {"overlap", "risk"} & set(prediction) else ("subspace", "first_overlap", "growth")
    shown = [name for name in told if name in prediction]
    figure, frames = _panels(shown, prediction)
    for axes, name in zip(frames, shown, strict=True):
        whole = prediction[name] * shown_scale(name, prediction)
        values = _seed_mean(_without_sign(axes, whole) if _flips(whole) else whole)
        x = _along_axis(axes, values, prediction)
        for series, curve in enumerate(_told_apart(axes, list(curves(values)))):
            theory_line(axes, x, values.isel(curve.place).values, series=series, label=curve.label)
        add_legend(axes)
    headline(figure, f"{prediction.attrs['target']}:", "prediction for d to infinity")
    return figure


def _panels(names: Sequence[str], dataset: xr.Dataset) -> tuple[Figure, list[Axes]]:
    told = (_ANGLES if shown_scale(name, dataset) != 1 else _NAMES.get(name, (name, name)) for name in names)
    titles, symbols = zip(*told, strict=True)
    return panels(titles, y=symbols)


def _worth_showing(quantity: ComparedQuantity) -> bool:
    """Not what stands still as predicted, such as norms on the sphere."""
    present = quantity.theory.values[np.isfinite(quantity.theory.values)]
    still = present.size > 0 and np.ptp(present) <= _STEADY * quantity.size and quantity.name == "norm"
    return not (still and np.nanmax(np.abs(quantity.z.values), initial=0.0) == 0)


def _draw(axes: Axes, quantity: ComparedQuantity, prediction: xr.Dataset, measurement: xr.Dataset) -> None:
    x = _along_axis(axes, quantity.theory, measurement)
    scale = shown_scale(quantity.name, measurement)
    whole, measured, error = prediction[quantity.name] * scale, scale * quantity.simulation, scale * quantity.scatter
    flips = not quantity.signless and _flips(whole)
    if flips:
        runs = abs(scale * measurement[quantity.name].sel(time=quantity.theory["time"]))
        measured, error = runs.mean("seed"), runs.std("seed", ddof=1) / runs.sizes["seed"] ** 0.5
    if flips or quantity.signless:
        whole = _without_sign(axes, whole)
    whole, drawn = _seed_mean(whole), _told_apart(axes, visible_curves(_seed_mean(whole)))
    for series, curve in enumerate(drawn):
        name = f", {curve.label}" if len(drawn) > 1 else ""
        line = whole.isel(curve.place).values
        theory_line(axes, whole[along(quantity.theory)].values, line, series=series, label=f"theory{name}")
        points, bars = (part.isel(curve.place).values for part in (measured, error))
        measured_points(axes, x, points, bars, series=series, label=f"simulation{name}, 2 s.e.")
        if quantity.sizes > 1:
            limit = scale * (abs(quantity.limit) if flips or quantity.signless else quantity.limit)
            ends, bars = (part.isel(curve.place).values for part in (limit, scale * quantity.limit_error))
            limit_points(axes, x, ends, bars, series=series)
    add_legend(axes)


def _flips(values: xr.DataArray) -> bool:
    """Whether seeds end with either sign: their mean would tell of neither."""
    if not {"seed", "time"} <= set(values.dims) or values.sizes["seed"] < 2:
        return False
    last = values.isel(time=-1)
    return bool(((last > VISIBLE).any("seed") & (last < -VISIBLE).any("seed")).any())


def _without_sign(axes: Axes, values: xr.DataArray) -> xr.DataArray:
    axes.set_ylabel(f"|{axes.get_ylabel()}|")
    return abs(values)


def _told_apart(axes: Axes, every: list[Curve]) -> list[Curve]:
    """As many as can be told apart; the title says if they are not all."""
    if len(every) > MOST_SERIES:
        axes.set_title(f"{axes.get_title(loc='left')}, {MOST_SERIES} of {len(every)}", loc="left")
    return every[:MOST_SERIES]


def _along_axis(axes: Axes, values: xr.DataArray, dataset: xr.Dataset) -> np.ndarray:
    """The positions of values along their axis, which is set up for them."""
    axis = along(values)
    x = values[axis].values.astype(np.float64)
    if axis != "time":
        axes.set_xlabel(_AXES.get(axis, axis))
        return x
    stepwise = is_stepwise(dataset)
    time_axis(axes, x, words=time_words(dataset), stepwise=stepwise)
    axes.autoscale(axis="x")  # points at the ends need room
    if stepwise and len(x) > 1 and axes.get_xscale() == "linear":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return x


def _seed_mean(values: xr.DataArray) -> xr.DataArray:
    return values.mean("seed") if "seed" in values.dims else values
