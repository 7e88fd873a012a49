"""The gradient of a random neuron: |E G| ~ d^(-(k-1)/2), and n samples deviate from it by sqrt(d/n).

k is the information exponent of the target (Ben Arous et al. 2021; Ba et al. 2022). So a single step sees the direction
only from n ~ d^k samples on: in proportion to d only for k = 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from featlab.exhibits.checks import agrees, exponent, standard_error
from featlab.exhibits.documents import STRUCTURED_DATA
from featlab.exhibits.predicting import parameters_at
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Check, Finding, Number
from featlab.figures.panels import measured_points, panels, theory_line
from featlab.figures.style import add_legend
from featlab.gaussian.powerlaw import fit_power_law
from featlab.study import Study
from featlab.study.runner import Row, Runner

TARGETS = {1: "h1", 2: "He2(h1)/sqrt(2)", 3: "He3(h1)/sqrt(6)"}
ACTIVATION, BIAS, GROUPS = "erf", 0.5, 20
# Corrections to a power of d are of relative order 1/d; fits allow them this many times 1/d.
_CORRECTION = 4.0
# Largest power of 2 in d and step between powers; random neurons for the mean and for the deviation; n beside d, d
# beside n, and the largest power of 2 in n.
_SIZES = {
    Size.QUICK: (12, 2, 6000, 200, 1024, 256, 12),
    Size.PAPER: (12, 1, 10_000, 1000, 4096, 1024, 14),
    Size.LARGE: (20, 1, 20_000, 1000, 4096, 10**6, 14),
}
# The part, the axis along which it is fitted, what is fitted.
_SCALINGS = {"mean": ("dim", "mean"), "over_dim": ("dim", "deviation"), "over_samples": ("samples", "deviation")}


def run_point(point: Mapping[str, Any], key: int) -> list[Row]:
    """Squares of |E G| and of |G_n - E G|, averaged over each of 20 groups of random neurons."""
    from featlab.gaussian.activations import activation
    from featlab.simulation.neuron_gradients import neuron_gradients
    from featlab.targets import target

    sizes = {name: point[name] for name in ("dim", "samples", "neurons")}
    found = neuron_gradients(target(TARGETS[point["k"]]), activation(ACTIVATION), bias=BIAS, **sizes, seed=key)
    mean, deviation = (np.reshape(part**2, (GROUPS, -1)).mean(axis=1) for part in (found.mean, found.deviation))
    return [{"seed": group, "mean": mean[group], "deviation": deviation[group]} for group in range(GROUPS)]


RUNNER = Runner(run_point, index=("seed",))


def studies(size: Size) -> Mapping[str, Part]:
    """The mean over d; the deviation over d at one n, and over n at one d."""
    last, step, many, few, samples, dim, last_samples = _SIZES[size]
    degrees, dims = list(TARGETS), [2**power for power in range(6, last + 1, step)]
    batches = [2**power for power in range(8, last_samples + 1, step)]
    grids = {
        "mean": Study({"samples": 0, "neurons": many}, {"k": degrees, "dim": dims}, key=501),
        "over_dim": Study({"samples": samples, "neurons": few}, {"k": degrees, "dim": dims}, key=502),
        "over_samples": Study({"dim": dim, "neurons": few}, {"k": degrees, "samples": batches}, key=503),
    }
    return {name: Part(grid, f"{__name__}:RUNNER") for name, grid in grids.items()}


def prediction(data: Data) -> dict[str, xr.DataArray]:
    """Root mean squares over random neurons and samples, exact at every d."""
    return {name: _sizes(data[name], *_SCALINGS[name]) for name in _SCALINGS}


def _sizes(data: xr.Dataset, axis: str, quantity: str) -> xr.DataArray:
    from featlab.learners.students import TwoLayer
    from featlab.theory import gradient_sizes

    student, shared = TwoLayer(activation=ACTIVATION, biases=BIAS), parameters_at(data)
    sizes = [[{**shared, axis: value} for value in data[axis].values.tolist()] for _ in data["k"].values]
    values = [
        [
            getattr(gradient_sizes(TARGETS[k], dim=at["dim"], samples=at["samples"] or 1, student=student), quantity)
            for at in row
        ]
        for k, row in zip(data["k"].values.tolist(), sizes, strict=True)
    ]
    return xr.DataArray(values, {"k": data["k"].values, axis: data[axis].values}, ("k", axis))


def measured(data: xr.Dataset, axis: str, quantity: str) -> tuple[xr.DataArray, xr.DataArray]:
    """The root mean square over all neurons, and its standard error."""
    squares = data[quantity].transpose("seed", "k", axis)
    size = squares.mean("seed") ** 0.5
    return size, xr.DataArray(standard_error(squares), size.coords, size.dims) / (2 * size)


def claimed_exponent(name: str, k: int) -> float:
    """Of d for the mean, -(k-1)/2; of d and of n for the deviation, 1/2 and -1/2."""
    return {"mean": -(k - 1) / 2, "over_dim": 0.5, "over_samples": -0.5}[name]


def verdict(data: Data, predicted: dict[str, xr.DataArray]) -> Finding:
    """Sizes are the exact ones, and each exponent is the claimed one and not its neighbours."""
    checks, numbers = [], []
    for name, (axis, quantity) in _SCALINGS.items():
        squares = data[name][quantity].transpose("seed", "k", axis)
        words = {"mean": "|E G|", "deviation": "|G_n - E G|"}[quantity]
        along = {"dim": "d", "samples": "n"}[axis]
        checks.append(_exact(f"{words} over {along} has the exact size for each k", squares / predicted[name] ** 2))
        for k in TARGETS:
            check, fitted, error = _exponent(f"{words}, k = {k}: power of {along}", data[name], name, k)
            checks.append(check)
            numbers.append(Number(f"exponent of {along} in {words}, k = {k}", claimed_exponent(name, k), fitted, error))
    return Finding(checks, numbers)


def _exact(statement: str, shares: xr.DataArray) -> Check:
    """Each k is a quantity of its own: the nearly constant mean of k = 1 must not vouch for the others."""
    by_k = {f"k = {k}": shares.sel(k=k, drop=True) for k in TARGETS}
    ones = {name: xr.ones_like(part.isel(seed=0, drop=True)) for name, part in by_k.items()}
    measurement = xr.Dataset(by_k, attrs={"dim": 0, "dtype": "float64"})
    return agrees(statement, xr.Dataset(ones), measurement, names=[*by_k], allowance=0.0)


def _exponent(statement: str, data: xr.Dataset, name: str, k: int) -> tuple[Check, float, float]:
    axis, quantity = _SCALINGS[name]
    size, error = (part.sel(k=k) for part in measured(data, axis, quantity))
    dims = data[axis].values if axis == "dim" else np.full(data[axis].size, parameters_at(data)["dim"])
    allowed = np.hypot(error.values, _CORRECTION / dims * size.values)
    claimed = claimed_exponent(name, k)
    above, below = (
        exponent(statement, data[axis].values, size.values, allowed, claimed, wrong=claimed + shift)
        for shift in (0.5, -0.5)
    )
    fit = fit_power_law(data[axis].values, size.values, allowed)
    both = replace(above, control=f"{above.control}, and {below.control}", refused=above.refused and below.refused)
    return both, fit.exponent, fit.exponent_error


def figure(data: Data, predicted: dict[str, xr.DataArray]) -> Figure:
    """Both scalings, three targets."""
    titles = ["The mean knows the direction", "The deviation does not"]
    made, (left, right) = panels(
        titles,
        x=["dimension d", "dimension over samples, d / n"],
        y=["size of the mean, $|E\\,G|$", "deviation of n samples, $|G_n - E\\,G|$"],
    )
    for series, k in enumerate(TARGETS):
        power = {1: "constant", 2: "$d^{-1/2}$", 3: "$d^{-1}$"}[k]
        size, error = (part.sel(k=k) for part in measured(data["mean"], *_SCALINGS["mean"]))
        theory_line(left, size["dim"], predicted["mean"].sel(k=k), series=series, label=f"k = {k}: {power}")
        measured_points(left, size["dim"], size, error, series=series)
        ratios, lines = [], []
        for name in ("over_dim", "over_samples"):
            axis = _SCALINGS[name][0]
            size, error = (part.sel(k=k) for part in measured(data[name], *_SCALINGS[name]))
            shared = parameters_at(data[name])
            ratio = size[axis] / shared["samples"] if axis == "dim" else shared["dim"] / size[axis]
            measured_points(right, ratio, size, error, series=series)
            ratios.append(ratio.values)
            lines.append(predicted[name].sel(k=k).values)
        order = np.argsort(np.concatenate(ratios))
        line = np.concatenate(lines)[order]
        theory_line(right, np.concatenate(ratios)[order], line, series=series, label=f"k = {k}: $(d/n)^{{1/2}}$")
    left.set_xscale("log", base=2)
    for panel in (left, right):
        panel.set_yscale("log")
        add_legend(panel)
    right.set_xscale("log")
    return made


EXHIBIT = Exhibit(
    id="gradient-size",
    title="How much a gradient knows",
    claim="At a random neuron the gradient's mean has size d^(-(k-1)/2), k the information exponent, and the gradient "
    "of n samples deviates from it by sqrt(d/n): one step needs n ~ d^k.",
    document=STRUCTURED_DATA,
    papers=("ba2023", "benarous2021"),
    protocol="G = x sigma'(<x, w> + 1/2) y with sigma = erf and y = He_k(<x, beta>)/sqrt(k!), w uniform on the sphere; "
    "root mean squares over random w. The mean is integrated over the two coordinates it depends on, the gradient of n "
    "samples is drawn exactly in law at any d. The bias 1/2 is ours: an odd neuron without bias has no second Hermite "
    f"coefficient. Fits allow corrections of {_CORRECTION:g}/d to the powers.",
    caption="Lines are exact averages over random neurons, points are random ones, with two standard errors. On "
    "the right, d varies at one n and n at one d.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
    shows=("information_exponent",),
)
