"""Repeating each sample once breaks the information exponent (Arnaboldi et al. 2024, arXiv:2405.15459).

On y = He3(h1), of information exponent 3, one-pass SGD needs n ~ d^2 samples. If the gradient at each sample is taken
after an inner step on that same sample, the update sees E[F(y) h1] for a non-linear F: the generative exponent decides,
and n ~ d log d samples suffice.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from featlab.exhibits.checks import agrees, contrast, mean_and_error, standard_error
from featlab.exhibits.predicting import at_point, predict_at
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Finding, Number
from featlab.figures.panels import measured_points, panels, theory_line
from featlab.figures.style import add_legend
from featlab.study import Study

RECOVERED = 0.5
LAST = 80.0
_SIZES = {
    Size.QUICK: {"dim": 2000, "seeds": 12},
    Size.PAPER: {"dim": 8000, "seeds": 32},
    Size.LARGE: {"dim": 10**6, "seeds": 32},
}
# The paper's steps c/d and rho0/d with c = .1 and rho0 = .3, on the correlation loss and the sphere.
_RULE = {
    "target": "He3(h1)",
    "step_size": "0.1/d",
    "loss": "correlation",
    "constraint": "spherical",
    "activation": "tanh",
    "biases": 0.5,
    "design": "virtual",
    "times": [0.0, 10.0, 20.0, 25.0, 30.0, 40.0, 60.0, LAST],
}
_NAMES = {"extragradient": "with the inner step", "plain": "one-pass SGD"}


def studies(size: Size) -> Mapping[str, Part]:
    """The same rule with the inner step and without."""
    fixed = {**_RULE, **_SIZES[size], "observe": ["overlap", "gram", "second_layer", "biases"]}
    return {
        "extragradient": Part(Study({**fixed, "learner": "extragradient", "inner_step": "0.3/d"}, key=11)),
        "plain": Part(Study({**fixed, "learner": "online-sgd"}, key=12)),
    }


def prediction(data: Data) -> dict[str, xr.Dataset]:
    """The limit of large d, from the start of each seed."""
    return {name: predict_at(data[name], start=at_point(data[name])) for name in data}


def verdict(data: Data, predicted: dict[str, xr.Dataset]) -> Finding:
    """The curve is the predicted one, and without the inner step nothing is found."""
    final = {name: np.abs(data[name]["overlap"].sel(time=LAST).values.ravel()) for name in data}
    checks = [
        agrees(
            "the overlap with the inner step follows the limit of large d",
            predicted["extragradient"],
            at_point(data["extragradient"]),
            names=["overlap"],
            signless=True,
        ),
        contrast(
            f"with the inner step the direction is found (|m| > {RECOVERED}) after {LAST:g} d samples",
            final["extragradient"] > RECOVERED,
            final["plain"] > RECOVERED,
            name=_NAMES["extragradient"],
            control_name=_NAMES["plain"],
        ),
    ]
    earlier = {"extragradient": 0.964, "plain": 0.022}
    numbers = []
    for name in data:
        theory = float(abs(predicted[name]["overlap"].sel(time=LAST)).mean())
        numbers.append(Number(f"|m| {_NAMES[name]}", theory, *mean_and_error(final[name]), earlier[name]))
    return Finding(checks, numbers)


def figure(data: Data, predicted: dict[str, xr.Dataset]) -> Figure:
    """Overlap against samples, with and without."""
    made, (axes,) = panels(["He3: one sample, used twice"], x="samples over dimension, n / d", y="overlap |m|")
    for series, name in enumerate(_NAMES):
        theory, measured = (abs(part["overlap"]).squeeze(drop=True) for part in (predicted[name], data[name]))
        theory_line(axes, theory["time"], theory.mean("seed"), series=series, label=f"theory, {_NAMES[name]}")
        mean, error = measured.mean("seed"), standard_error(measured.transpose("seed", ...))
        measured_points(axes, measured["time"], mean, error, series=series, label=f"simulation, {_NAMES[name]}")
    add_legend(axes)
    return made


EXHIBIT = Exhibit(
    id="extragradient",
    title="Extragradient breaks the information exponent",
    claim="With an inner step on the same sample, one pass over O(d log d) samples finds He3; plain SGD does not.",
    document="multi-index",
    papers=("arnaboldi2024",),
    protocol="One neuron tanh(z + 1/2) on the sphere, correlation loss, steps .1/d, inner step .3/d, random start; "
    "recovered means |m| > 1/2 after 80 d samples. A relu neuron would be no fair control: it has no plain drift.",
    caption="Lines are the limit of large d, points the mean over seeds with two standard errors.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
    shows=("batch_reuse", "generative_exponent", "information_exponent"),
)
