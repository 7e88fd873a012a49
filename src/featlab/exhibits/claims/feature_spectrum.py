"""A giant step stretches the spectrum of the features to a long tail (Dandi et al. 2024, arXiv:2410.18938).

After the step neuron i sees erf(u_i lambda + noise), u_i in proportion to a_i and lambda the coordinate along the
common gradient: given lambda its feature has the mean erf(u_i lambda/sqrt 3) and the slope (2/sqrt(3 pi))
exp(-(u_i lambda)^2/3). The means give a few outliers, the slopes the bulk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.interpolate import PchipInterpolator

from featlab.exhibits.checks import identity, mean_and_error, ordered
from featlab.exhibits.documents import MULTI_INDEX
from featlab.exhibits.one_step import Setting, limit_features, realised_neurons
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Finding, Number, corrected
from featlab.figures.panels import measured_histogram, panels, theory_line
from featlab.figures.style import SERIES, add_legend
from featlab.study import Runner, Study
from featlab.theory.giant.features import Features
from featlab.theory.spectra import FeatureSpectrum, feature_spectrum
from featlab.theory.spikes import GradientSpike

TESTED = [1.0, 4.0, 8.0]
_SETTING = {"student": "erf", "teacher": "sin(h1)", "noise": 0.0, "psi1": 2.0, "psi2": 1.0}
# d, seeds, and the steps that are shown.
_SCALES = [0.5 * k for k in range(1, 17)]
_SIZES: dict[Size, tuple[int, int, list[float]]] = {
    Size.QUICK: (200, 10, [1.0, 2.0, 4.0, 8.0]),
    Size.PAPER: (500, 10, _SCALES),
    Size.LARGE: (2000, 10, _SCALES),
}
_POINTS = np.geomspace(0.005, 5.0, 36)
_EVERY = 0.05  # quantiles at which distribution functions are compared
_ALLOWED = 5  # eigenvalues out of place
_JUDGED = 3  # seeds whose spectra are compared with their own theory


def run_point(point: Mapping[str, Any], key: int) -> list[dict[str, Any]]:
    """The eigenvalues of (1/n) sum phi phi^T over n fresh samples, at every step of one start and batch."""
    setting, rng, rows = Setting.of(point), np.random.default_rng(key), []
    batch = setting.draw(rng, point["second_layer"])
    spike, inputs = batch.spike, rng.standard_normal((setting.sizes.samples, setting.sizes.dim))
    known = {"strength": spike.strength, "cosine": spike.cosine, "rest": spike.noise, "second": batch.second.tolist()}
    for scale in point["scales"]:
        features = setting.student.value(inputs @ (batch.start + scale * batch.gradient).T)
        values = np.linalg.eigvalsh(features.T @ features / len(features))
        rows.append({"scale": scale, "eigenvalue": values.tolist()} | known)
    return rows


RUNNER = Runner(run_point, index=("scale",), axes={"eigenvalue": ("place",), "second": ("neuron",)})


def studies(size: Size) -> Mapping[str, Part]:
    """Gaussian second layers at every step; and equal ones, as a control of the tail."""
    dim, repeats, scales = _SIZES[size]
    fixed = {**_SETTING, "dim": dim}
    gaussian = Study({**fixed, "scales": scales, "second_layer": "gaussian"}, repeats=repeats, key=40)
    equal = Study({**fixed, "scales": [8.0], "second_layer": "signs"}, repeats=repeats, key=41)
    return {"gaussian": Part(gaussian, f"{__name__}:RUNNER"), "equal": Part(equal, f"{__name__}:RUNNER")}


def prediction(data: Data) -> dict[str, Any]:
    """The limit for the pictures; and with each seed's own gradient and second layer, how far off it is."""
    runs = data["gaussian"]
    dim, scales = runs.sizes["place"], runs["scale"].values
    limit = {scale: _spectrum(_features(scale, dim), _POINTS, dim) for scale in scales}
    full = [_miss(runs.isel(repeat=seed), Model()) for seed in range(_JUDGED)]
    others = {name: _miss(runs.isel(repeat=0), model) for name, model in _OTHERS.items()}
    return {"limit": limit, "in full": float(np.mean(full)), **others}


def _features(scale: float, dim: int, gradient: GradientSpike | None = None, neurons: Any = None) -> Features:
    setting = Setting.of({**_SETTING, "dim": dim})
    return limit_features(setting.target, "erf", scale, setting.sizes, gradient, neurons)[0]


def _spectrum(features: Features, points: np.ndarray, dim: int) -> FeatureSpectrum:
    """Of 2d samples and d neurons."""
    return feature_spectrum(features, dim, dim, points, 2 * dim)


@dataclass(frozen=True)
class Model:
    """What is compared: with the neurons' own gradients or without, with their slopes as printed, eigenvalues off."""

    own: bool = True
    printed: bool = False
    factor: float = 1.0


_OTHERS = {
    "gradient of rank one": Model(own=False),
    "slope as printed": Model(own=False, printed=True),
    "eigenvalues 20% larger": Model(factor=1.2),
}


def _miss(run: Any, model: Model) -> float:
    """The largest distance of the distribution functions over all steps tested, given a seed's gradient and a_i."""
    neurons, found = realised_neurons(run["second"].isel(scale=0).values), []
    strength, cosine, rest = (float(run[name].isel(scale=0)) for name in ("strength", "cosine", "rest"))
    gradient = GradientSpike(strength, cosine, rest if model.own else 0.0)
    for scale in TESTED:
        values = model.factor * run["eigenvalue"].sel(scale=scale).values
        features = _features(scale, values.size, gradient, neurons)
        found.append(_distance(_as_printed(features) if model.printed else features, values))
    return max(found)


def _as_printed(features: Features) -> Features:
    """The slope exp(-3 (u lambda)^2) in place of exp(-(u lambda)^2/3), the same at lambda = 0 and in total energy."""
    top = 2 / np.sqrt(3 * np.pi)
    printed = top * (features.slopes / top) ** 9
    return replace(features, slopes=printed, residuals=features.residuals + features.slopes**2 - printed**2)


def _distance(features: Features, values: np.ndarray) -> float:
    places = np.arange(_EVERY / 2, 1, _EVERY) * values.size
    index = places.astype(int)
    found = _spectrum(features, values[index], values.size)
    return float(np.max(np.abs(found.cumulative - (index + 0.5) / values.size)))


def verdict(data: Data, predicted: dict[str, Any]) -> Finding:
    """The distribution, with the misprint corrected and the neurons' own gradients; the tail and where it is from."""
    width = data["gaussian"].sizes["place"]
    allowed, statement = _ALLOWED / width, "the eigenvalues of the features are distributed as predicted"
    wrong = "eigenvalues 20% larger"
    control = {"control": wrong, "control_difference": predicted[wrong]}
    tails = {scale: _tail(data["gaussian"], scale) for scale in TESTED}
    correction = (
        "The slope of a neuron is (2/sqrt(3 pi)) exp(-(u lambda)^2/3), not exp(-3 (u lambda)^2); and the part of the "
        "gradient that is not of rank one must be kept, r_i^2 = 1 + gamma^2 a_i^2 Var(sigma') E[y^2] d/n."
    )
    checks = [
        corrected(
            identity(statement, predicted["slope as printed"], allowed, **control),
            identity(statement, predicted["in full"], allowed, **control),
            correction,
        ),
        ordered(
            "a larger step makes a longer tail (99% quantile over median)",
            {f"gamma = {scale:g}": tails[scale] for scale in (1.0, 8.0)},
        ),
    ]
    numbers = [
        Number(f"distance of the distributions, {name}", 0.0, predicted[name], None, old)
        for name, old in (("in full", 0.007), ("gradient of rank one", 0.037), ("slope as printed", None))
    ]
    for scale, old in zip(TESTED, (9.0, 9.0, 13.4), strict=True):
        words = f"99% quantile over median, gamma = {scale:g}"
        numbers.append(Number(words, _predicted_tail(predicted["limit"][scale]), *mean_and_error(tails[scale]), old))
    words = "99% quantile over median, gamma = 8, all |a_i| equal"
    numbers.append(Number(words, None, *mean_and_error(_tail(data["equal"], 8.0))))
    remark = (
        "At these sizes the tail of the bulk is only a little longer at gamma = 8 than at 1, as theory says; the "
        "prototype's 13.4 does not come out with Gaussian a. With all |a_i| equal it comes near: by this measure it is "
        "not unequal second layers that stretch the bulk."
    )
    return Finding(checks, numbers, [remark])


def _predicted_tail(spectrum: FeatureSpectrum) -> float:
    """q99/q50 of the limit, its distribution function interpolated in the logarithm."""
    fine = np.linspace(np.log(_POINTS[0]), np.log(_POINTS[-1]), 4001)
    share = PchipInterpolator(np.log(_POINTS), spectrum.cumulative)(fine)
    low, high = np.exp(np.interp([0.5, 0.99], share, fine))
    return float(high / low)


def _tail(data: Any, scale: float) -> np.ndarray:
    """q99/q50 of each seed."""
    values = data["eigenvalue"].sel(scale=scale).transpose("repeat", "place").values
    return np.quantile(values, 0.99, axis=1) / np.median(values, axis=1)


def figure(data: Data, predicted: dict[str, Any]) -> Figure:
    """The density after a small and a large step, and the tails."""
    titles = ["After a step gamma = 1", "After a step gamma = 8", "How much lies above"]
    x, y = (
        "eigenvalue of the features' covariance",
        ["density per decade", "density per decade", "share of eigenvalues"],
    )
    made, (small, large, tail) = panels(titles, x=x, y=y)
    for axes, scale in ((small, 1.0), (large, 8.0)):
        draw_density(axes, data, predicted, scale)
    for series, scale in enumerate(TESTED):
        values = np.sort(data["gaussian"]["eigenvalue"].sel(scale=scale).values.ravel())[::-1]
        above = 1 - predicted["limit"][scale].cumulative
        kept = above > 1e-4
        theory_line(tail, _POINTS[kept], above[kept], series=series, label=f"theory, gamma = {scale:g}")
        shares = (np.arange(values.size) + 0.5) / values.size
        shown = np.unique(np.geomspace(1, values.size - 1, 40).astype(int))
        tail.plot(values[shown], shares[shown], "os^"[series], color=SERIES[series], markersize=4)
    tail.set(xscale="log", yscale="log", xlim=(0.05, 400), ylim=(5e-4, 1.3))
    add_legend(tail, loc="lower left")
    return made


def draw_density(axes: Axes, data: Data, predicted: dict[str, Any], scale: float) -> None:
    """Histogram over all seeds and the predicted bulk, per decade."""
    values = data["gaussian"]["eigenvalue"].sel(scale=scale).values.ravel()
    measured_histogram(axes, np.log10(values), np.arange(-2.2, 2.7, 0.1), label="simulation")
    density = predicted["limit"][scale].density * _POINTS * np.log(10)
    axes.plot(np.log10(_POINTS), density, color=SERIES[1], linewidth=1.8, label="theory, bulk")
    axes.set(xlim=(-2.2, 2.6), ylim=(0, 0.8))
    axes.set_xticks([-2, -1, 0, 1, 2], ["0.01", "0.1", "1", "10", "100"])
    add_legend(axes, loc="upper right")


def animation(data: Data, predicted: dict[str, Any]) -> Iterator[Figure]:
    """The step grows; the tail gets longer."""
    for scale in predicted["limit"]:
        made, (axes,) = panels(
            [f"step gamma = {scale:g} per neuron"], x="eigenvalue of the features' covariance", y="density per decade"
        )
        draw_density(axes, data, predicted, scale)
        yield made


EXHIBIT = Exhibit(
    id="feature-spectrum",
    title="A long tail in the spectrum of the features",
    claim="One giant step on y = sin(h) stretches the spectrum of the features' covariance to a long tail, given by a "
    "conditional Gaussian equivalent with the basis erf(a lambda/sqrt 3), beside a large outlier.",
    document=MULTI_INDEX,
    papers=("dandi2024spectrum", "cui2024"),
    protocol="erf student with Gaussian second layer on sin(h1), n = 2d, p = d, step gamma = eta/p of up to 8 per "
    "neuron. Eigenvalues of the covariance of 2d fresh samples. Distribution functions are compared at 20 quantiles, "
    "three seeds with the gradient and the second layer that they had; five eigenvalues may be out of place. The "
    "source states no sizes, nor which covariance; that of the population, tried first, was missed by .003 beyond what "
    "is allowed.",
    caption="Histograms over all seeds; lines are the limit. Left and middle: density per decade; the outliers on the "
    "right are no part of the bulk. Right: the share of eigenvalues above.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
    animation=animation,
)
