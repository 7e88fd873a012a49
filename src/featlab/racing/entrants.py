"""Who runs in a race, and with which settings: one table.

An entrant is a learner in the words of a study file, without the number of samples; `counted` says by which of its
parameters n enters. Networks that find directions are 2 r neurons tanh(z + 1/2) with signs +1, -1, .. (all Hermite
coefficients of the activation differ from zero, so that no target is out of reach for its parity), from random starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import factorial, sqrt
from typing import Any

import numpy as np

from featlab.gaussian.activations import activation
from featlab.gaussian.quadrature import gauss_pieces
from featlab.racing.course import Course, between
from featlab.study.description import Study

_ACTIVATION, _BIAS = "tanh", 0.5
_REUSED_STEPS = 8
_AMP_ITERATIONS = 100
_FORGETS = 100.0  # a step so large that the start is forgotten
# Smaller inputs (of all seeds) are stored: programs of a stored design compile in half the time of virtual ones.
_STORED_BYTES = 2**28
_RISK_SEEDS = 2  # regressions cost n^3, and their risk differs little from seed to seed
_ANGLES, _ROWS, _RISK = ("subspace",), ("cosine", "gram"), ("risk",)


@dataclass(frozen=True)
class Entrant:
    """A learner in a race.

    Attributes:
        name: of its stores; label: for people.
        said: what is said of it in a study, given the course.
        how: its settings in words.
        counted: the parameter by which n enters: "samples", "readout", or "times" for one run that is looked at on its
            way, of which theory tells all at once.
        batches: how many batches of `samples` it sees.
        observe: what tells how much it found: principal angles, rows, or the risk.
    """

    name: str
    label: str
    said: Callable[[Course], Mapping[str, Any]]
    how: str
    counted: str = "samples"
    batches: int = 1
    observe: tuple[str, ...] = _ROWS

    @property
    def finds_directions(self) -> bool:
        """Whether it has directions at all."""
        return self.observe != _RISK

    def study(self, course: Course) -> Study:
        """What is simulated: one point for each ratio."""
        stored = 4 * course.seeds * course.dim**2 * course.ratios[-1]
        design = {"design": "dense"} if self.finds_directions and stored < _STORED_BYTES else {}
        seeds = course.seeds if self.finds_directions else min(course.seeds, _RISK_SEEDS)
        return self._asked(course, course.ratios, {"seeds": seeds, **design})

    def theory(self, course: Course) -> Study:
        """What is predicted: at the same ratios, and between them."""
        return self._asked(course, (*course.ratios, *between(course.ratios)), {})

    def ratios_of(self, study: Study, course: Course) -> np.ndarray:
        """n/d of each place of a study."""
        if self.counted == "times":
            return np.array(study.fixed["times"])
        return np.array(study.axes[self.counted]) * self.batches / course.dim

    def _asked(self, course: Course, ratios: tuple[float, ...], more: Mapping[str, Any]) -> Study:
        target = course.analysis.target
        fixed = {"target": target.text, "dim": course.dim, **self.said(course), **more}
        if target.noise:
            fixed["noise"] = target.noise
        if self.counted == "times":
            return Study({**fixed, "times": sorted(ratios)}, key=course.key, observe=self.observe)
        counts = dict.fromkeys(max(1, round(ratio * course.dim / self.batches)) for ratio in ratios)
        return Study(fixed, {self.counted: list(counts)}, key=course.key, observe=self.observe)


def _network(course: Course) -> dict[str, Any]:
    width = 2 * course.analysis.target.rank
    return {"width": width, "activation": _ACTIVATION, "biases": _BIAS, "second_layer": "alternating"}


def _one_pass(course: Course) -> dict[str, Any]:
    return {"loss": "correlation", "constraint": "spherical", **_network(course)}


def _sgd(course: Course) -> dict[str, Any]:
    """With S = |C_l[f]| l a_l, the pull of the lowest degree l of the target (a_l: coefficient of the activation), and
    C = E[y^2] E[sigma'^2]: at a step c/d the noise takes c^2 C / 2 and the signal gives c S; c = S/(5 C) lets l = 1
    come to rest at an overlap of 0.95 (Ben Arous et al. 2021)."""
    energies, degree = course.analysis.energies, course.analysis.information_exponent or 1
    points, weights = gauss_pieces((0.0,), 40)
    function = activation(_ACTIVATION)
    slopes = float(weights @ function.derivative(points + _BIAS) ** 2)
    basis = np.polynomial.hermite_e.hermeval(points, np.eye(degree + 1)[degree]) / sqrt(factorial(degree))
    pull = sqrt(energies.per_degree[degree]) * degree * abs(float(weights @ (function.value(points + _BIAS) * basis)))
    return {"learner": "online-sgd", "step_size": _over_d(0.2 * pull / (slopes * course.second_moment))} | _one_pass(
        course
    )


def _extragradient(course: Course) -> dict[str, Any]:
    scale = 1 / sqrt(course.second_moment)
    steps = {"step_size": _over_d(0.1 * scale), "inner_step": _over_d(0.3 * scale)}
    return {"learner": "extragradient", **steps, **_one_pass(course)}


def _giant(steps: int, loss: str, scale: float) -> Callable[[Course], dict[str, Any]]:
    def said(course: Course) -> dict[str, Any]:
        size = float(f"{scale / sqrt(course.second_moment):.3g}")
        how = {"learner": "giant-steps", "steps": steps, "scale": size, "loss": loss, "times": [steps]}
        return how | _network(course)

    return said


def _reused(course: Course) -> dict[str, Any]:
    how = {"learner": "reused-batch", "steps": _REUSED_STEPS, "times": [_REUSED_STEPS]}
    return how | {"step_size": float(f"{course.second_moment**-0.5:.3g}"), **_one_pass(course)}


def _amp(course: Course) -> dict[str, Any]:
    return {"learner": "bayes-amp", "iterations": _AMP_ITERATIONS, "times": [_AMP_ITERATIONS]}


def _features(course: Course) -> dict[str, Any]:
    return {"learner": "random-features", "width": 2 * course.dim, "activation": "relu", "biases": "gaussian"}


def _named(learner: str) -> Callable[[Course], dict[str, Any]]:
    return lambda course: {"learner": learner}


def _last(learner: str, iterations: int) -> Callable[[Course], dict[str, Any]]:
    return lambda course: {"learner": learner, "iterations": iterations, "times": [iterations]}


def _over_d(number: float) -> str:
    """Three digits do, and a command with them can be typed."""
    return f"{number:.3g}/d"


# Cheap ones first: what they leave of their time is for the others.
ENTRANTS = (
    Entrant("sir", "SIR", _named("inverse-regression"), "10 slices", observe=_ANGLES),
    Entrant("phd", "PHD", _last("principal-hessian", 30), "30 Lanczos iterations", observe=_ANGLES),
    Entrant("save", "SAVE", _last("average-variance", 30), "10 slices, 30 Lanczos iterations", observe=_ANGLES),
    Entrant("spectral", "optimal spectral method", _last("spectral-estimator", 60), "60 iterations", observe=_ANGLES),
    Entrant("giant-step", "one giant step", _giant(1, "correlation", _FORGETS), "correlation loss, start forgotten"),
    Entrant(
        "giant-steps", "two giant steps", _giant(2, "squared", 1.0), "squared loss, a batch of n/2 each", batches=2
    ),
    Entrant(
        "reused-batch", "batch reuse", _reused, f"{_REUSED_STEPS} steps on one batch, correlation loss, on the sphere"
    ),
    Entrant("online-sgd", "one-pass SGD", _sgd, "correlation loss, on the sphere, one step size", "times"),
    Entrant("extragradient", "extragradient", _extragradient, "the same with an inner step on each sample", "times"),
    Entrant(
        "random-features", "random features", _features, "2 d relu neurons, leave-one-out ridge", "readout", 1, _RISK
    ),
    Entrant("bayes-amp", "Bayes-AMP", _amp, f"{_AMP_ITERATIONS} iterations at most, from nothing; knows the link"),
    Entrant("kernel-ridge", "kernel ridge", _named("kernel-ridge"), "exponential kernel", observe=_RISK),
)
