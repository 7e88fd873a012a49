"""After a step of order sqrt(p) ridge regression goes below the floor of linear methods (Ba et al. 2022, Theorem 7).

The risk is at most 10 K* + C (sqrt(K* d/n) + d/n), K* = inf_k E(sigma*(z1) - E sigma(k z1 + z2))^2: how well one neuron
of the stretched student can be the teacher. If 10 K* is below ||P_{>1} f*||^2, enough samples beat every linear method.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from featlab.comparison import FiniteSize
from featlab.exhibits.checks import above, close, identity, mean_and_error, standard_error
from featlab.exhibits.documents import FIRST_STEP
from featlab.exhibits.one_step import Setting, limit_excess
from featlab.exhibits.predicting import parameters_at
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Check, Finding, Number
from featlab.figures.panels import mark, measured_points, panels, theory_line
from featlab.figures.style import INK, add_legend
from featlab.gaussian.activations import activation
from featlab.study import Study
from featlab.targets import target
from featlab.theory.giant.bounds import aligned_error
from featlab.theory.spikes import label_moments

PAIRS = [["tanh", "tanh(h1)"], ["erf", "erf(h1)"]]
SCALE = 3.0
# p lambda near the best one: fewer samples need more of it.
RIDGE = "max(0.05, 0.2/psi1)"
_FIXED: dict[str, Any] = {"noise": 0.01, "psi2": 2.0, "unit": "gamma"}
_SIZES = {
    Size.QUICK: (100, [2.0, 8.0, 32.0], 8),
    Size.PAPER: (160, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0], 12),
    Size.LARGE: (640, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0], 8),
}
_EARLIER = {
    "tanh": {1: 0.1445, 2: 0.0672, 4: 0.0331, 8: 0.0166, 16: 0.0071, 32: 0.0034},
    "erf": {1: 0.1947, 2: 0.0935, 4: 0.0458, 8: 0.0237, 16: 0.0101, 32: 0.0048},
}
_KIND = "featlab.exhibits.one_step:RIDGE"


def studies(size: Size) -> Mapping[str, Part]:
    """A giant step for many sample ratios, with the theory of the weights it made; and no step, as a control."""
    dim, ratios, repeats = _SIZES[size]
    giant = {**_FIXED, "dim": dim, "steps": [SCALE], "given": "conditional"}
    untrained = {**_FIXED, "dim": dim, "steps": [0.0], "given": "nothing", "psi1": ratios[-1]}
    axes: dict[Any, Any] = {("student", "teacher"): PAIRS}
    ridges = {"ridges": RIDGE}
    return {
        "giant": Part(Study(giant, {**axes, "psi1": ratios}, ridges, repeats=repeats, key=38), _KIND),
        "untrained": Part(Study(untrained, axes, ridges, repeats=repeats, key=39), _KIND),
    }


def prediction(data: Data) -> np.ndarray:
    """The limit, (pair, psi1)."""
    dim, ratios = parameters_at(data["giant"])["dim"], data["giant"]["psi1"].values
    return np.array([[_limit(pair, ratio, dim) for ratio in ratios] for pair in PAIRS])


def _limit(pair: list[str], ratio: float, dim: int) -> float:
    setting = _setting(pair, ratio, dim)
    ridge = max(0.05, 0.2 / ratio) / setting.sizes.width
    return float(limit_excess(setting, SCALE, np.array([ridge]))[0])


def _setting(pair: list[str], ratio: float, dim: int) -> Setting:
    return Setting.of({**_FIXED, "student": pair[0], "teacher": pair[1], "psi1": ratio, "dim": dim})


def _seen(data: Data, name: str = "excess") -> np.ndarray:
    """(repeat, pair, psi1); at each psi1 there is one ridge."""
    return data["giant"][name].max(("step", "ridge")).transpose("repeat", "student_teacher", "psi1").values


def verdict(data: Data, predicted: np.ndarray) -> Finding:
    """Theory with the weights given, and in the limit; the floor crossed; the bound and its condition."""
    dim, ratios = parameters_at(data["giant"])["dim"], data["giant"]["psi1"].values
    seen, given = _seen(data), _seen(data, "given")
    floors = np.array([_setting(pair, 1.0, dim).floor for pair in PAIRS])
    constants = np.array([aligned_error(target(teacher), activation(name)).value for name, teacher in PAIRS])
    bound = 10 * constants[:, None] + np.sqrt(constants[:, None] / ratios) + 1 / ratios
    untrained = data["untrained"]["excess"].transpose("repeat", ...).values.reshape(len(seen), -1)
    beyond, before = (seen[..., list(ratios).index(ratio)] for ratio in (8.0, 2.0))
    checks = [
        close("with the weights given, risk over theory is 1", seen / given, 1.0, allowance=FiniteSize(), dim=dim),
        close(
            "risk over its limit is 1, in the mean over both pairs and all n",
            (seen / predicted).mean(axis=(1, 2)),
            1.0,
            allowance=FiniteSize(),
            dim=dim,
        ),
        above(
            "at n = 8d the risk is below ||P_{>1} f*||^2, the floor of linear methods",
            floors - beyond,
            0.0,
            control="n = 2d must stay above it",
            control_samples=floors - before,
        ),
        above(
            "the risk is at most 10 K* + C (sqrt(K* d/n) + d/n), with C = 1",
            bound - seen,
            0.0,
            control=f"random features at n = {ratios[-1]:g}d must exceed it",
            control_samples=bound[:, -1] - untrained,
        ),
        _condition(),
    ]
    numbers = [
        Number(
            f"excess risk, {pair[0]}, n = {ratio:g}d",
            float(predicted[row, column]),
            *mean_and_error(seen[:, row, column]),
            _EARLIER[pair[0]][int(ratio)],
        )
        for row, pair in enumerate(PAIRS)
        for column, ratio in enumerate(ratios)
    ]
    numbers += [
        Number("K*, tanh on tanh", float(constants[0]), None, None, 9.45e-5),
        Number("K*, relu on relu", _aligned("relu", "relu(h1)"), None, None, 0.038),
    ]
    return Finding(checks, numbers, [_remark(seen, given, predicted)])


def _aligned(student: str, teacher: str) -> float:
    return aligned_error(target(teacher), activation(student)).value


def _condition() -> Check:
    """10 K* over the floor is below one for tanh; for relu it is not, and the bound promises nothing."""
    texts = {name: f"{name}(h1)" for name in ("tanh", "relu")}
    shares = [10 * _aligned(name, text) / label_moments(target(text)).floor for name, text in texts.items()]
    statement = "10 K* is below ||P_{>1} f*||^2 for tanh on tanh (their ratio is below 1)"
    return identity(statement, shares[0], 1.0, control="relu on relu, where it is not", control_difference=shares[1])


def _remark(seen: np.ndarray, given: np.ndarray, limit: np.ndarray) -> str:
    misses = [float(np.max(np.abs(seen.mean(0) / theory - 1))) for theory in (given.mean(0), limit)]
    return (
        f"Means over seeds miss theory with the weights given by {misses[0]:.1%} at most and the limit by "
        f"{misses[1]:.1%}. K* of relu on relu is .0401 at k = .962, not the .038 given earlier; the condition "
        "also fails for a tanh student and a sine. The prototype's risks, of three seeds, differ from the limit by up "
        "to 15% (n = 32d: .0034 against .0039 at d = 160); theory with the weights given sides with these."
    )


def figure(data: Data, predicted: np.ndarray) -> Figure:
    """The risk at the best ridge against n/d, with both floors."""
    dim, ratios = parameters_at(data["giant"])["dim"], data["giant"]["psi1"].values
    made, (axes,) = panels([f"Ridge after a giant step, d = {dim}"], x="samples n / d", y="excess risk")
    seen, given = _seen(data), _seen(data, "given").mean(0)
    for series, pair in enumerate(PAIRS):
        values = seen[:, series]
        theory_line(axes, ratios, predicted[series], series=series, label=f"limit, {pair[0]}")
        axes.plot(ratios, given[series], "_", color=INK, markersize=14, label=None if series else "weights given")
        points = f"simulation, {pair[0]} on {pair[0]}"
        measured_points(axes, ratios, values.mean(0), standard_error(values), series=series, label=points)
        mark(axes, _setting(pair, 1.0, dim).floor, f"floor of linear methods, {pair[0]}", along="y")
    axes.set(xscale="log", yscale="log")
    axes.set_xticks(ratios, [f"{ratio:g}" for ratio in ratios])
    axes.minorticks_off()
    add_legend(axes, loc="lower left")
    return made


EXHIBIT = Exhibit(
    id="beyond-linear",
    title="A giant step beats every linear method",
    claim="After a step of order sqrt(N), ridge regression has a risk of at most 10 K* + C (sqrt(K* d/n) + d/n), below "
    "the floor ||P_{>1} f*||^2 of linear methods once n/d is large, as for tanh on tanh.",
    document=FIRST_STEP,
    papers=("ba2022", "cui2024"),
    protocol="tanh on tanh and erf on erf, noise variance .01, p = 2d, step eta = 3 sqrt(p) (gamma = 3 per neuron), "
    "then ridge regression on n fresh samples, p lambda = max(.05, .2 d/n), which is near the best. The "
    "bound's constant C is not known; 1 is taken. The control stands at n = 2d: at 4d, tried first, the floor is too "
    "near to tell.",
    caption="Lines are the limit, dashes theory with the weights that the step made, points means over seeds with two "
    "standard errors.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
)
