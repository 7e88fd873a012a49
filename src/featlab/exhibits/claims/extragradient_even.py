"""Even targets take d log d samples with the inner step (Arnaboldi et al. 2024, arXiv:2405.15459).

He4 has information exponent 4 and generative exponent 2: with an inner step on each sample the overlap grows
exponentially from its 1/sqrt(d) at a random start, which takes log(d) / (2 g) in units of d samples, g its growth
rate. One-pass SGD would need d^3 samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from featlab.exhibits.checks import close, contrast, mean_and_error, standard_error
from featlab.exhibits.documents import MULTI_INDEX
from featlab.exhibits.predicting import predict_at
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Finding, Number
from featlab.figures.panels import mark, measured_points, panels, theory_line
from featlab.figures.style import add_legend
from featlab.gaussian.crossings import hitting_times
from featlab.study import Study

_INNER, _PLAIN = "inner", "plain"
_NAMES = {_INNER: "with the inner step", _PLAIN: "one-pass SGD"}
RECOVERED = 0.35  # half of what the overlap tends to
# Dimensions, seeds side by side, repeats: the slope of the half time in log d takes some hundred runs.
_SIZES = {
    Size.QUICK: ([256], 24, 1),
    Size.PAPER: ([500, 2000, 8000], 96, 4),
    Size.LARGE: ([2000, 8000, 32_000], 96, 4),
}
_LAST = 700.0
_RULE = {
    "target": "He4(h1)",
    "step_size": "0.03/d",
    "loss": "correlation",
    "constraint": "spherical",
    "activation": "relu",
    "biases": -0.5,
    "design": "virtual",
    "observe": ["overlap"],
    "times": np.linspace(0.0, _LAST, 36).tolist(),
}
_EARLIER = {(_INNER, 8000): 0.695, (_PLAIN, 8000): 0.024}
_EARLIER_HALF = {500: 217.0, 2000: 294.0, 8000: 308.0}


@dataclass(frozen=True)
class Predicted:
    """The equation from an overlap of 1/sqrt(d) at one dimension; from another start it is the same curve, later."""

    dim: int
    times: np.ndarray
    curve: np.ndarray

    @property
    def rate(self) -> float:
        """g, from the first doubling."""
        return float(np.log(2) / hitting_times(self.times, np.log2(self.curve / self.curve[0]), 1.0))

    def delay(self, dim: int) -> float:
        """How much later the curve is at another dimension."""
        return float(np.log(dim / self.dim) / (2 * self.rate))

    def half_time(self, dim: int) -> float:
        """When it has half of its final overlap."""
        return float(hitting_times(self.times, self.curve, RECOVERED)) + self.delay(dim)


def studies(size: Size) -> Mapping[str, Part]:
    """The same rule with the inner step and without, from random starts."""
    dims, seeds, repeats = _SIZES[size]
    fixed, axes = {**_RULE, "seeds": seeds}, {"dim": dims}
    inner = {"learner": "extragradient", "inner_step": "0.5/d"}
    return {
        _INNER: Part(Study({**fixed, **inner}, axes, repeats=repeats, key=114)),
        _PLAIN: Part(Study({**fixed, "learner": "online-sgd"}, axes, repeats=repeats, key=115)),
    }


def prediction(data: Data) -> Predicted:
    """The limit of large d at fixed n/d, from the typical overlap of a random start at the smallest dimension."""
    dim = int(data[_INNER]["dim"].values[0])
    found = predict_at(data[_INNER], dim=dim, times=np.linspace(0.0, _LAST, 71).tolist())
    return Predicted(dim, found["time"].values, np.abs(found["overlap"].values.ravel()))


def overlaps(part: xr.Dataset, dim: int) -> np.ndarray:
    """|m|, runs by times."""
    chosen = abs(part["overlap"].sel(dim=dim)).transpose(..., "time", "neuron", "direction")
    return chosen.values.reshape(-1, chosen.sizes["time"])


def verdict(data: Data, predicted: Predicted) -> Finding:
    """Found with the inner step at every dimension, to the predicted overlap, later by log(d) / (2 g)."""
    dims = data[_INNER]["dim"].values.tolist()
    checks, numbers, halves = [], [], []
    for dim in dims:
        final = {name: overlaps(data[name], dim)[:, -1] for name in _NAMES}
        checks += [
            contrast(
                f"d = {dim}: He4 is found (|m| > {RECOVERED}) after {_LAST:g} d samples with the inner step only",
                final[_INNER] > RECOVERED,
                final[_PLAIN] > RECOVERED,
                name=_NAMES[_INNER],
                control_name=_NAMES[_PLAIN],
            ),
            close(
                f"d = {dim}: those that have found it have the predicted overlap",
                final[_INNER][final[_INNER] > RECOVERED],
                predicted.curve[-1],
                allowance=dim**-0.5,
            ),
        ]
        for name, theory in ((_INNER, predicted.curve[-1]), (_PLAIN, 0.0)):
            number = mean_and_error(final[name])
            numbers.append(Number(f"|m| {_NAMES[name]}, d = {dim}", float(theory), *number, _EARLIER.get((name, dim))))
        times = hitting_times(data[_INNER]["time"].values, overlaps(data[_INNER], dim), RECOVERED)
        halves.append(np.minimum(times, _LAST))
        half = predicted.half_time(dim)
        numbers.append(Number(f"half time, d = {dim}", half, *mean_and_error(halves[-1]), _EARLIER_HALF.get(dim)))
    if len(dims) > 1:
        growth = (halves[-1] - halves[0]) / np.log(dims[-1] / dims[0])
        statement = "the half time grows by 1/(2 g) with the logarithm of d, g the rate of the equation"
        checks.append(close(statement, growth, 0.5 / predicted.rate))
    return Finding(checks, numbers, [_REMARK])


_REMARK = (
    "Half times scatter with the start: log|m| at random has a standard deviation of 1.1, over the rate g. Chance "
    "moves the overlap during the search as well, so that the time of the equation from 1/sqrt(d) is not the mean over "
    "starts."
)


def figure(data: Data, predicted: Predicted) -> Figure:
    """Overlap against samples at each dimension."""
    made, (axes,) = panels(["He4: every sample used twice"], x="samples over dimension, n / d", y="overlap |m|")
    for series, dim in enumerate(data[_INNER]["dim"].values.tolist()):
        theory_line(axes, predicted.times + predicted.delay(dim), predicted.curve, series=series)
        measured = overlaps(data[_INNER], dim)[:, ::2]
        points = (data[_INNER]["time"].values[::2], np.median(measured, axis=0), 1.25 * standard_error(measured))
        measured_points(axes, *points, series=series, label=f"{_NAMES[_INNER]}, d = {dim}")
    plain = overlaps(data[_PLAIN], dim)[:, ::2]
    points = (data[_PLAIN]["time"].values[::2], np.median(plain, axis=0), 1.25 * standard_error(plain))
    measured_points(axes, *points, series=3, label=f"{_NAMES[_PLAIN]}, d = {dim}")
    mark(axes, RECOVERED, "found", along="y")
    axes.set_xlim(0, _LAST)
    axes.set_ylim(0, 1)
    add_legend(axes, loc="upper left")
    return made


EXHIBIT = Exhibit(
    id="extragradient-even",
    title="Extragradient on an even target",
    claim="With an inner step on the same sample, one pass over O(d log d) samples finds He4, of information exponent "
    "4; plain SGD does not.",
    document=MULTI_INDEX,
    papers=("arnaboldi2024",),
    protocol="One relu neuron of threshold 1/2 on the sphere, correlation loss, steps .03/d, inner step .5/d, random "
    "start, 700 d samples.",
    caption="Points are medians over seeds with two standard errors. Lines: the limit of large d from an overlap of "
    "1/sqrt(d), a curve that comes later by log(d) / (2 g).",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
    shows=("batch_reuse",),
)
