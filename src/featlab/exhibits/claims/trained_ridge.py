"""Ridge after a small step: better than random features, never better than linear (Ba et al. 2022, Theorem 5).

While the step is of the size of the critical one, features behave like mu1 W x plus independent noise: the risk has a
closed form in the strength and the alignment of the spike, and stays above ||P_{>1} f*||^2.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from featlab.comparison import FiniteSize
from featlab.exhibits.checks import above, close, mean_and_error, ordered, standard_error
from featlab.exhibits.documents import FIRST_STEP
from featlab.exhibits.one_step import Setting
from featlab.exhibits.predicting import parameters_at
from featlab.exhibits.protocol import Data, Exhibit, Part, Size
from featlab.exhibits.verdict import Finding, Number
from featlab.figures.panels import mark, measured_points, panels, theory_line
from featlab.figures.style import add_legend
from featlab.study import Study
from featlab.theory.ridge import gaussian_risk, linear_part
from featlab.theory.spikes import label_moments

STEPS = [0.0, 1.0, 2.0]
RIDGES = [0.03, 0.3, 3.0]
RATIOS = [0.5, 1.0, 2.0, 4.0]
_PAIR = ("student", "teacher")
_PAIRS = [["tanh", "relu(h1) - 0.3989422804014327"], ["erf", "tanh(h1)"]]
_NAMES = ["no step", "one critical step", "two critical steps"]
_FIXED = {"noise": 0.01, "psi2": 1.0, "steps": STEPS, "unit": "critical", "ridges": RIDGES, "given": "gaussian"}
# A giant step goes below the floor: the control of the bound.
_GIANT = {"student": "tanh", "teacher": "tanh(h1)", "noise": 0.01, "psi1": 16.0, "psi2": 2.0, "given": "nothing"}
_GIANT |= {"steps": [3.0], "unit": "gamma", "ridges": [0.05]}
_SIZES = {Size.QUICK: (150, 5), Size.PAPER: (300, 8), Size.LARGE: (1200, 8)}
_KIND = "featlab.exhibits.one_step:RIDGE"


def studies(size: Size) -> Mapping[str, Part]:
    """72 configurations, and a giant step as a control."""
    dim, repeats = _SIZES[size]
    small = Study({**_FIXED, "dim": dim}, axes={_PAIR: _PAIRS, "psi1": RATIOS}, repeats=repeats, key=34)
    giant = Study({**_GIANT, "dim": min(dim, 160)}, repeats=repeats, key=35)
    return {"small": Part(small, _KIND), "giant": Part(giant, _KIND)}


def prediction(data: Data) -> dict[str, np.ndarray]:
    """The closed form, and the floor, on (pair, psi1, step, ridge)."""
    risks = np.array([[_closed(pair, ratio, STEPS, RIDGES) for ratio in RATIOS] for pair in _PAIRS])
    floors = np.array([_setting(pair, 1.0).floor for pair in _PAIRS])
    return {"excess": risks, "floor": floors[:, None, None, None]}


def _setting(pair: list[str], ratio: float) -> Setting:
    point = {**_FIXED, **dict(zip(_PAIR, pair, strict=True))}
    return Setting.of({**point, "psi1": ratio, "dim": 10**4})


def _closed(pair: list[str], ratio: float, steps: list[float], ridges: list[float]) -> list[list[float]]:
    """gaussian_risk on (step, ridge), without the noise; t = step psi2^(1/4), here psi2 = 1."""
    setting = _setting(pair, ratio)
    part, labels, cosine = linear_part(setting.student), label_moments(setting.target), setting.spike.cosine
    size = {"sample_ratio": ratio, "width_ratio": 1.0, "cosine": cosine}
    return [
        [gaussian_risk(part, labels, ridge=r, strength=step, **size) - setting.target.noise for r in ridges]
        for step in steps
    ]


def verdict(data: Data, predicted: dict[str, np.ndarray]) -> Finding:
    """The closed form in every configuration; the floor; the improvement."""
    dim, seen, given = parameters_at(data["small"])["dim"], _seen(data, "excess"), _seen(data, "given")
    giant = data["giant"]["excess"].values.reshape(-1, 1)
    over = seen / predicted["excess"]
    mean_risk = (seen / predicted["excess"][:, :, :1]).mean(axis=(1, 2, 4))
    checks = [
        close("the risk over its closed form is 1, in 72 configurations", over, 1.0, allowance=FiniteSize(), dim=dim),
        ordered(
            "a small step improves on random features, and a larger one more (risk over that without a step)",
            {name: mean_risk[:, place] for place, name in reversed([*enumerate(_NAMES)])},
        ),
        above(
            "after a small step no risk is below ||P_{>1} f*||^2",
            seen - predicted["floor"],
            0.0,
            control="a giant step (gamma = 3, n = 16d, p = 2d) must go below",
            control_samples=giant - _floor_of_giant(),
        ),
    ]
    misses = [np.abs(seen.mean(0) / theory - 1) for theory in (predicted["excess"], given.mean(0))]
    numbers = [
        Number("median miss of the closed form", 0.0, float(np.median(misses[0])), None, 0.012),
        Number("largest miss of the closed form", 0.0, float(np.max(misses[0])), None, 0.065),
        Number("median miss with the weights given", 0.0, float(np.median(misses[1])), None, 0.011),
        Number("largest miss with the weights given", 0.0, float(np.max(misses[1])), None, 0.048),
        Number("excess after the giant step over its floor", None, *mean_and_error(giant[:, 0] / _floor_of_giant())),
    ]
    return Finding(checks, numbers)


def _floor_of_giant() -> float:
    return Setting.of({**_GIANT, "dim": 10**4}).floor


def _seen(data: Data, name: str) -> np.ndarray:
    """(repeat, pair, psi1, step, ridge)."""
    return data["small"][name].transpose("repeat", "_".join(_PAIR), "psi1", "step", "ridge").values


def figure(data: Data, predicted: dict[str, np.ndarray]) -> Figure:
    """Risk at the middle ridge against n/d, for each step and pair."""
    made, drawn = panels(["tanh student, relu", "erf student, tanh"], x="samples n / d", y="excess risk")
    seen, line = _seen(data, "excess"), np.geomspace(0.45, 4.4, 40)
    middle = RIDGES.index(0.3)
    for axes, pair, place in zip(drawn, _PAIRS, (0, 1), strict=True):
        smooth = np.array([_closed(pair, ratio, STEPS, [RIDGES[middle]]) for ratio in line])[..., 0]
        for series, words in enumerate(_NAMES):
            theory_line(axes, line, smooth[:, series], series=series)
            values = seen[:, place, :, series, middle]
            measured_points(axes, RATIOS, values.mean(0), standard_error(values), series=series, label=words)
        mark(axes, float(predicted["floor"][place, 0, 0, 0]), "floor of all linear methods", along="y")
        axes.set(xscale="log", ylim=(0, None))
        axes.set_xticks(RATIOS, [f"{ratio:g}" for ratio in RATIOS])
        axes.minorticks_off()
    add_legend(drawn[0])
    return made


EXHIBIT = Exhibit(
    id="trained-ridge",
    title="Ridge after a small step stays linear",
    claim="After a step of order one, ridge regression on the trained features improves on random features, has a "
    "closed-form risk, and never beats ||P_{>1} f*||^2, the floor of linear methods.",
    document=FIRST_STEP,
    papers=("ba2022",),
    protocol="Two pairs of student and teacher, p = d, n/d in {1/2, 1, 2, 4}, steps of 0, 1 and 2 critical steps, "
    "p lambda in {.03, .3, 3}, noise variance .01; ridge regression on n samples that the first layer has not seen. "
    "Labels are centred. The control is a giant step, of size sqrt(p) in the source's eta.",
    caption="Excess risk at p lambda = .3. Lines are the closed form, points the mean over seeds with two standard "
    "errors.",
    studies=studies,
    prediction=prediction,
    verdict=verdict,
    figure=figure,
)
