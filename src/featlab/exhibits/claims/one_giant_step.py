"""One gradient step finds the target's directions from n ~ d^l samples on, and not before (Dandi et al. 2023).

Of a target whose lowest Hermite degree is l, one step of size eta = p d^{(l-1)/2} on n samples puts the neurons into
the span of its directions: for l = 1 all into one direction, for l > 1 into all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import factorial
from typing import Any

import numpy as np

from featlab import exhibits as ex

# By l: the target, a student that has degree l, and its neurons. For l > 1 these differ by their starts: more of them,
# less scatter. Of the target's directions the coefficients mu*_{k,l} are 1 and SIGNS[l].
_CASES = {
    1: {"target": "h1 + He2(h1) + h2 - He2(h2)", "activation": "relu", "width": 16},
    2: {"target": "(He2(h1) - He2(h2))/2", "activation": "relu", "width": 64},
    3: {"target": "(He3(h1) - He3(h2))/6", "activation": "He3", "width": 64},
}
SIGNS = {1: 1, 2: -1, 3: -1}
_DIMS = {
    ex.Size.QUICK: {1: [500], 2: [125]},
    ex.Size.PAPER: {1: [500, 2000, 8000, 32000], 2: [125, 500, 2000], 3: [32, 64, 96]},
    ex.Size.LARGE: {1: [2000, 20_000, 200_000], 2: [500, 2000, 8000], 3: [64, 128, 256]},
}
_POWERS = {1: [0.5, 0.75, 1.0, 1.25, 1.5], 2: [1.0, 1.5, 1.75, 2.0, 2.25], 3: [2.0, 2.5, 3.0, 3.25]}
_QUICK_POWERS = {1: [0.5, 1.5], 2: [1.0, 2.0]}
_EARLIER = {  # overlaps of a prototype at (l, d, kappa)
    (1, 500, 0.5): 0.106, (1, 2000, 0.5): 0.067, (1, 8000, 0.5): 0.042, (1, 32000, 0.5): 0.029,
    (1, 500, 1.0): 0.330, (1, 2000, 1.0): 0.323, (1, 8000, 1.0): 0.329, (1, 32000, 1.0): 0.330,
    (1, 500, 1.5): 0.548, (1, 2000, 1.5): 0.564, (1, 8000, 1.5): 0.571, (1, 32000, 1.5): 0.574,
    (2, 125, 1.0): 0.144, (2, 500, 1.0): 0.093, (2, 2000, 1.0): 0.049,
    (2, 125, 2.0): 0.342, (2, 500, 2.0): 0.306, (2, 2000, 2.0): 0.305,
}  # fmt: skip
_ALLOWED = 0.05  # of the largest squared cosine: the closed form has the noise to leading order in 1/n only
_OBSERVED = ["overlap", "norm", "subspace", "second_layer"]
_LEAPS, _NO_DEGREE = ("l=1", "l=2", "l=3"), "l=2, erf"  # whose second coefficient is zero: the control for l = 2


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """A grid of d and kappa for each l; and a student that lacks degree 2."""
    # All designs have the same law: small sizes compile faster on a stored X, and a wide student has no virtual one at
    # a small d, so that the choice is left to the sizes (and, for the same choice everywhere, to a stated memory).
    quick = size is ex.Size.QUICK
    rule: dict[str, Any] = {"learner": "giant-steps", "second_layer": "signs", "paired": True, "observe": _OBSERVED}
    rule |= {"design": "dense"} if quick else {"memory": (16 if size is ex.Size.LARGE else 4) * 10**9}

    def part(leap: int, dims: Sequence[int], powers: Sequence[float], **student: str) -> ex.Part:
        seeds = 24 if leap == 1 or quick else 8  # more neurons and far more samples for l > 1
        fixed = {**rule, **_CASES[leap], "leap": leap, "seeds": seeds, **student}
        study = ex.Study(fixed, {"dim": dims, "kappa": powers}, {"samples": "round(dim**kappa)"}, key=230 + leap)
        return ex.Part(study, facts={"dims": len(dims), "smallest": dims[0], "lowest": powers[0]})

    parts = {
        f"l={leap}": part(leap, dims, (_QUICK_POWERS if quick else _POWERS)[leap]) for leap, dims in _DIMS[size].items()
    }
    return parts if quick else {**parts, _NO_DEGREE: part(2, [_DIMS[size][2][1]], [2.0], activation="erf")}


def theory(data: ex.Data) -> ex.Data:
    """The root mean square cosine with the span over a fine grid of kappa, for each d; and the size of the step."""
    return {name: _closed_form(part) for name, part in data.items()}


def _closed_form(part: ex.Dataset) -> ex.Dataset:
    import xarray as xr

    from featlab.gaussian.activations import activation
    from featlab.learners.giant import GiantSteps
    from featlab.targets import target
    from featlab.theory.giant.cosine import one_step_cosines

    fixed, dims = ex.parameters_at(part), part["dim"].values.tolist()
    goal, student, leap = target(fixed["target"]), activation(fixed["activation"]), fixed["leap"]
    powers = np.union1d(np.linspace(float(part["kappa"].min()), float(part["kappa"].max()), 13), part["kappa"])
    samples = {dim: [round(dim**power) for power in powers] for dim in dims}
    found = [one_step_cosines(goal, student, GiantSteps(leap=leap), dim=dim, samples=samples[dim]) for dim in dims]
    values = [[one.root_mean_square for one in row] for row in found]
    cosine = xr.DataArray(values, {"dim": dims, "kappa": powers}, ("dim", "kappa"))
    # As if there were one neuron, of norm 1, in the direction of the one that it has found.
    overlap = cosine.expand_dims(["neuron", "direction"]).expand_dims(time=[1.0])
    factor = float(student.hermite_coefficients(leap)[leap]) / factorial(leap - 1)
    enough = 0.8 * float(square(part).isel(dim=0, kappa=-1).mean())  # at the largest d, of what is at the smallest
    return xr.Dataset({"cosine": cosine, "overlap": overlap, "norm": 1.0, "factor": factor, "enough": enough})


def square(data: ex.Dataset) -> ex.Array:
    """After the step: |projection on the target's span|^2 over |w|^2 of a neuron, averaged over those of a seed."""
    lengths = (data["overlap"] ** 2).sum("direction") / data["norm"] ** 2
    return lengths.sel(time=1, drop=True).mean("neuron")


def step_coefficient(data: ex.Dataset) -> ex.Array:
    """For each seed, C in a_i <w_i^1 - w_i^0, w*_k> = C mu*_{k,l} (sqrt(d) <w_i^0, w*_k>)^(l-1), by least squares;
    at the largest d and n."""
    import xarray as xr

    last, leap = data.isel(dim=-1, kappa=-1), data["leap"].item()
    start, after = (last["overlap"].sel(time=time, drop=True) for time in (0, 1))
    regressor = xr.DataArray([1, SIGNS[leap]], dims="direction") * (start * float(last["dim"]) ** 0.5) ** (leap - 1)
    moved = (after - start) * last["second_layer"].sel(time=1)
    return (moved * regressor).sum(["neuron", "direction"]) / (regressor**2).sum(["neuron", "direction"])


def singular_ratio(data: ex.Dataset) -> ex.Array:
    """The second singular value over the first after the step, at the largest d and n."""
    after = data["subspace"].sel(time=1).isel(dim=-1, kappa=-1)
    return after.isel(component=1) / after.isel(component=0)


def _root(samples: np.ndarray) -> tuple[float, float]:
    """The root of the mean."""
    mean, error = ex.mean_and_error(samples)
    return mean**0.5, error / (2 * mean**0.5)


_STEP = ex.Of(step_coefficient, _LEAPS, {"dim": ex.LAST})
_ENDS = [ex.Of(square, _LEAPS, {"dim": ex.FIRST, "kappa": end}, "n = d^{kappa:g}") for end in (ex.FIRST, ex.LAST)]

EXHIBIT = ex.Exhibit(
    id="one-giant-step",
    title="What one giant step finds",
    claim="One gradient step of size p d^((l-1)/2) learns the target's directions if and only if it sees n ~ d^l "
    "samples, l the lowest degree of the target; for l = 1 it learns a single direction.",
    document=ex.GIANT_STEPS,
    papers=("dandi2023",),
    protocol="16 neurons (64 for l > 1) on the sphere in pairs of opposite a = +-1 (so that f = 0), squared loss, one "
    "step on n = d^kappa samples. The cosine with the span is the length of a neuron's projection on that of h1, h2 "
    "over its norm. Students must have the degree l: relu has no degree 3, so l = 3 takes He3; erf has no degree 2 and "
    "is a control. The allowance of 5% and the number of neurons for l > 1 were settled after first runs that could "
    "not tell.",
    caption="Lines: closed form at each d. Points: root mean square over neurons and seeds, two standard errors. "
    "The curves cross at kappa = l.",
    studies=studies,
    theory=theory,
    checks={
        "l = {leap}, d = {dim}: the squared cosine with the span is the closed form's at every n": ex.Close(
            ex.Of(square, _LEAPS, {"dim": ex.LAST}), allowance=_ALLOWED
        ),
        "l = {leap}: the overlap grows by eta a_i/p mu*_{{k,l}} <w_i, w*_k>^(l-1)": ex.Corrected(
            ex.Close(_STEP, 1.0, allowance=(1.0, 1.0)),
            ex.Close(_STEP, lambda at: at["factor"], allowance=(1.0, 1.0)),
            "The factor mu_l(sigma)/(l-1)! = {factor:.4g} of the student was missing.",
            "l = {leap}: the overlap grows by mu_l(sigma)/(l-1)! eta a_i/p mu*_{{k,l}} <w_i, w*_k>^(l-1)",
        ),
        "l = {leap}: the overlap is larger from n = d^{leap} on": ex.Ordered(_ENDS, only=lambda at: at["dims"] == 1),
        "l = {leap}: on n = d^{kappa:g} samples the overlap vanishes as d grows": ex.Ordered(
            ex.Of(square, _LEAPS, {"kappa": ex.FIRST}, "d = {dim}"),
            along="dim",
            descending=True,
            only=lambda at: at["dims"] > 1,
        ),
        "l = {leap}: on n = d^{kappa:g} samples cos^2 at d = {dim} is above .8 of that at {smallest}": ex.Above(
            ex.Of(square, _LEAPS, {"dim": ex.LAST, "kappa": ex.LAST}),
            "enough",
            ex.Of(square, _LEAPS, {"dim": ex.LAST, "kappa": ex.FIRST}),
            "n = d^{lowest:g}",
            only=lambda at: at["dims"] > 1,
        ),
        "the second singular value over the first: one direction for l = 1, the whole span for l = 2": ex.Ordered(
            [ex.Of(singular_ratio, f"l={leap}", words="l = {leap}") for leap in (1, 2)]
        ),
        "a student without degree 2 finds nothing at n = d^2": ex.Ordered(
            [ex.Of(square, _NO_DEGREE, words="erf"), ex.Of(square, "l=2", {"dim": ex.Nth(1), "kappa": 2.0}, "relu")]
        ),
    },
    numbers={
        "cosine with the span, l = {leap}, d = {dim}, n = d^{kappa:g}": ex.Value(
            ex.Of(square, _LEAPS),
            "cosine",
            each=("dim", "kappa"),
            earlier=_EARLIER,
            by=("leap", "dim", "kappa"),
            summary=_root,
        ),
        "coefficient of the step, l = {leap}": ex.Value(_STEP, "factor"),
        "singular ratio, l = {leap}": ex.Value(ex.Of(singular_ratio, _LEAPS), False),
    },
    remarks="The prototype's .144 at l = 2, d = 125, kappa = 1 is what noise of equal size in all directions would "
    "give; but samples with large labels have large fields: E[y^2 |h|^2] is 3 E[y^2] E[|h|^2] there. Its .305 at "
    "kappa = 2, a mean cosine, is below the limit .360. The numbers here are root mean squares over the neurons, "
    "which lie above mean cosines (.395 in that limit).",
    figure={
        f"leap l = {leap}": ex.Panel(
            ex.Overlay(ex.Of(lambda data: square(data) ** 0.5, f"l={leap}"), "kappa", points=None, each="dim"),
            ex.Overlay(ex.Of(square, f"l={leap}"), "kappa", None, "d = {dim}", each="dim", summary=_root),
            ex.Mark(leap, f"n = d^{leap}"),
            x="samples, kappa = log n / log d",
            y="rms cosine with the target's span",
            legend="upper left",
            ylim=(0, None),
        )
        for leap in _CASES
    },
    shows=("one_giant_step",),
)
