"""Several giant steps climb a staircase: each finds what is linear given the directions known (Dandi et al. 2023).

U_0 = {0}, U_{t+1} = U_t + span{ E[grad f | P_U x = u] : u in U_t }. After t steps on n ~ d fresh samples each, the
first layer has learned exactly U_t: the talk's conjecture 1, proven in expectation for t = 2.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from featlab.analysis.grids import build_grids
from featlab.analysis.staircase import giant_staircase
from featlab.exhibits.checks import agrees, contrast, mean_and_error, standard_error
from featlab.exhibits.documents import GIANT_STEPS
from featlab.exhibits.predicting import at_point, predict_at
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Check, Finding, Number, Outcome
from featlab.figures.panels import mark, measured_points, panels, theory_line
from featlab.figures.style import INK, SERIES, add_legend
from featlab.study import Study
from featlab.targets import target

_EQUAL, _OPPOSITE = "example 2", "example 1"
_TARGETS = {
    _OPPOSITE: "h1 + He2(h1) + h2 - He2(h2)",
    _EQUAL: "h1 + He2(h1) + h2 + He2(h2)",
    "example 3, first case": "h1 + h1*h2 + h1*h3",
    "example 3, second case": "h1 + h1*h2 + He3(h1)*h3",
    "three stairs": "h1 + He3(h1)*h2 + He3(h2)*h3",
}
_PLAIN = (_OPPOSITE, _EQUAL, "example 3, first case")
_SIZES = {
    Size.QUICK: {"dim": 1000, "seeds": 10, "width": 16, "steps": 2},
    Size.PAPER: {"dim": 10_000, "seeds": 10, "width": 64, "steps": 4},
    Size.LARGE: {"dim": 10**6, "seeds": 10, "width": 64, "steps": 4},
}
_TICKS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_FOUND = 2.0  # a direction is found when its singular value is so many times that of an untrained layer
_PREDICTED_SEEDS = 4
_PROTOTYPE = {  # second (third) singular value after step 2, d = 10^4
    (_OPPOSITE, 1): 0.171,
    (_EQUAL, 1): 0.010,
    ("example 3, first case", 1): 0.123,
    ("example 3, first case", 2): 0.008,
    ("example 3, second case", 2): 0.0344,
}


def studies(size: Size) -> Mapping[str, Part]:
    """The talk's examples; those that need He3 of a known direction take biases, more samples and larger steps."""
    sizes, design = _SIZES[size], "dense" if size is Size.QUICK else "virtual"
    chosen = _TARGETS if size is not Size.QUICK else (_OPPOSITE, _EQUAL)
    parts = {}
    for place, name in enumerate(chosen):
        fixed = {"target": _TARGETS[name], "learner": "giant-steps", "second_layer": "gaussian", **sizes}
        fixed |= {"design": design, "samples": 4 * sizes["dim"]}
        if name not in _PLAIN:
            fixed |= {"width": 32, "biases": "gaussian", "samples": 32 * sizes["dim"], "steps": 3, "scale": [4, 2, 2]}
        observed = ["overlap", "gram", "subspace", "second_layer", "biases"]
        parts[name] = Part(Study(fixed, key=241 + place, observe=observed))
    return parts


@cache
def dimensions(text: str, steps: int) -> tuple[int, ...]:
    """dim U_t of the recursion for t = 0, ..., steps."""
    new = [stage.directions.shape[1] for stage in giant_staircase(build_grids(target(text))).stages]
    grown = np.cumsum([0, *new]).tolist()
    return tuple(grown[min(step, len(new))] for step in range(steps + 1))


def found_dimensions(part: xr.Dataset) -> np.ndarray:
    """How many singular values exceed the floor, (seed, time); the floor is that of uniform rows, times two."""
    return (part["subspace"] > floor(part)).sum("component").transpose("seed", "time").values


def floor(part: xr.Dataset) -> float:
    """Twice (1 + sqrt(r/p))/sqrt(d), the largest singular value over sqrt(p) of p random rows' cosines with r axes."""
    fixed, rank = json.loads(part.attrs["fixed"]), part.sizes["direction"]
    return float(_FOUND * (1 + np.sqrt(rank / fixed["width"])) / np.sqrt(fixed["dim"]))


def prediction(data: Data) -> dict[str, xr.Dataset]:
    """Example 1 as d -> infinity, from the starts of a few seeds."""
    runs = data[_OPPOSITE].isel(seed=slice(_PREDICTED_SEEDS))
    made = predict_at(runs, start=at_point(runs))
    norms = np.sqrt(np.diagonal(made["gram"], axis1=-2, axis2=-1))
    cosines = made["overlap"].transpose("seed", "time", "neuron", "direction").values / norms[..., None]
    values = np.linalg.svd(cosines / np.sqrt(cosines.shape[2]), compute_uv=False)
    return {_OPPOSITE: made.assign(subspace=(("seed", "time", "component"), values))}


def verdict(data: Data, predicted: dict[str, xr.Dataset]) -> Finding:
    """Dimensions step by step are the recursion's; the values of example 1 are those of the limit."""
    checks = [_dimension_check(name, part) for name, part in data.items()]
    runs = at_point(data[_OPPOSITE].isel(seed=slice(_PREDICTED_SEEDS)))
    checks.append(
        agrees(
            "example 1: the singular values follow the limit of large d",
            predicted[_OPPOSITE].isel(time=slice(1, None)),
            runs.isel(time=slice(1, None)),
            names=["subspace"],
        )
    )
    numbers = []
    for name, part in data.items():
        for component in range(1, part.sizes["component"]):
            after = part["subspace"].sel(time=2).isel(component=component).values
            theory = predicted[name]["subspace"].sel(time=2).isel(component=component) if name in predicted else None
            words = f"{name}: singular value {component + 1} after step 2"
            guess = None if theory is None else float(theory.mean())
            numbers.append(Number(words, guess, *mean_and_error(after), _PROTOTYPE.get((name, component))))
    return Finding(checks, numbers, ["The prototype ran at d = 10^4; what is not found there is of order 1/sqrt(d)."])


def _dimension_check(name: str, part: xr.Dataset) -> Check:
    """Every step finds what the recursion says; the control is the staircase of another target."""
    counts = found_dimensions(part)
    steps, text = counts.shape[1] - 1, _TARGETS[name]
    right = dimensions(text, steps)
    wrong = next(d for d in (dimensions(other, steps) for other in _TARGETS.values()) if d != right)
    words = f"{name}, {text}: the dimension after each step is {_words(right)}"
    check = contrast(
        words,
        np.all(counts == right, axis=1),
        np.all(counts == wrong, axis=1),
        name=_words(right),
        control_name=_words(wrong),
    )
    if check.outcome is Outcome.HOLDS or np.any(counts > np.array(right)):
        return check
    least = float(part["subspace"].mean("seed").isel(time=-1, component=right[-1] - 1))
    if least < floor(part) / _FOUND:
        return replace(check, outcome=Outcome.CANNOT_TELL, needs=f"larger d: a value, {least:.2g}, is at chance level")
    needed = json.loads(part.attrs["fixed"])["dim"] * (floor(part) / least) ** 2
    needs = f"d above {needed:.1g} if the smallest value stays at {least:.2g}: the floor falls as 1/sqrt(d)"
    return replace(check, outcome=Outcome.CONVERGES, needs=needs)


def _words(dimensions: tuple[int, ...]) -> str:
    return ", ".join(map(str, dimensions[1:]))


def figure(data: Data, predicted: dict[str, xr.Dataset]) -> Figure:
    """Singular values after each step, one panel for each target, with the floor."""
    titles = [
        f"{name}: dimension {_words(dimensions(_TARGETS[name], part.sizes['time'] - 1))}" for name, part in data.items()
    ]
    made, axes = panels(titles, x="giant steps t", y="singular values of cosines")
    for panel, (name, part) in zip(axes, data.items(), strict=True):
        for component in range(part.sizes["component"]):
            values = part["subspace"].isel(component=component).transpose("seed", "time")
            label = ("first", "second", "third")[component]
            if name in predicted:
                line = predicted[name]["subspace"].isel(component=component).mean("seed")
                theory_line(panel, line["time"], line, series=component)
            mean, error = values.mean("seed"), standard_error(values)
            measured_points(panel, part["time"], mean, error, series=component, label=label)
        mark(panel, floor(part), "found above this", along="y")
        panel.set_yscale("log")
        panel.set_yticks(_TICKS, labels=[f"{tick:g}" for tick in _TICKS])
        panel.minorticks_off()
        panel.set_xticks(part["time"].values)
        panel.set_title(panel.get_title(loc="left") + f"\n{_TARGETS[name]}", loc="left", fontsize=9.5, color=INK)
    add_legend(axes[0], loc="lower right")
    return made


def animation(data: Data, predicted: dict[str, xr.Dataset]) -> Iterator[Figure]:
    """Neurons in the plane of the two directions, as the steps are taken: example 1 leaves the line, example 2 not."""
    frames, steps = 6, data[_OPPOSITE].sizes["time"] - 1
    reach = max(float(np.abs(data[name]["overlap"].isel(seed=0)).max()) for name in (_OPPOSITE, _EQUAL))
    for moment in np.linspace(0, steps, frames * steps + 1):
        made, axes = panels(
            [f"{name}: {_TARGETS[name]}" for name in (_OPPOSITE, _EQUAL)], x="overlap with w1*", y="overlap with w2*"
        )
        for panel, name in zip(axes, (_OPPOSITE, _EQUAL), strict=True):
            # Between two steps every weight moves along a straight line: a shorter step.
            rows = data[name]["overlap"].isel(seed=0).interp(time=moment)
            found = dimensions(_TARGETS[name], steps)[int(moment)]
            panel.axline((0, 0), slope=1, color=INK, linewidth=0.6, linestyle=":")
            panel.plot(rows.isel(direction=0), rows.isel(direction=1), "o", color=SERIES[0], markersize=4)
            panel.set(xlim=(-1.05 * reach, 1.05 * reach), ylim=(-1.05 * reach, 1.05 * reach))
            panel.text(
                0.03,
                0.97,
                f"step {moment:.1f}, recursion: dimension {found}",
                va="top",
                transform=panel.transAxes,
                color=INK,
            )
        yield made


EXHIBIT = Exhibit(
    id="giant-staircase",
    title="The staircase of giant steps",
    claim="After t giant steps on n ~ d samples each, the first layer has learned exactly the subspace U_t that the "
    "recursion on conditional linear parts gives; equal teachers stop it at dimension one.",
    document=GIANT_STEPS,
    papers=("dandi2023",),
    protocol="Relu neurons on the sphere with a ~ N(0, 1), n = 4 d fresh samples a step, eta = p. Where He3 of a known "
    "direction is needed (example 3, second case, and three stairs) neurons must differ: N(0, 1) biases, 32 neurons, "
    "n = 32 d, eta = (4, 2, 2) p; with a = +-1 and no bias the third direction stays at the floor. A direction is "
    "found when its singular value of the matrix of cosines over sqrt(p) is twice that of random rows.",
    caption="Points: mean over seeds with two standard errors; lines: limit of large d from the same starts; the "
    "dotted line is twice the chance level. The animation shows the neurons of one seed.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
    animation=animation,
    shows=("giant_staircase",),
)
