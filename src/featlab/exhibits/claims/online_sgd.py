"""One-pass SGD on the sphere follows an equation for its overlap alone (Saad, Solla 1995; Ben Arous et al. 2021).

With steps c/d the overlap m of a neuron with the target's direction moves, in the time t = steps / d, by

    dm/dt = c (1 - m^2) sum_k k c_k c*_k m^(k-1) - (c^2 / 2) E[y^2 sigma'(h)^2] m,

the first term being the signal, which begins as m^(l-1), l the information exponent, and the second what normalising
takes back of the noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from featlab.exhibits.checks import agrees, mean_and_error, standard_error
from featlab.exhibits.predicting import at_point, predict_at
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Finding, Number
from featlab.figures.panels import measured_points, panels, theory_line
from featlab.study import Study

_SIZES = {
    Size.QUICK: {"dim": 2000, "seeds": 16},
    Size.PAPER: {"dim": 10_000, "seeds": 64},
    Size.LARGE: {"dim": 10**5, "seeds": 64},
}
_RULE = {"learner": "online-sgd", "loss": "correlation", "constraint": "spherical", "design": "virtual"}
# Of each information exponent: a target, a neuron and a start from which the overlap grows without a search.
_CASES: Mapping[int, dict[str, Any]] = {
    1: {"target": "h1", "activation": "relu", "step_size": "0.5/d", "start": "orthogonal", "last": 8.0},
    2: {"target": "He2(h1)", "activation": "He2", "step_size": "0.1/d", "planted": [[0.1]], "last": 15.0},
    3: {"target": "He3(h1)", "activation": "He3", "step_size": "0.01/d", "planted": [[0.3]], "last": 40.0},
}
_LOOKS = 11


def studies(size: Size) -> Mapping[str, Part]:
    """One study for each information exponent."""
    return {f"exponent-{order}": Part(_study(order, size)) for order in _CASES}


def _study(order: int, size: Size) -> Study:
    case = dict(_CASES[order])
    times = np.linspace(0.0, case.pop("last"), _LOOKS).tolist()
    start = {"start": "planted"} if "planted" in case else {}
    return Study({**_RULE, **_SIZES[size], **case, **start, "times": times, "observe": ["overlap"]}, key=80 + order)


def prediction(data: Data) -> dict[str, xr.Dataset]:
    """The equation, solved on a finer grid of times."""
    return {name: predict_at(part, times=_finer(part["time"].values)) for name, part in data.items()}


def _finer(times: np.ndarray) -> list[float]:
    return np.linspace(times[0], times[-1], 5 * (len(times) - 1) + 1).tolist()


def verdict(data: Data, predicted: dict[str, xr.Dataset]) -> Finding:
    """The mean over runs is the solution; and l = 1 leaves zero where the others need a start."""
    checks, numbers = [], []
    for order, (name, part) in zip(_CASES, data.items(), strict=True):
        measured = at_point(part)
        theory = predicted[name].sel(time=measured["time"], method="nearest")
        theory = theory.assign_coords(time=measured["time"])
        checks.append(
            agrees(
                f"the overlap at information exponent {order} follows its equation", theory, measured, names=["overlap"]
            )
        )
        half = measured.sizes["time"] // 2
        value = float(theory["overlap"].isel(time=half).squeeze())
        words = f"m at n = {float(measured['time'][half]):g} d, exponent {order}"
        numbers.append(Number(words, value, *mean_and_error(measured["overlap"].isel(time=half).values.ravel())))
    return Finding(checks, numbers)


def figure(data: Data, predicted: dict[str, xr.Dataset]) -> Figure:
    """Overlap against samples, a panel for each information exponent."""
    words = {1: "h, from m = 0", 2: "He2(h), from m = .1", 3: "He3(h), from m = .3"}
    made, axes = panels(
        [f"exponent {order}: y = {words[order]}" for order in _CASES],
        x="samples over dimension, n / d",
        y=["overlap m", "", ""],
    )
    for place, (name, part) in zip(axes, data.items(), strict=True):
        theory = predicted[name]["overlap"].squeeze(drop=True)
        theory_line(place, theory["time"], theory)
        measured = part["overlap"].squeeze(drop=True).transpose("seed", "time").values
        measured_points(place, part["time"], measured.mean(axis=0), standard_error(measured))
        place.set_ylim(0, 1)
    return made


EXHIBIT = Exhibit(
    id="online-sgd",
    title="One-pass SGD follows its equation",
    claim="On the sphere, the overlap of one-pass SGD with the target's direction follows an ordinary differential "
    "equation whose signal begins as m^(l-1), l the information exponent.",
    document="multi-index",
    papers=("benarous2021",),
    protocol="One neuron, correlation loss, one sample a step: relu on h, He2 on He2, He3 on He3, steps .5/d, .1/d and "
    ".01/d. For l = 2 and 3 the start is planted at m = .1 and .3, where the search is over and the limit is "
    "deterministic; how long the search takes is another exhibit.",
    caption="Lines are the equation, points the mean over seeds with two standard errors.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
    shows=("information_exponent", "one_pass_sgd"),
)
