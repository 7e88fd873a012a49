"""Several giant steps climb a staircase: each finds what is linear given the directions known (Dandi et al. 2023).

U_0 = {0}, U_{t+1} = U_t + span{ E[grad f | P_U x = u] : u in U_t }. After t steps on n ~ d fresh samples each, the
first layer has learned exactly U_t: the talk's conjecture 1, proven in expectation for t = 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab import exhibits as ex

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_OPPOSITE, _EQUAL, _THIRD, _FOURTH = "example 1", "example 2", "example 3, first case", "example 3, second case"
# Where a direction is seen through another one's nonlinearity, neurons must differ (biases), and large steps need many
# samples: eta^2 E[y^2] d / (2 n) is what noise adds to |w|^2 = 1. The steps c and n/d are those for which the recursion
# of d -> infinity, without the residual (the correlation loss), leaves the last value well above chance at that d.
_BIASED = {"seeds": 1, "width": 32, "biases": "gaussian", "steps": 3, "loss": "correlation"}
_CASES: dict[str, tuple[str, int, dict[str, Any]]] = {  # target, samples over dimension, what else is its own
    _OPPOSITE: ("h1 + He2(h1) + h2 - He2(h2)", 4, {}),
    _EQUAL: ("h1 + He2(h1) + h2 + He2(h2)", 4, {}),
    _THIRD: ("h1 + h1*h2 + h1*h3", 4, {}),
    _FOURTH: ("h1 + h1*h2 + He3(h1)*h3", 128, {**_BIASED, "scale": [8, 8, 4]}),
    "three easy stairs": ("h1 + h1*h2 + h2*h3", 128, {**_BIASED, "dim": 40_000, "scale": [2, 8, 16]}),
    "three stairs": ("h1 + He3(h1)*h2 + He3(h2)*h3", 256, {**_BIASED, "dim": 200_000, "scale": [4, 16, 64]}),
}
_SIZES: dict[ex.Size, dict[str, Any]] = {
    ex.Size.QUICK: {"dim": 1000, "seeds": 10, "width": 16, "steps": 2, "design": "dense"},
    ex.Size.PAPER: {"dim": 10_000, "seeds": 10, "width": 64, "steps": 4, "design": "virtual"},
    ex.Size.LARGE: {"dim": 10**6, "seeds": 10, "width": 64, "steps": 4, "design": "virtual"},
}
_OBSERVED = ["overlap", "gram", "subspace", "second_layer", "biases"]
_CLIMBS = (_FOURTH, "three easy stairs", "three stairs")
_PREDICTED_SEEDS, _FOUND = 4, 2.0  # a direction is found when its value is so many times that of an untrained layer
# Second (1) and third (2) singular value after step 2, d = 10^4.
_EARLIER = {(_OPPOSITE, 1): 0.171, (_EQUAL, 1): 0.010, (_THIRD, 1): 0.123, (_THIRD, 2): 0.008, (_FOURTH, 2): 0.0344}


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """The talk's examples; at quick size the first two."""
    sizes, parts = _SIZES[size], {}
    for place, (name, (target, ratio, own)) in enumerate(_CASES.items()):
        fixed = {"target": target, "learner": "giant-steps", "second_layer": "gaussian", **sizes, **own}
        fixed["samples"] = ratio * fixed["dim"]
        repeats = sizes["seeds"] // fixed["seeds"]  # in processes of their own where one takes long
        study = ex.Study(fixed, key=241 + place, repeats=repeats, observe=_OBSERVED)
        parts[name] = ex.Part(study, names={"component": {0: "first", 1: "second", 2: "third"}})
    return parts if size is not ex.Size.QUICK else {name: parts[name] for name in (_OPPOSITE, _EQUAL)}


def theory(data: ex.Data) -> ex.Data:
    """What the recursion says of each target; of example 1 the limit d -> infinity, too, from the starts of some seeds.

    `other` is the staircase of another target, `floor` twice (1 + sqrt(r/p))/sqrt(d), the largest singular value over
    sqrt(p) of p random rows' cosines with r axes.
    """
    found = {name: _recursion(part) for name, part in data.items()}
    runs = data[_OPPOSITE].isel(seed=slice(_PREDICTED_SEEDS))
    made = ex.predict_at(runs, start=ex.at_point(runs))
    norms = np.sqrt(np.diagonal(made["gram"], axis1=-2, axis2=-1))
    cosines = made["overlap"].transpose("seed", "time", "neuron", "direction").values / norms[..., None]
    values = np.linalg.svd(cosines / np.sqrt(cosines.shape[2]), compute_uv=False)
    limit = made.assign(subspace=(("seed", "time", "component"), values))
    found[_OPPOSITE] = found[_OPPOSITE].assign(limit=limit["subspace"].mean("seed"))
    return {**found, f"{_OPPOSITE}, limit": limit}


def _recursion(part: ex.Dataset) -> ex.Dataset:
    fixed, steps = ex.parameters_at(part), part.sizes["time"] - 1
    right = dimensions(fixed["target"], steps)
    wrong = next(other for other in (dimensions(text, steps) for text, _, _ in _CASES.values()) if other != right)
    floor = _FOUND * (1 + np.sqrt(part.sizes["direction"] / fixed["width"])) / np.sqrt(fixed["dim"])
    return part[["time"]].assign(
        dimension=("time", list(right)),
        other=("time", list(wrong)),
        floor=float(floor),
        dimensions=_words(right),
        place=("component", range(1, part.sizes["component"] + 1)),
    )


@cache
def dimensions(text: str, steps: int) -> tuple[int, ...]:
    """dim U_t of the recursion for t = 0, ..., steps."""
    from featlab.analysis.grids import build_grids
    from featlab.analysis.staircase import giant_staircase
    from featlab.targets import target

    new = [stage.directions.shape[1] for stage in giant_staircase(build_grids(target(text))).stages]
    grown = np.cumsum([0, *new]).tolist()
    return tuple(grown[min(step, len(new))] for step in range(steps + 1))


def _words(dimensions: Any) -> str:
    return ", ".join(map(str, dimensions[1:]))


def _every_step(view: ex.View, statement: str) -> list[ex.Check]:
    """Every step finds what the recursion says; the control is the staircase of another target."""
    return [_climbed(view, name, statement.format_map(view.fields(name, {}))) for name in view.data]


def _climbed(view: ex.View, name: str, statement: str) -> ex.Check:
    from featlab.exhibits.checks import contrast

    values, said = view.measured(ex.Of("subspace", name)), view.theory[name]
    floor, right, wrong = said["floor"].item(), said["dimension"].values, said["other"].values
    counts = (values > floor).sum("component").values
    runs = [np.all(counts == claimed, axis=1) for claimed in (right, wrong)]
    return contrast(statement, *runs, name=_words(right), control_name=_words(wrong))


def _panel(name: str) -> ex.Panel:
    values = ex.Of("subspace", name, theory="{study}, limit")
    return ex.Panel(
        ex.Overlay(values, "time", points="{component_words}", each="component"),
        ex.Mark(lambda view: view.theory[name]["floor"].item(), "found above this", along="y"),
        x="giant steps t",
        y="singular values of cosines",
        legend="lower right" if name == _OPPOSITE else None,
        ticks={"y": (0.003, 0.01, 0.03, 0.1, 0.3, 1.0), "x": lambda view: view.data[name]["time"].values.tolist()},
        yscale="log",
    )


def animation(view: ex.View) -> Iterator[Figure]:
    """Neurons in the plane of the two directions, as the steps are taken: example 1 leaves the line, example 2 not."""
    from featlab.figures.panels import panels
    from featlab.figures.style import INK, SERIES

    overlaps = {name: view.data[name]["overlap"].isel(seed=0) for name in (_OPPOSITE, _EQUAL)}
    frames, steps = 6, overlaps[_OPPOSITE].sizes["time"] - 1
    reach = 1.05 * max(float(np.abs(overlap).max()) for overlap in overlaps.values())
    for moment in np.linspace(0, steps, frames * steps + 1):
        titles = [f"{name}: {_CASES[name][0]}" for name in overlaps]
        made, axes = panels(titles, x="overlap with w1*", y="overlap with w2*")
        for panel, (name, overlap) in zip(axes, overlaps.items(), strict=True):
            # Between two steps every weight moves along a straight line: a shorter step.
            rows = overlap.interp(time=moment)
            found = view.theory[name]["dimension"].values[int(moment)]
            panel.axline((0, 0), slope=1, color=INK, linewidth=0.6, linestyle=":")
            panel.plot(rows.isel(direction=0), rows.isel(direction=1), "o", color=SERIES[0], markersize=4)
            panel.set(xlim=(-reach, reach), ylim=(-reach, reach))
            words = f"step {moment:.1f}, recursion: dimension {found}"
            panel.text(0.03, 0.97, words, va="top", transform=panel.transAxes, color=INK)
        yield made


EXHIBIT = ex.Exhibit(
    id="giant-staircase",
    title="The staircase of giant steps",
    claim="After t giant steps on n ~ d samples each, the first layer has learned exactly the subspace U_t that the "
    "recursion on conditional linear parts gives; equal teachers stop it at dimension one.",
    document=ex.GIANT_STEPS,
    papers=("dandi2023",),
    protocol="Relu neurons on the sphere with a ~ N(0, 1), n = 4 d fresh samples a step, eta = p, squared loss, "
    "d = 10^4. The last three targets have N(0, 1) biases, 32 neurons, the correlation loss and larger steps, by the "
    "recursion of d -> infinity: eta = (8, 8, 4) p and n = 128 d (example 3, second case), (2, 8, 16) p, n = 128 d and "
    "d = 4 * 10^4 (three easy stairs), (4, 16, 64) p, n = 256 d and d = 2 * 10^5 (three stairs). A direction is found "
    "when its singular value of the matrix of cosines over sqrt(p) is twice that of random rows. If ten runs cannot "
    "tell, ten more are made.",
    caption="Points: mean over seeds with two standard errors; lines: limit of large d from the same starts; the "
    "dotted line is twice the chance level. Where it moves: the neurons of one seed.",
    studies=studies,
    theory=theory,
    checks={
        "{study}, {target}: the dimension after each step is {dimensions}": _every_step,
        "example 1: the singular values follow the limit of large d": ex.Agrees(
            "subspace",
            _OPPOSITE,
            {"seed": slice(_PREDICTED_SEEDS), "time": slice(1, None)},
            theory="{study}, limit",
        ),
    },
    looks=2,
    numbers={
        "{study}: singular value {place} after step 2": ex.Value(
            ex.Of("subspace", where={"time": 2.0}),
            lambda at: at.get("limit"),
            each="component",
            only=lambda at: at["component"] > 0,
            earlier=_EARLIER,
            by=("study", "component"),
        ),
        "{study}: singular value {place} after step 3": ex.Value(
            ex.Of("subspace", _CLIMBS, {"time": 3.0}), False, each="component", only=lambda at: at["component"] > 1
        ),
    },
    remarks="An earlier protocol had eta = (4, 2, 2) p, n = 32 d and d = 10^4 where there is He3: noise, 104/32 of "
    "|w|^2, drowned the last of three stairs, which is .003 there in the recursion.",
    figure={f"{name}: dimension {{dimensions}}\n{{target}}": _panel(name) for name in _CASES},
    animation=animation,
    shows=("giant_staircase",),
)
