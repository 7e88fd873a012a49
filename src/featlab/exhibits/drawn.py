"""Pictures as declarations: panels under their titles, in each of them lines of theory over measured points, and marks.

A layer draws the studies it speaks of, one series for each, and for each point along `each`. What needs more is a plain
function of axes and view, in the same place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from featlab.exhibits.declared import Summary, summarised
from featlab.exhibits.reading import Fields, Of, Place, Reading, View, as_of, theory_name

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Overlay:
    """Theory as a line over measurements as points with two standard errors.

    Attributes:
        values: the numbers.
        along: the axis of x, or the name of a parameter that changes along it.
        x: what is drawn for x instead, from the numbers' coordinates and the parameters of the place.
        line, points: labels in the legend, with the parameters of the place in braces; None leaves that part out.
        each: axes whose points are series of their own.
        only: of these those whose parameters fulfil it.
        series: the colour, marker and dashes of the first one.
        thin: only every so many points.
        summary: point and error from the numbers of all runs; mean and standard error unless given.
    """

    values: Of | Reading
    along: str
    line: str | None = ""
    points: str | None = "{words}"
    x: Callable[[xr.DataArray, Fields], Any] | None = None
    each: str | Sequence[str] = ()
    only: Callable[[Fields], bool] | None = None
    series: int = 0
    thin: int = 1
    summary: Summary | None = None

    def places(self, view: View, within: Place | None) -> list[tuple[Place, dict[str, Any]]]:
        """The series, with what their labels may speak of; none of a study that has not the panel's point."""
        of, found = as_of(self.values), []
        for place in view.places(Of(of.quantity, within.study) if within and of.study is None else of, self.each):
            if within and not _has(view, place.study, within.where):
                continue
            where = {**(within.where if within else {}), **place.where}
            fields = view.fields(place.study, _own(view, place.study, {**where, **of.where}))
            if self.only is None or self.only(fields):
                found.append((Place(place.study, where), fields))
        return found

    def draw(self, axes: Axes, view: View, within: Place | None) -> None:
        """Draw all series."""
        from featlab.figures.panels import measured_points, theory_line

        of = as_of(self.values)
        for series, (place, fields) in enumerate(self.places(view, within), start=self.series):
            if self.line is not None and theory_name(of, place.study) in view.theory:
                line = view.line(of, place)
                label = self.line.format_map(fields)
                theory_line(axes, self._x(line, fields), line.values.ravel(), series=series, label=label or None)
            if self.points is not None:
                samples = view.measured(of, place)
                samples = samples.isel({samples[self.along].dims[-1]: slice(None, None, self.thin)})
                mean, error = summarised(samples, self.summary)
                label = self.points.format_map(fields)
                bars = error.ravel() if len(samples) > 1 else None
                measured_points(axes, self._x(samples, fields), mean.ravel(), bars, series=series, label=label or None)

    def _x(self, values: xr.DataArray, fields: Mapping[str, Any]) -> Any:
        return values[self.along].values if self.x is None else self.x(values, fields)


@dataclass(frozen=True)
class Histogram:
    """Measured numbers of all runs as a density in steps.

    Attributes:
        values: the numbers.
        bins: edges of the bins.
        label: in the legend.
        series: the number of its colour.
    """

    values: Of | Reading
    bins: Sequence[float]
    label: str = "simulation"
    series: int = 0

    def places(self, view: View, within: Place | None) -> list[tuple[Place, dict[str, Any]]]:
        """The one place, if this size has the study."""
        return Overlay(self.values, "").places(view, within)

    def draw(self, axes: Axes, view: View, within: Place | None) -> None:
        """Draw it."""
        from featlab.figures.panels import measured_histogram

        for place, _ in self.places(view, within):
            values = view.measured(as_of(self.values), place)
            measured_histogram(axes, values, self.bins, series=self.series, label=self.label)


@dataclass(frozen=True)
class Mark:
    """A thin dotted line at a value that matters, with its name.

    Attributes:
        value: the value, what a function makes of the view, or the name of one that theory has at the panel's point.
        words: its name.
        along: across the x axis, or the y axis.
        under: whether the name of a line across the y axis stands under it, on the left.
    """

    value: float | str | Callable[[View], float]
    words: str
    along: Literal["x", "y"] = "x"
    under: bool = False

    def draw(self, axes: Axes, view: View, within: Place | None) -> None:
        """Draw it."""
        from featlab.figures.panels import mark

        value = self.value(view) if callable(self.value) else self.value
        if isinstance(value, str):
            if within is None:
                raise ValueError(f"Mark({value!r}): the panel has no place of its own, give it an axis `each`")
            value = view.fields(within.study, within.where)[value]
        mark(axes, value, self.words, along=self.along, under=self.under)


Ticks = Mapping[float, str] | Sequence[float]
Layer = Overlay | Histogram | Mark | Callable[["Axes", View], None]
"""What a panel draws: one of these, or a function of axes and view."""


# What is on the x axis, where nothing else is said.
PER_DIM = "samples over dimension, n / d"
"""What the x axis is called where samples are counted per dimension."""
_X = {"ratio": PER_DIM, "dim": "dimension d"}


class Panel:
    """One panel; or one for each study, or for each point along an axis of the first layer's studies."""

    def __init__(
        self,
        *layers: Layer,
        x: str = "",
        y: str = "",
        each: str | None = None,
        legend: str | Mapping[str, Any] | None = "best",
        ticks: Mapping[str, Ticks | Callable[[View], Ticks | None]] | None = None,
        only: Callable[[View], object] | None = None,
        **options: Any,
    ) -> None:
        """Declare it.

        Args:
            layers: what is drawn, from the first to the last. If this size has no study of any, there is no panel.
            x, y: what the axes are.
            each: "study", or an axis.
            legend: None, none; else there is one below the panel if there is anything to name, with these options.
            ticks: "x" or "y" -> values, labels by value, or what a function makes of the view (None: those that come).
            only: whether there is the panel at all, at this size.
            options: of the axes, such as xscale="log" or ylim=(0, 1).
        """
        self.layers, self.y, self.each, self.legend, self.only = layers, y, each, legend, only
        self.drawn = [layer for layer in layers if isinstance(layer, Overlay | Histogram)]
        along = next((layer.along for layer in layers if isinstance(layer, Overlay)), "")
        self.x, self.ticks, self.options = x or _X.get(along, ""), ticks or {}, options

    def places(self, view: View) -> list[Place | None]:
        """The panels that there are; None for the one that is not tied to a place."""
        if self.only is not None and not self.only(view):
            return []
        if self.each is None:
            return [None] if not self.drawn or any(layer.places(view, None) for layer in self.drawn) else []
        return [*view.places(as_of(self.drawn[0].values), self.each)]

    def fields(self, view: View, place: Place | None) -> Mapping[str, Any]:
        """What its title may speak of."""
        shown = self.drawn[0].places(view, place) if self.drawn else []
        return shown[-1][1] if shown else {}

    def draw(self, axes: Axes, view: View, place: Place | None) -> None:
        """Draw all layers, then set what is set."""
        from matplotlib.ticker import NullFormatter

        from featlab.figures.style import add_legend

        for layer in self.layers:
            if isinstance(layer, Overlay | Histogram | Mark):
                layer.draw(axes, view, place)
            else:
                layer(axes, view)
        axes.set(**self.options)
        for scaled in (axes.xaxis, axes.yaxis):
            if scaled.get_scale() == "log":  # powers of ten are enough to read; others would write over each other
                scaled.set_minor_formatter(NullFormatter())
        for side, declared in self.ticks.items():
            if (ticks := declared(view) if callable(declared) else declared) is not None:
                _set_ticks(axes, side, ticks)
        if self.legend is not None and axes.get_legend_handles_labels()[0]:
            add_legend(axes, **({"loc": self.legend} if isinstance(self.legend, str) else self.legend))


AnyFigure = Mapping[str, Panel] | Callable[..., "Figure"]


def drawn(figure: AnyFigure, view: View) -> Figure:
    """The panels under their titles, side by side, up to three in a row; or what a plain function draws."""
    from featlab.figures.panels import panels

    if callable(figure):
        return figure(view)
    shown = [(title, panel, place) for title, panel in figure.items() for place in panel.places(view)]
    titles = [title.format_map(panel.fields(view, place)) for title, panel, place in shown]
    # Panels that show the same of several places need their y axis named once.
    again = [at > 0 and panel is shown[at - 1][1] for at, (_, panel, _) in enumerate(shown)]
    y = ["" if same else panel.y for (_, panel, _), same in zip(shown, again, strict=True)]
    made, axes = panels(titles, x=[panel.x for _, panel, _ in shown], y=y)
    for place_on_page, (_, panel, place) in zip(axes, shown, strict=True):
        panel.draw(place_on_page, view, place)
    return made


def _set_ticks(axes: Axes, side: str, ticks: Ticks) -> None:
    labels = ticks if isinstance(ticks, Mapping) else {tick: f"{tick:,g}" for tick in ticks}
    getattr(axes, f"set_{side}ticks")(list(labels), list(labels.values()))
    axes.minorticks_off()


def _has(view: View, study: str, where: Mapping[str, Any]) -> bool:
    """Whether a study has a point, on an axis or as what all of its points share; of other axes it is the same."""
    values = {axis: view.data[study][axis].values for axis in where if axis in view.data[study].coords}
    return all(where[axis] in found.ravel().tolist() for axis, found in values.items())


def _own(view: View, study: str, where: Mapping[str, Any]) -> dict[str, Any]:
    return {axis: at for axis, at in where.items() if axis in view.data[study].dims}
