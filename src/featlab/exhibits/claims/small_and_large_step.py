"""A small first step leaves the network linear, a large one does not (Ba et al. 2022, arXiv:2205.01445).

With n, p and d in proportion, ridge regression on features trained by a step eta of order one improves on random
features but stays above ||P_{>1} f*||^2, the floor of linear methods, however large d is; after a step of order sqrt(p)
it falls below.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from featlab.comparison import FiniteSize
from featlab.exhibits.checks import above, close, mean_and_error, ordered, standard_error
from featlab.exhibits.documents import STRUCTURED_DATA
from featlab.exhibits.one_step import Setting, limit_excess
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Finding, Number
from featlab.figures.panels import mark, measured_points, panels, theory_line
from featlab.figures.style import add_legend
from featlab.study import Study
from featlab.theory.ridge import gaussian_risk, linear_part
from featlab.theory.spikes import label_moments

_SETTING: dict[str, Any] = {"student": "tanh", "teacher": "tanh(h1)", "noise": 0.01, "psi1": 8.0, "psi2": 2.0}
RIDGES = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
STEPS = {"small": [0.0, 1.0, 2.0], "large": [1.0, 3.0]}
_UNITS = {"small": "critical", "large": "gamma"}
_NAMES = ["random features", "one critical step", "two critical steps", "large step, eta = 3 sqrt(p)"]
_SIZES = {
    Size.QUICK: ([60, 160], 8),
    Size.PAPER: ([100, 200, 400, 800], 10),
    Size.LARGE: ([200, 400, 800, 1600], 10),
}


def studies(size: Size) -> Mapping[str, Part]:
    """Small steps in units of the critical one, large ones in units of sqrt(p), as d grows."""
    dims, repeats = _SIZES[size]
    fixed = {**_SETTING, "ridges": RIDGES, "given": "nothing"}
    return {
        name: Part(
            Study({**fixed, "steps": STEPS[name], "unit": _UNITS[name]}, axes={"dim": dims}, repeats=repeats, key=key),
            "featlab.exhibits.one_step:RIDGE",
        )
        for key, name in enumerate(STEPS, start=36)
    }


def prediction(data: Data) -> dict[str, np.ndarray]:
    """The limit (dim, step, ridge): the Gaussian equivalent for small steps, the conditional one for large ones."""
    dims = data["small"]["dim"].values
    small = [[_gaussian(step, ridge) for ridge in RIDGES] for step in STEPS["small"]]
    large = [[limit_excess(_at(dim), size, np.array(RIDGES) / _width(dim)) for size in STEPS["large"]] for dim in dims]
    return {"small": np.array([small] * len(dims)), "large": np.array(large)}


def _at(dim: int) -> Setting:
    return Setting.of({**_SETTING, "dim": dim})


def _width(dim: int) -> int:
    return _at(dim).sizes.width


def _gaussian(step: float, ridge: float) -> float:
    """The excess risk of the Gaussian equivalent at t = step psi2^(1/4)."""
    psi1, psi2, setting = _SETTING["psi1"], _SETTING["psi2"], _at(10**4)
    part, labels, cosine = linear_part(setting.student), label_moments(setting.target), setting.spike.cosine
    sizes = {"sample_ratio": psi1, "width_ratio": psi2, "strength": step * psi2**0.25}
    return gaussian_risk(part, labels, ridge=ridge, cosine=cosine, **sizes) - setting.target.noise


def _best(data: Data, predicted: dict[str, np.ndarray], name: str, step: int) -> tuple[np.ndarray, np.ndarray]:
    """At the ridge that theory calls best: measured (repeat, dim) and predicted (dim,)."""
    places = np.argmin(predicted[name][:, step], axis=-1)
    values = data[name]["excess"].transpose("repeat", "dim", "step", "ridge").values[:, :, step]
    rows = np.arange(len(places))
    return values[:, rows, places], predicted[name][rows, step, places]


def _curves(data: Data, predicted: dict[str, np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Those of `_NAMES`."""
    return [_best(data, predicted, "small", step) for step in range(3)] + [_best(data, predicted, "large", 1)]


def verdict(data: Data, predicted: dict[str, np.ndarray]) -> Finding:
    """The floor from both sides, the order, and the limits at the largest d."""
    floor, curves, dim = _at(100).floor, _curves(data, predicted), int(data["small"]["dim"].max())
    last = np.stack([seen[:, -1] for seen, _ in curves], axis=1)
    limits = np.array([limit[-1] for _, limit in curves])
    every = data["small"]["excess"].transpose("repeat", ...).values
    checks = [
        above(
            "after a small step no ridge and no d gives a risk below ||P_{>1} f*||^2",
            every,
            floor,
            control="the large step",
            control_samples=last[:, 3:],
        ),
        above(
            "after a large step the risk is below ||P_{>1} f*||^2",
            floor - curves[3][0],
            0.0,
            control="two critical steps",
            control_samples=floor - last[:, 2:3],
        ),
        ordered(
            "the larger the step, the smaller the risk",
            {name: last[:, place] for place, name in reversed([*enumerate(_NAMES)])},
        ),
        close("at the largest d the risk over its limit is 1", last / limits, 1.0, allowance=FiniteSize(), dim=dim),
    ]
    numbers = [
        Number(f"excess risk over the floor, {name}, d = {dim}", limit / floor, *mean_and_error(values / floor))
        for name, limit, values in zip(_NAMES, limits.tolist(), last.T, strict=True)
    ]
    return Finding(checks, numbers)


def figure(data: Data, predicted: dict[str, np.ndarray]) -> Figure:
    """Risk against d for each step; against the step at the largest d."""
    x = ["dimension d (n = 8d, p = 2d)", "step size eta"]
    made, (left, right) = panels(["The floor, from above and below", "One theory for all steps"], x=x, y="excess risk")
    dims, floor = data["small"]["dim"].values, _at(100).floor
    for series, ((seen, limit), name) in enumerate(zip(_curves(data, predicted), _NAMES, strict=True)):
        theory_line(left, dims, limit, series=series)
        measured_points(left, dims, seen.mean(0), standard_error(seen), series=series, label=name)
    left.set(xscale="log")
    left.set_xticks(dims, [str(dim) for dim in dims])
    _against_step(right, data, predicted, int(dims[-1]))
    for axes in (left, right):
        mark(axes, floor, "floor of linear methods", along="y")
        axes.set(yscale="log", ylim=(0.008, 0.16))
        axes.set_yticks([0.01, 0.02, 0.05, 0.1], ["0.01", "0.02", "0.05", "0.1"])
        axes.minorticks_off()
    add_legend(left, ncols=2, loc="upper left")
    add_legend(right)
    return made


def _against_step(axes: Axes, data: Data, predicted: dict[str, np.ndarray], dim: int) -> None:
    setting = _at(dim)
    root = setting.sizes.width**0.5
    ridges = np.array(RIDGES) / setting.sizes.width
    line = np.geomspace(0.8, 4 * root, 14)
    risks = [np.min(limit_excess(setting, eta / root, ridges)) for eta in line]
    theory_line(axes, line, risks, label=f"theory at d = {dim}")
    units = {"small": setting.critical_size * root, "large": root}
    for series, (name, steps) in enumerate(STEPS.items()):
        for place, step in enumerate(steps):
            if step > 0:
                seen = _best(data, predicted, name, place)[0][:, -1:]
                label = f"simulation, {name} steps" if place == len(steps) - 1 else None
                place_on_axis = [step * units[name]]
                measured_points(axes, place_on_axis, seen.mean(0), standard_error(seen), series=series, label=label)
    mark(axes, units["small"], "critical")
    mark(axes, root, "sqrt(p)")
    axes.set(xscale="log")
    axes.set_xticks([1, 3, 10, 30], ["1", "3", "10", "30"])


EXHIBIT = Exhibit(
    id="small-and-large-step",
    title="Only a large step goes beyond linear",
    claim="After a step of order one the trained kernel improves on random features but remains linear; after a "
    "step of order sqrt(N) ridge regression on the trained features learns a nonlinear target.",
    document=STRUCTURED_DATA,
    papers=("ba2022", "cui2024"),
    protocol="tanh student and tanh teacher, noise variance .01, n = 8d, p = 2d, ridge regression on fresh samples, "
    "p lambda on a grid from .01 to 10; risks are shown at the ridge that is best in theory. A step eta, in the "
    "source's convention, is gamma = eta/sqrt(p) per neuron; small ones are 0, 1 and 2 critical steps, the large "
    "one is 3 sqrt(p).",
    caption="Lines are the limits (for small steps the Gaussian equivalent, for large ones the equivalent given the "
    "coordinate along the spike), points means over seeds with two standard errors.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
)
