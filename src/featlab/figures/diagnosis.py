"""Pictures of a diagnosis: the spectrum of the inputs, the label along the directions, learning curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from featlab.diagnosis.curves import Curve
from featlab.diagnosis.inputs import Spectrum
from featlab.diagnosis.orders import Link
from featlab.figures.panels import mark, measured_histogram, measured_points, panels, theory_line
from featlab.figures.style import ACCENT, HARD, add_legend, dress, new_figure

_BINS = 40


def spectrum_figure(spectrum: Spectrum) -> Figure:
    """Eigenvalues of the correlations as a histogram, the law of independent columns over it, spikes marked."""
    figure, (axes,) = panels(["eigenvalues of the correlations"], x="eigenvalue", y="density")
    values = spectrum.eigenvalues[spectrum.eigenvalues > 1e-8 * spectrum.eigenvalues[0]]
    bulk = values[min(spectrum.spikes, len(values) - 1) :]
    edges = np.linspace(0, max(float(spectrum.grid[-1]), float(bulk[0])) * 1.02, _BINS + 1)
    measured_histogram(axes, bulk, edges, label="correlations")
    theory_line(axes, spectrum.grid, spectrum.density, series=1, label="Marchenko-Pastur")
    if spectrum.spikes:
        axes.plot(values[: spectrum.spikes], np.zeros(spectrum.spikes), "v", color=HARD, label="spikes", clip_on=False)
        if values[0] > 10 * edges[-1]:
            axes.set_xscale("symlog", linthresh=float(edges[-1]))
    mark(axes, spectrum.edge, "a spike begins")
    add_legend(axes)
    return figure


def links_figure(links: Sequence[Link], label: str) -> Figure:
    """The label along each direction with a band of 95%, where it can be told."""
    titles = [f"along direction {place + 1}" for place in range(len(links))]
    figure, every = panels(titles, x="held-out coordinate", y=f"mean of {label}")
    for axes, link in zip(every, links, strict=True):
        axes.plot(link.grid, link.mean, color=ACCENT, linewidth=1.8)
        if np.isfinite(link.half_width).all():
            low, high = link.mean - link.half_width, link.mean + link.half_width
            axes.fill_between(link.grid, low, high, color=ACCENT, alpha=0.25, linewidth=0)
    return figure


def curves_figure(curves: Sequence[Curve]) -> Figure:
    """Error against samples for each kind of estimator; theory as a line where it exists."""
    figure = new_figure(6.2, 4.0)
    axes = dress(figure.add_subplot(), x="samples", y="error / variance of the label")
    for series, curve in enumerate(curves):
        axes.set_xscale("log")
        measured_points(axes, curve.sizes, curve.mean, curve.error, series=series, label=curve.kind)
        if curve.theory is None:
            axes.plot(curve.sizes, curve.mean, color=axes.lines[-1].get_color(), linewidth=0.6, alpha=0.6)
        else:
            theory_line(axes, curve.sizes, curve.theory, series=series, label=f"{curve.kind}, theory")
    axes.set_xticks(curves[0].sizes, [str(size) for size in curves[0].sizes])
    axes.minorticks_off()
    axes.set_ylim(0, min(1.5, max(1.1, axes.get_ylim()[1])))
    mark(axes, 1.0, "the mean of the label", along="y")
    add_legend(figure, ncols=3)
    return figure
