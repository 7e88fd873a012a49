"""With repeated samples He4(h1) opens the door to a parity (Troiani et al. 2024; Arnaboldi et al. 2024).

Of y = He4(h1) + 5 sign(h1 h2 h3) correlations with the label show nothing below degree 3, and no direction is within
reach of d log d samples of one-pass SGD. An inner step on each sample lets the label enter non-linearly: h1 is found
first, from He4; given h1 the parity is of degree 2 in (h2, h3), which follow. The parity alone stays hidden.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from featlab.analysis.grids import build_grids
from featlab.analysis.staircase import Stage, grand_staircase, leap_staircase
from featlab.exhibits.checks import contrast, mean_and_error, ordered, standard_error
from featlab.exhibits.documents import MULTI_INDEX
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Check, Finding, Number
from featlab.figures.panels import mark, measured_points, panels
from featlab.figures.style import SERIES, add_legend
from featlab.gaussian.crossings import hitting_times
from featlab.study import Study
from featlab.targets import target

LEVEL = 0.3
_ORDERS = 4  # of Hermite polynomials that the analysis looks at
_SIZES = {
    Size.QUICK: {"dim": 250, "seeds": 24},
    Size.PAPER: {"dim": 2000, "seeds": 16},
    Size.LARGE: {"dim": 8000, "seeds": 16},
}
_LAST = {Size.QUICK: 1000.0, Size.PAPER: 1500.0, Size.LARGE: 2000.0}
_LOOKS = 33
_RULE = {
    "step_size": "0.03/d",
    "loss": "correlation",
    "constraint": "spherical",
    "activation": "relu",
    "biases": -1.0,
    "design": "virtual",
    "observe": ["overlap"],
}
_INNER = {"learner": "extragradient", "inner_step": "0.1/d"}
_PLAIN = {"learner": "online-sgd"}
_PARITY = "5*sign(h1*h2*h3)"


@dataclass(frozen=True)
class Case:
    """A target and a learner; and |m1|, |m23| as a prototype measured them at d = 2000."""

    words: str
    target: str
    learner: Mapping[str, str]
    earlier: tuple[float, float]
    second_scale: float = 1.0

    @property
    def point(self) -> dict[str, Any]:
        """Its own parameters."""
        return {"target": self.target, "second_scale": self.second_scale, **self.learner}


_GRAND, _STANDARD = f"He4(h1) + {_PARITY}", f"He2(h1) + {_PARITY}"
_CASES = {
    "grand": Case("He4 + 5 sign, inner step", _GRAND, _INNER, (0.683, 0.636), -1.0),
    "grand-plain": Case("He4 + 5 sign, plain", _GRAND, _PLAIN, (0.041, 0.03), -1.0),
    "standard": Case("He2 + 5 sign, inner step", _STANDARD, _INNER, (0.719, 0.616)),
    "standard-plain": Case("He2 + 5 sign, plain", _STANDARD, _PLAIN, (0.769, 0.562)),
    "parity": Case("5 sign alone, inner step", _PARITY, _INNER, (0.02, 0.03), -1.0),
}
_QUICK = ("grand", "grand-plain")
_DIRECTIONS, _LABELS = ("h1", "h2 and h3"), ("|m1|", "|m23|")
_REMARK = (
    "The talk writes the sign without the factor 5 that the authors' code has; with factor 1 none of the settings that "
    "a prototype scanned learned (h2, h3). For plain SGD on this target it says d^3 samples, where the leap gives d^2."
)


def studies(size: Size) -> Mapping[str, Part]:
    """Both staircases with the inner step and without, and the parity alone; at quick size only the grand one."""
    times = np.linspace(0.0, _LAST[size], _LOOKS).tolist()
    names = _QUICK if size is Size.QUICK else tuple(_CASES)
    return {
        name: Part(Study({**_RULE, **_SIZES[size], **_CASES[name].point, "times": times}, key=120 + place))
        for place, name in enumerate(_CASES)
        if name in names
    }


def prediction(data: Data) -> dict[str, bool]:
    """Of each case, whether its staircase leads to all directions by steps that O(d log d) samples can climb.

    Those are steps of order 1 and 2: of the leap's staircase for plain SGD, which sees correlations with the label, of
    the grand staircase with the inner step, which sees any function of it.
    """
    return {name: _climbs(_CASES[name]) for name in data}


def _climbs(case: Case) -> bool:
    known = target(case.target)
    grids = build_grids(known)
    if case.learner is _INNER:
        stages: Sequence[Stage] = grand_staircase(known, grids, _ORDERS).stages
    else:
        stages = leap_staircase(grids, _ORDERS).stages
    return bool(stages) and all(stage.exponent <= 2 for stage in stages)


def levels(part: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """|m1| and |m23| = (m2^2 + m3^2)^(1/2), seeds by times."""
    found = part["overlap"].transpose("seed", "time", "neuron", "direction").values[:, :, 0]
    return np.abs(found[..., 0]), np.linalg.norm(found[..., 1:], axis=-1)


def verdict(data: Data, predicted: dict[str, bool]) -> Finding:
    """Found where predicted and not elsewhere; h1 before the others."""
    final = {name: [curves[:, -1] for curves in levels(part)] for name, part in data.items()}
    climbing = [name for name in data if predicted[name]]
    hidden = np.concatenate([np.hypot(*final[name]) for name in data if not predicted[name]]) > LEVEL
    checks = [
        contrast(
            f"{_CASES[name].words}: {words} found, and nothing where the staircase has a step of order 3 or more",
            final[name][place] > LEVEL,
            hidden,
            name=_CASES[name].words,
            control_name=" and ".join(_CASES[other].words for other in data if not predicted[other]),
        )
        for name in climbing
        for place, words in enumerate(_DIRECTIONS)
    ]
    checks += [_first_then(name, data[name]) for name in climbing]
    numbers = [
        Number(f"{words}, {_CASES[name].words}", None, *mean_and_error(final[name][place]), _CASES[name].earlier[place])
        for name in data
        for place, words in enumerate(_LABELS)
    ]
    for words, found, earlier in zip(_DIRECTIONS, _times(data["grand"]), (285.0, 683.0), strict=True):
        there = found[np.isfinite(found)]
        if there.size > 1:
            numbers.append(Number(f"n/d when {words} found, He4 + 5 sign", None, *mean_and_error(there), earlier))
    return Finding(checks, numbers, [_REMARK])


def _times(part: xr.Dataset) -> list[np.ndarray]:
    """When h1, and when h2 and h3, are found, by seed."""
    return [hitting_times(part["time"].values, curves, LEVEL) for curves in levels(part)]


def _first_then(name: str, part: xr.Dataset) -> Check:
    first, second = _times(part)
    both = np.isfinite(first) & np.isfinite(second)
    return ordered(f"{_CASES[name].words}: h1 is found before h2 and h3", {"h1": first[both], "h2, h3": second[both]})


def figure(data: Data, predicted: dict[str, bool]) -> Figure:
    """Both overlaps against samples, a panel for each case."""
    made, axes = panels([_CASES[name].words for name in data], x="samples over dimension, n / d", y="overlap")
    for place, part in zip(axes, data.values(), strict=True):
        _draw(place, part, part.sizes["time"])
    add_legend(axes[0], loc="upper left")
    return made


def _draw(axes: Axes, part: xr.Dataset, looks: int) -> None:
    """Every run as a thin line, and the mean over seeds with its error, up to a number of looks."""
    times, every = part["time"].values[:looks], slice(None, looks, 4)
    for series, (words, curves) in enumerate(zip(_LABELS, levels(part), strict=True)):
        axes.plot(times, curves[:, :looks].T, color=SERIES[series], linewidth=0.6, alpha=0.35)
        shown = curves[:, every]
        measured_points(
            axes, part["time"].values[every], shown.mean(axis=0), standard_error(shown), series=series, label=words
        )
    axes.set_xlim(0, float(part["time"][-1]) * 1.02)
    axes.set_ylim(0, 1)
    mark(axes, LEVEL, "found", along="y")


def animation(data: Data, predicted: dict[str, bool]) -> Iterator[Figure]:
    """The grand staircase, with the inner step and without, as samples come in."""
    names = ["grand", "grand-plain"]
    for looks in range(1, data["grand"].sizes["time"] + 1, 2):
        made, axes = panels([_CASES[name].words for name in names], x="samples over dimension, n / d", y="overlap")
        for place, name in zip(axes, names, strict=True):
            _draw(place, data[name], looks)
        add_legend(axes[0], loc="upper left")
        yield made


EXHIBIT = Exhibit(
    id="grand-staircase",
    title="The grand staircase",
    claim="With repeated samples, O(d log d) of them suffice for He4(h1) + 5 sign(h1 h2 h3), h1 first and then h2 and "
    "h3; without repetition, or without He4, nothing is found.",
    document=MULTI_INDEX,
    papers=("troiani2024", "arnaboldi2024"),
    protocol="One relu neuron of threshold 1 on the sphere, correlation loss, steps .03/d, inner step .1/d, random "
    "start; a = -1 for He4, with which h1 grows. A direction counts as found above .3. The settings were chosen by an "
    "earlier scan and are confirmed here on fresh random numbers. At the quick size 24 runs are made: in a pilot of 12 "
    "plain SGD found h1 twice by chance, d being 250, too often to be told from one half.",
    caption="Thin lines are single runs, points their mean with two standard errors: |m1| with h1, |m23| with the "
    "plane of h2 and h3.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
    animation=animation,
    shows=("leap", "correlation_staircase", "grand_staircase"),
)
