"""Ridge after a small step: better than random features, never better than linear (Ba et al. 2022, Theorem 5).

While the step is of the size of the critical one, features behave like mu1 W x plus independent noise: the risk has a
closed form in the strength and the alignment of the spike, and stays above ||P_{>1} f*||^2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from featlab import exhibits as ex

STEPS = {0.0: "no step", 1.0: "one critical step", 2.0: "two critical steps"}
RIDGES = [0.03, 0.3, 3.0]
RATIOS = [0.5, 1.0, 2.0, 4.0]
_NAMES = ("activation", "target", "mean_slope", "linear", "label_square")
_PAIR = "_".join(_NAMES)
_PAIRS = {
    "tanh student, relu": ["tanh", "relu(h1) - 0.3989422804014327"],
    "erf student, tanh": ["erf", "tanh(h1)"],
}
_NOISE = 0.01
# A giant step goes below the floor: the control of the bound.
_GIANT: dict[str, Any] = {"activation": "tanh", "target": "tanh(h1)", "noise": _NOISE, "steps": 3.0, "ridges": 0.05}
_SIZES = {ex.Size.QUICK: (120, 8), ex.Size.PAPER: (300, 8), ex.Size.LARGE: (1200, 8)}


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """72 configurations, and a giant step as a control."""
    from featlab.exhibits.one_step import CRITICAL, SIZES, moments_of

    dim, repeats = _SIZES[size]
    pairs = [[*pair, *moments_of(pair[0], pair[1], _NOISE).values()] for pair in _PAIRS.values()]
    fixed = {"noise": _NOISE, "dim": dim, "psi2": 1.0, "steps": [*STEPS], "ridges": RIDGES}
    axes = {_NAMES: pairs, "psi1": RATIOS}
    small = ex.Study(fixed, axes, {**SIZES, **CRITICAL}, repeats, key=34, observe=["excess"])
    control = {**_GIANT, "dim": min(dim, 160), "psi1": 16.0, "psi2": 2.0}
    giant = ex.Study(control, {}, SIZES, repeats, key=35, observe=["excess"])
    return {
        "small": ex.Part(small, "one-step", names={"step": STEPS}),
        "giant": ex.Part(giant, "one-step"),
    }


def theory(data: ex.Data) -> ex.Data:
    """The closed form on a finer grid of n/d, t = step psi2^(1/4) with psi2 = 1; the floors; the weights given."""
    import xarray as xr

    from featlab.exhibits.one_step import gaussian_risks, given_weights, linear_floor
    from featlab.gaussian.activations import activation
    from featlab.targets import target
    from featlab.theory.ridge import gaussian_risk, linear_part
    from featlab.theory.spikes import gradient_spike, label_moments

    ratios = np.union1d(RATIOS, np.geomspace(0.45, 4.4, 40))
    risks = np.empty((len(_PAIRS), len(ratios), len(STEPS), len(RIDGES)))
    for pair, (student, teacher) in enumerate(_PAIRS.values()):
        part, labels = linear_part(activation(student)), label_moments(target(teacher, noise=_NOISE))
        for place in np.ndindex(risks.shape[1:]):
            ratio, step, ridge = float(ratios[place[0]]), [*STEPS][place[1]], RIDGES[place[2]]
            size = {"sample_ratio": ratio, "width_ratio": 1.0, "cosine": gradient_spike(labels, ratio).cosine}
            risks[pair, *place] = gaussian_risk(part, labels, **size, strength=step, ridge=ridge) - _NOISE
    floors = [linear_floor(teacher) for _, teacher in _PAIRS.values()]
    closed = {"excess": ((_PAIR, "psi1", "step", "ridge"), risks), "floor": (_PAIR, floors)}
    return {
        "small": xr.Dataset(closed, {"psi1": ratios, "step": [*STEPS]}),
        "given": given_weights(data["small"], gaussian_risks),
        "giant": xr.Dataset({"floor": linear_floor(_GIANT["target"])}),
    }


_SMALL, _LARGE = ex.Of("excess", "small"), ex.Of("excess", "giant")


def _improves(view: ex.View, statement: str) -> ex.Check:
    """Risks over those of theory without a step, in the mean over pairs, sample ratios and ridges."""
    over = view.measured(_SMALL) / view.predicted(_SMALL).isel(step=0, drop=True)
    means = over.mean([_PAIR, "psi1", "ridge"])
    return ex.ordered(statement, {words: means.sel(step=step).values for step, words in reversed(STEPS.items())})


def _stays_above(view: ex.View, statement: str) -> ex.Check:
    seen, giant = (view.measured(of) - view.theory[view.study(of)]["floor"] for of in (_SMALL, _LARGE))
    seen, giant = seen.transpose("run", ...), giant.transpose("run", ...)
    words = "a giant step (gamma = 3, n = 16d, p = 2d) must go below"
    return ex.above(statement, seen, 0.0, control=words, control_samples=giant)


def _misses(view: ex.View, name: str) -> list[ex.Number]:
    """How far means over seeds are off, in the median and at most; of the closed form, and with the weights given."""
    seen, found = view.measured(_SMALL).mean("run"), []
    given = view.predicted(ex.Of("excess", "small", theory="given")).mean("run")
    cases = [
        ("of the closed form", view.predicted(_SMALL), 0.012, 0.065),
        ("with the weights given", given, 0.011, 0.048),
    ]
    for words, expected, median, largest in cases:
        misses = abs(seen / expected - 1)
        found.append(ex.Number(f"median {name} {words}", 0.0, float(misses.median()), None, median))
        found.append(ex.Number(f"largest {name} {words}", 0.0, float(misses.max()), None, largest))
    return found


def _giant_over_floor(view: ex.View, name: str) -> ex.Number:
    over = view.measured(_LARGE) / view.theory["giant"]["floor"]
    return ex.Number(name, None, *ex.mean_and_error(over.values.ravel()))


def _panel(place: int) -> ex.Panel:
    where = {_PAIR: place, "ridge": RIDGES.index(0.3)}
    floor = ex.Mark(lambda view: view.theory["small"]["floor"].values[place], "floor of all linear methods", "y")
    return ex.Panel(
        ex.Overlay(ex.Of("excess", "small", where), "psi1", points="{step_words}", each="step"),
        floor,
        x="samples n / d",
        y="excess risk",
        legend=None if place else "best",
        ticks={"x": RATIOS},
        xscale="log",
        ylim=(0, None),
    )


EXHIBIT = ex.Exhibit(
    id="trained-ridge",
    title="Ridge after a small step stays linear",
    claim="After a step of order one, ridge regression on the trained features improves on random features, has a "
    "closed-form risk, and never beats ||P_{>1} f*||^2, the floor of linear methods.",
    document=ex.FIRST_STEP,
    papers=("ba2022",),
    protocol="Two pairs of student and teacher, p = d, n/d in {1/2, 1, 2, 4}, steps of 0, 1 and 2 critical steps, "
    "p lambda in {.03, .3, 3}, noise variance .01; ridge regression on n samples that the first layer has not seen. "
    "Labels are centred. The control is a giant step, of size sqrt(p) in the source's eta.",
    caption="Excess risk at p lambda = .3. Lines are the closed form, points the mean over seeds with two standard "
    "errors.",
    studies=studies,
    theory=theory,
    checks={
        "the risk over its closed form is 1, in 72 configurations": ex.Close(
            _SMALL, relative=True, allowance=(1.0, 0.5)
        ),
        "a small step improves on random features, and a larger one more (risk over that without a step)": _improves,
        "after a small step no risk is below ||P_{>1} f*||^2": _stays_above,
    },
    numbers={"miss": _misses, "excess after the giant step over its floor": _giant_over_floor},
    figure={title: _panel(place) for place, title in enumerate(_PAIRS)},
    shows=("residuals",),
)
