"""A small first step leaves the network linear, a large one does not (Ba et al. 2022, arXiv:2205.01445).

With n, p and d in proportion, ridge regression on features trained by a step eta of order one improves on random
features but stays above ||P_{>1} f*||^2, the floor of linear methods, however large d is; after a step of order sqrt(p)
it falls below.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab import exhibits as ex

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TEACHER, _NOISE = "tanh(h1)", 0.01
_SETTING: dict[str, Any] = {"activation": "tanh", "target": _TEACHER, "noise": _NOISE, "psi1": 8.0, "psi2": 2.0}
RIDGES = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
STEPS = {"small": [0.0, 1.0, 2.0], "large": [1.0, 3.0]}
# What is shown: its name, its study, its step.
_CURVES = {
    "random features": ("small", 0.0),
    "one critical step": ("small", 1.0),
    "two critical steps": ("small", 2.0),
    "large step, eta = 3 sqrt(p)": ("large", 3.0),
}
_SIZES = {
    ex.Size.QUICK: ([60, 160], 8),
    ex.Size.PAPER: ([100, 200, 400, 800], 10),
    ex.Size.LARGE: ([200, 400, 800, 1600], 10),
}


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """Small steps in units of the critical one, large ones in units of sqrt(p), as d grows."""
    from featlab.exhibits.one_step import CRITICAL, SIZES, moments_of

    dims, repeats = _SIZES[size]
    fixed = {**_SETTING, "ridges": RIDGES}
    small = {**fixed, **moments_of("tanh", _TEACHER, _NOISE), "steps": STEPS["small"]}
    large, axes, seen = {**fixed, "steps": STEPS["large"]}, {"dim": dims}, ["excess"]
    return {
        "small": ex.Part(ex.Study(small, axes, {**SIZES, **CRITICAL}, repeats, 36, seen), "one-step"),
        "large": ex.Part(ex.Study(large, axes, SIZES, repeats, 37, seen), "one-step"),
    }


def theory(data: ex.Data) -> ex.Data:
    """The Gaussian equivalent for small steps, at every d the same; for large ones the conditional one; the floor."""
    import xarray as xr

    from featlab.exhibits.one_step import limit_excess, linear_floor
    from featlab.runners.first_gradient import experiment_of

    dims, large = data["large"]["dim"].values.tolist(), []
    small = [[_gaussian(step, ridge) for ridge in RIDGES] for step in STEPS["small"]]
    for dim in dims:
        at = ex.parameters_at(data["large"], dim=dim)
        of, ridges = experiment_of(at), np.array(RIDGES) / at["width"]
        large.append([limit_excess(of, step, ridges) for step in STEPS["large"]])
    axes, floor = ("dim", "step", "ridge"), linear_floor(_TEACHER)
    return {
        name: xr.Dataset({"excess": (axes, risks), "floor": floor}, {"dim": dims, "step": STEPS[name]})
        for name, risks in (("small", [small] * len(dims)), ("large", large))
    }


def _gaussian(step: float, ridge: float) -> float:
    """The excess risk of the Gaussian equivalent at t = step psi2^(1/4)."""
    from featlab.gaussian.activations import activation
    from featlab.targets import target
    from featlab.theory.ridge import gaussian_risk, linear_part
    from featlab.theory.spikes import gradient_spike, label_moments

    psi1, psi2 = _SETTING["psi1"], _SETTING["psi2"]
    part, labels = linear_part(activation("tanh")), label_moments(target(_TEACHER, noise=_NOISE))
    sizes = {"sample_ratio": psi1, "width_ratio": psi2, "strength": step * psi2**0.25}
    return gaussian_risk(part, labels, ridge=ridge, cosine=gradient_spike(labels, psi1).cosine, **sizes) - _NOISE


def _best(view: ex.View, study: str, step: float) -> tuple[ex.Array, ex.Array]:
    """At the ridge that theory calls best: measured (run, dim) and predicted (dim,)."""
    of = ex.Of("excess", study, {"step": step})
    limit = view.predicted(of)
    places = limit.argmin("ridge")
    return view.measured(of).isel(ridge=places), limit.isel(ridge=places)


def _last(view: ex.View) -> dict[str, tuple[np.ndarray, float]]:
    """At the largest d, for each curve: measured (run,) and predicted."""
    best = {name: _best(view, *place) for name, place in _CURVES.items()}
    return {name: (seen.isel(dim=-1).values, float(limit[-1])) for name, (seen, limit) in best.items()}


def _floor(view: ex.View) -> float:
    return float(view.theory["small"]["floor"])


def _stays_above(view: ex.View, statement: str) -> ex.Check:
    every, floor = view.measured(ex.Of("excess", "small")), _floor(view)
    large = _best(view, "large", 3.0)[0].isel(dim=[-1])
    return ex.above(statement, every, floor, control="the large step", control_samples=large)


def _goes_below(view: ex.View, statement: str) -> ex.Check:
    large, small = (_floor(view) - _best(view, *place)[0] for place in (("large", 3.0), ("small", 2.0)))
    return ex.above(statement, large, 0.0, control="two critical steps", control_samples=small.isel(dim=[-1]))


def _decreases(view: ex.View, statement: str) -> ex.Check:
    return ex.ordered(statement, {name: seen for name, (seen, _) in reversed(_last(view).items())})


def _follows(view: ex.View, statement: str) -> ex.Check:
    from featlab.comparison import FiniteSize

    over = np.stack([seen / limit for seen, limit in _last(view).values()], axis=1)
    return ex.close(statement, over, 1.0, allowance=FiniteSize(), dim=int(view.data["small"]["dim"][-1]))


def _over_floor(view: ex.View, name: str) -> list[ex.Number]:
    floor, dim = _floor(view), int(view.data["small"]["dim"][-1])
    return [
        ex.Number(f"{name}, {words}, d = {dim}", limit / floor, *ex.mean_and_error(seen / floor))
        for words, (seen, limit) in _last(view).items()
    ]


def _against_dim(axes: Axes, view: ex.View) -> None:
    from featlab.figures.panels import measured_points, theory_line

    for series, (name, place) in enumerate(_CURVES.items()):
        seen, limit = _best(view, *place)
        theory_line(axes, limit["dim"], limit, series=series)
        measured_points(axes, limit["dim"], seen.mean("run"), ex.standard_error(seen), series=series, label=name)


def _against_step(axes: Axes, view: ex.View) -> None:
    from featlab.exhibits.one_step import limit_excess
    from featlab.figures.panels import mark, measured_points, theory_line
    from featlab.runners.first_gradient import experiment_of

    at = view.fields("small", {"dim": ex.LAST})
    root = at["width"] ** 0.5
    line = np.geomspace(0.8, 4 * root, 14)
    risks = [np.min(limit_excess(experiment_of(at), eta / root, np.array(RIDGES) / at["width"])) for eta in line]
    theory_line(axes, line, risks, label=f"theory at d = {at['dim']}")
    units = {"small": at["unit"] * root, "large": root}
    for series, (name, steps) in enumerate(STEPS.items()):
        taken = [step for step in steps if step > 0]
        seen = np.stack([_best(view, name, step)[0].isel(dim=-1) for step in taken], axis=1)
        places, label = units[name] * np.array(taken), f"simulation, {name} steps"
        measured_points(axes, places, seen.mean(0), ex.standard_error(seen), series=series, label=label)
    mark(axes, units["small"], "critical")
    mark(axes, root, "sqrt(p)")


def _panel(layer: ex.Layer, x: str, ticks: Any, legend: str) -> ex.Panel:
    floor = ex.Mark(_floor, "floor of linear methods", "y")
    shown = {"x": ticks, "y": [0.01, 0.02, 0.05, 0.1]}
    scales: dict[str, Any] = {"xscale": "log", "yscale": "log", "ylim": (0.008, 0.16)}
    return ex.Panel(layer, floor, x=x, y="excess risk", legend=legend, ticks=shown, **scales)


EXHIBIT = ex.Exhibit(
    id="small-and-large-step",
    title="Only a large step goes beyond linear",
    claim="After a step of order one the trained kernel improves on random features but remains linear; after a "
    "step of order sqrt(N) ridge regression on the trained features learns a nonlinear target.",
    document=ex.STRUCTURED_DATA,
    papers=("ba2022", "cui2024"),
    protocol="tanh student and tanh teacher, noise variance .01, n = 8d, p = 2d, ridge regression on fresh samples, "
    "p lambda on a grid from .01 to 10; risks are shown at the ridge that is best in theory. A step eta, in the "
    "source's convention, is gamma = eta/sqrt(p) per neuron; small ones are 0, 1 and 2 critical steps, the large "
    "one is 3 sqrt(p).",
    caption="Lines are the limits (for small steps the Gaussian equivalent, for large ones the equivalent given the "
    "coordinate along the spike), points means over seeds with two standard errors.",
    studies=studies,
    theory=theory,
    checks={
        "after a small step no ridge and no d gives a risk below ||P_{>1} f*||^2": _stays_above,
        "after a large step the risk is below ||P_{>1} f*||^2": _goes_below,
        "the larger the step, the smaller the risk": _decreases,
        "at the largest d the risk over its limit is 1": _follows,
    },
    numbers={"excess risk over the floor": _over_floor},
    figure={
        "The floor, from above and below": _panel(
            _against_dim,
            "dimension d (n = 8d, p = 2d)",
            lambda view: {dim: str(dim) for dim in view.data["small"]["dim"].values},
            "upper left",
        ),
        "One theory for all steps": _panel(_against_step, "step size eta", [1, 3, 10, 30], "best"),
    },
    shows=("residuals",),
)
