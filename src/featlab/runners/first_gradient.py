"""`kind = "one-step"`: a point is one gradient step of which weights, spectra and ridge risks are looked at.

One start and one batch are followed to every step, with fresh samples for each; there is a row for each. A point has

    target, noise, activation, dim, samples, width, second_layer, start, loss   as `featlab.simulation.OneStep`;
    steps         gamma per neuron, a number or several, in units of
    unit          a number, 1 unless given;
    readout       the number of fresh samples that ridge regression and spectra take, `samples` unless given;
    ridges        p lambda of the ridge regression, one or several;
    observe       what to look at, of `OBSERVED`;
    case          what the point is called, for its readers.

A row's `number` is that of the start and the batch: `experiment_of(point).draw(number)` draws them again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from featlab.errors import InvalidParameter
from featlab.gaussian.activations import activation
from featlab.gaussian.hermite import Floats
from featlab.simulation.feature_maps import FreshSamples, Map, feature_map
from featlab.simulation.first_gradient import FirstGradient, OneStep, rank_one_share, top_singular
from featlab.study.description import Point
from featlab.study.runner import Row, Runner
from featlab.targets import target

NUMERICS = "1"
_SETTING = ("second_layer", "start", "loss")
_SIZES = ("dim", "samples", "width")
_NEEDED = ("target", "activation", *_SIZES, "observe")
_EXACT_BITS = 53  # a number of so many bits survives being stored as a float


def experiment_of(point: Point) -> OneStep:
    """What a point describes; names that serve the study only are left out."""
    of = target(point["target"], noise=point.get("noise", 0.0))
    sizes = {name: point[name] for name in _SIZES}
    given = {name: point[name] for name in _SETTING if name in point}
    return OneStep(of, activation(point["activation"]), **sizes, **given)


@dataclass(frozen=True, eq=False)
class _Look:
    """What can be looked at after a step: the batch, the weights, and fresh samples, `samples` of them."""

    of: OneStep
    batch: FirstGradient
    number: int
    place: int
    step: float
    samples: int
    ridges: Floats
    maps: dict[str, Map] = field(default_factory=dict)

    @cached_property
    def weights(self) -> Floats:
        return self.batch.after(self.step)

    @cached_property
    def top(self) -> tuple[float, Floats, Floats]:
        return top_singular(self.weights)

    @cached_property
    def fresh(self) -> FreshSamples:
        return FreshSamples.of(self.of, self.samples, self.number, self.place)

    def features(self, name: str) -> Map:
        """By the name of the map; made once, for risk and spectrum."""
        if name not in self.maps:
            self.maps[name] = feature_map(name, self.of.activation, self.weights, self.batch)
        return self.maps[name]

    def risk(self, name: str) -> Any:
        """At each ridge; one number for one ridge."""
        return self.fresh.excess_risks(self.features(name), np.atleast_1d(self.ridges)).reshape(self.ridges.shape)

    def neuron_overlap(self) -> float:
        along = self.top[1] @ self.batch.second / np.linalg.norm(self.batch.second)
        return float(along**2)


# What can be observed after a step: singular values of W with squared overlaps of the top vectors with the target's
# directions and with the second layer; norms of the common gradient and the second layer; excess risks E[(f* - f)^2] of
# ridge regression and eigenvalues of the features' covariance, for the features and for their two Gaussian equivalents.
OBSERVED: dict[str, Callable[[_Look], Any]] = {
    "singular_value": lambda look: look.top[0],
    "input_overlap": lambda look: np.sum(look.top[2][: look.of.target.rank] ** 2),
    "neuron_overlap": _Look.neuron_overlap,
    "singular_values": lambda look: np.linalg.svd(look.weights, compute_uv=False),
    "common_norm": lambda look: np.linalg.norm(look.batch.common),
    "second_norm": lambda look: np.linalg.norm(look.batch.second),
    "rank_one_share": lambda look: rank_one_share(look.batch, look.of.activation),
    "excess": lambda look: look.risk("network"),
    "plain_excess": lambda look: look.risk("plain"),
    "conditional_excess": lambda look: look.risk("conditional"),
    "spectrum": lambda look: look.fresh.spectrum(look.features("network")),
    "plain_spectrum": lambda look: look.fresh.spectrum(look.features("plain")),
    "conditional_spectrum": lambda look: look.fresh.spectrum(look.features("conditional")),
}
_AXES = {name: ("eigenvalue",) for name in OBSERVED if name.endswith("spectrum")}
_AXES |= {name: ("ridge",) for name in OBSERVED if name.endswith("excess")} | {"singular_values": ("place",)}
_PARAMETERS = frozenset([*_NEEDED, *_SETTING, "noise", "steps", "unit", "readout", "ridges", "case"])


def run_point(point: Point, key: int) -> list[Row]:
    """A row for each step: what was observed, and the number of what was drawn."""
    of, number = experiment_of(point), key >> (64 - _EXACT_BITS)
    batch, ridges = of.draw(number), np.asarray(point.get("ridges", np.nan)) / of.width
    samples = point.get("readout", of.samples)
    rows: list[Row] = []
    for place, step in enumerate(np.atleast_1d(point.get("steps", 0.0)).tolist()):
        look = _Look(of, batch, number, place, step * point.get("unit", 1.0), samples, ridges)
        seen = {name: np.asarray(OBSERVED[name](look)).tolist() for name in point["observe"]}
        rows.append({"step": step, "number": number, **seen})
    return rows


def check(point: Point) -> None:
    """Refuse what would be refused at run time, as far as that can be known without running it."""
    for name in _NEEDED:
        if name not in point:
            raise InvalidParameter(name, None, "a value: every point needs it")
    for name in point["observe"]:
        if name not in OBSERVED:
            raise InvalidParameter("observe", name, f"some of {', '.join(OBSERVED)}")
        if name.endswith("excess") and "ridges" not in point:
            raise InvalidParameter("ridges", None, f"p lambda of the ridge regression, which {name} is the risk of")
    experiment_of(point)


ONE_STEP = Runner(run_point, "one-step", NUMERICS, _PARAMETERS, check, None, ("step",), _AXES)
