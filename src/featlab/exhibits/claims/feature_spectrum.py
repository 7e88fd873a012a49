"""A giant step stretches the spectrum of the features to a long tail (Dandi et al. 2024, arXiv:2410.18938).

After the step neuron i sees erf(u_i lambda + noise), u_i in proportion to a_i and lambda the coordinate along the
common gradient: given lambda its feature has the mean erf(u_i lambda/sqrt 3) and the slope (2/sqrt(3 pi))
exp(-(u_i lambda)^2/3). The means give a few outliers, the slopes the bulk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab import exhibits as ex

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from featlab.theory.giant.features import Features
    from featlab.theory.spectra import FeatureSpectrum

_EARLIER = {1.0: 9.0, 4.0: 9.0, 8.0: 13.4}  # tails of a prototype, at the steps that are tested
_STEPS = [0.5 * k for k in range(1, 17)]
# d, and the steps that are shown.
_SIZES = {ex.Size.QUICK: (200, [1.0, 2.0, 4.0, 8.0]), ex.Size.PAPER: (500, _STEPS), ex.Size.LARGE: (2000, _STEPS)}
_POINTS = np.geomspace(0.005, 5.0, 36)
_ALLOWED = 5  # eigenvalues out of place
_JUDGED = 3  # seeds whose spectra are compared with their own theory


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """Gaussian second layers at every step; and equal ones, as a control of the tail."""
    (dim, steps), derived = _SIZES[size], {"samples": "2*dim", "width": "dim"}

    def part(layer: str, steps: list[float], key: int) -> ex.Part:
        fixed = {"activation": "erf", "target": "sin(h1)", "dim": dim, "steps": steps, "second_layer": layer}
        return ex.Part(ex.Study(fixed, {}, derived, repeats=10, key=key, observe=["spectrum"]), "one-step")

    return {"gaussian": part("gaussian", steps, 40), "equal": part("signs", [8.0], 41)}


def theory(data: ex.Data) -> ex.Data:
    """The limit for the pictures; and with each seed's own gradient and second layer, how far off it is."""
    import xarray as xr

    from featlab.exhibits.one_step import limit_features, limit_spectrum
    from featlab.runners.first_gradient import experiment_of

    runs = data["gaussian"]
    of = experiment_of(ex.parameters_of(runs))
    found = [limit_spectrum(of, limit_features(of, step)[0], _POINTS) for step in runs["step"].values]
    curves = {name: (("step", "point"), [getattr(one, name) for one in found]) for name in ("density", "cumulative")}
    limit = xr.Dataset({**curves, "tail": ("step", [_limit_tail(one) for one in found])}, {"step": runs["step"].values})
    misses = {
        "in full": np.mean([_miss(runs, seed) for seed in range(_JUDGED)]),
        "gradient of rank one": _miss(runs, own=False),
        "slope as printed": _miss(runs, own=False, change=_as_printed),
        "eigenvalues 20% larger": _miss(runs, factor=1.2),
    }
    return {"gaussian": limit, "misses": xr.Dataset(misses)}


def _miss(runs: ex.Dataset, seed: int = 0, factor: float = 1.0, **different: Any) -> float:
    """How far theory with a seed's own gradient and second layer is off, at all steps tested."""
    from featlab.exhibits.one_step import spectral_miss
    from featlab.runners.first_gradient import experiment_of

    run = runs.isel(repeat=seed)
    spectra = {step: factor * run["spectrum"].sel(step=step).values for step in _EARLIER}
    return spectral_miss(experiment_of(ex.parameters_of(run)), int(run["number"][0]), spectra, **different)


def _as_printed(features: Features) -> Features:
    """The slope exp(-3 (u lambda)^2) in place of exp(-(u lambda)^2/3), the same at lambda = 0 and in total energy."""
    top = 2 / np.sqrt(3 * np.pi)
    printed = top * (features.slopes / top) ** 9
    return replace(features, slopes=printed, residuals=features.residuals + features.slopes**2 - printed**2)


def _limit_tail(spectrum: FeatureSpectrum) -> float:
    """q99/q50 of the limit, its distribution function interpolated in the logarithm."""
    from scipy.interpolate import PchipInterpolator

    fine = np.linspace(np.log(_POINTS[0]), np.log(_POINTS[-1]), 4001)
    low, high = np.exp(np.interp([0.5, 0.99], PchipInterpolator(np.log(_POINTS), spectrum.cumulative)(fine), fine))
    return float(high / low)


def tail(data: ex.Dataset) -> ex.Array:
    """q99/q50."""
    values = data["spectrum"]
    return values.quantile(0.99, "eigenvalue") / values.median("eigenvalue")


def _out_of_place(name: str) -> ex.Identity:
    """The distance of distribution functions, as a number of eigenvalues."""

    def miss(name: str) -> Callable[[ex.View, Mapping[str, Any]], float]:
        return lambda view, at: float(view.theory["misses"][name]) * at["width"]

    wrong = "eigenvalues 20% larger"
    return ex.Identity(miss(name), _ALLOWED, control=wrong, control_difference=miss(wrong))


def _distances(view: ex.View, name: str) -> list[ex.Number]:
    misses = view.theory["misses"]
    pairs = {"in full": 0.007, "gradient of rank one": 0.037, "slope as printed": None}.items()
    return [ex.Number(f"{name}, {which}", 0.0, float(misses[which]), None, old) for which, old in pairs]


def draw_density(step: float, axes: Axes, view: ex.View) -> None:
    """Histogram over all seeds and the predicted bulk, per decade."""
    from featlab.figures.panels import measured_histogram
    from featlab.figures.style import SERIES, add_legend

    values = view.measured(ex.Of("spectrum", "gaussian", {"step": step})).values.ravel()
    measured_histogram(axes, np.log10(values), np.arange(-2.2, 2.7, 0.1), label="simulation")
    density = view.theory["gaussian"]["density"].sel(step=step).values * _POINTS * np.log(10)
    axes.plot(np.log10(_POINTS), density, color=SERIES[1], linewidth=1.8, label="theory, bulk")
    axes.set(xlim=(-2.2, 2.6), ylim=(0, 0.8))
    axes.set_xticks([-2, -1, 0, 1, 2], ["0.01", "0.1", "1", "10", "100"])
    add_legend(axes, loc="upper right")


def _draw_tails(axes: Axes, view: ex.View) -> None:
    from featlab.figures.panels import theory_line
    from featlab.figures.style import SERIES

    for series, step in enumerate(_EARLIER):
        values = np.sort(view.measured(ex.Of("spectrum", "gaussian", {"step": step})).values.ravel())[::-1]
        above = 1 - view.theory["gaussian"]["cumulative"].sel(step=step).values
        kept = above > 1e-4
        theory_line(axes, _POINTS[kept], above[kept], series=series, label=f"theory, gamma = {step:g}")
        shares = (np.arange(values.size) + 0.5) / values.size
        shown = np.unique(np.geomspace(1, values.size - 1, 40).astype(int))
        axes.plot(values[shown], shares[shown], "os^"[series], color=SERIES[series], markersize=4)
    axes.set(xscale="log", yscale="log", xlim=(0.05, 400), ylim=(5e-4, 1.3))


_X, _Y = "eigenvalue of the features' covariance", "density per decade"


def animation(view: ex.View) -> Iterator[Figure]:
    """The step grows; the tail gets longer."""
    from featlab.figures.panels import panels

    for step in view.data["gaussian"]["step"].values.tolist():
        made, (axes,) = panels([f"step gamma = {step:g} per neuron"], x=_X, y=_Y)
        draw_density(step, axes, view)
        yield made


EXHIBIT = ex.Exhibit(
    id="feature-spectrum",
    title="A long tail in the spectrum of the features",
    claim="One giant step on y = sin(h) stretches the spectrum of the features' covariance to a long tail, given by a "
    "conditional Gaussian equivalent with the basis erf(a lambda/sqrt 3), beside a large outlier.",
    document=ex.MULTI_INDEX,
    papers=("dandi2024spectrum", "cui2024"),
    protocol="erf student with Gaussian second layer on sin(h1), n = 2d, p = d, step gamma = eta/p of up to 8 per "
    "neuron. Eigenvalues of the covariance of 2d fresh samples. Distribution functions are compared at 20 quantiles, "
    "three seeds with the gradient and the second layer that they had; five eigenvalues may be out of place. The "
    "source states no sizes, nor which covariance; that of the population, tried first, was missed by .003 beyond what "
    "is allowed.",
    caption="Histograms over all seeds; lines are the limit. Left and middle: density per decade; the outliers on the "
    "right are no part of the bulk. Right: the share of eigenvalues above.",
    studies=studies,
    theory=theory,
    checks={
        "the eigenvalues of the features are distributed as predicted": ex.Corrected(
            _out_of_place("slope as printed"),
            _out_of_place("in full"),
            "The slope of a neuron is (2/sqrt(3 pi)) exp(-(u lambda)^2/3), not exp(-3 (u lambda)^2); and the part of "
            "the gradient that is not of rank one must be kept, r_i^2 = 1 + gamma^2 a_i^2 Var(sigma') E[y^2] d/n.",
        ),
        "a larger step makes a longer tail (99% quantile over median)": ex.Ordered(
            [ex.Of(tail, "gaussian", {"step": step}, "gamma = {step:g}") for step in (1.0, 8.0)]
        ),
    },
    numbers={
        "distance of the distributions": _distances,
        "99% quantile over median, gamma = {step:g}": ex.Value(
            ex.Of(tail, "gaussian"), "tail", each="step", only=lambda at: at["step"] in _EARLIER, earlier=_EARLIER
        ),
        "99% quantile over median, gamma = 8, all |a_i| equal": ex.Value(ex.Of(tail, "equal"), predicted=False),
    },
    remarks="At these sizes the tail of the bulk is only a little longer at gamma = 8 than at 1, as theory says; the "
    "prototype's 13.4 does not come out with Gaussian a. With all |a_i| equal it comes near: by this measure it is "
    "not unequal second layers that stretch the bulk.",
    figure={
        "After a step gamma = 1": ex.Panel(partial(draw_density, 1.0), x=_X, y=_Y, legend=None),
        "After a step gamma = 8": ex.Panel(partial(draw_density, 8.0), x=_X, y=_Y, legend=None),
        "How much lies above": ex.Panel(_draw_tails, x=_X, y="share of eigenvalues", legend="lower left"),
    },
    animation=animation,
)
