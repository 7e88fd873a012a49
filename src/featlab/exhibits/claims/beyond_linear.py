"""After a step of order sqrt(p) ridge regression goes below the floor of linear methods (Ba et al. 2022, Theorem 7).

The risk is at most 10 K* + C (sqrt(K* d/n) + d/n), K* = inf_k E(sigma*(z1) - E sigma(k z1 + z2))^2: how well one neuron
of the stretched student can be the teacher. If 10 K* is below ||P_{>1} f*||^2, enough samples beat every linear method.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from featlab import exhibits as ex

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAIRS = [["tanh", "tanh(h1)"], ["erf", "erf(h1)"]]
SCALE = 3.0
_PAIR = "activation_target"
_RATIOS = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
_SIZES = {
    ex.Size.QUICK: (100, [2.0, 8.0, 32.0], 8),
    ex.Size.PAPER: (160, _RATIOS, 12),
    ex.Size.LARGE: (640, _RATIOS, 8),
}
_PROTOTYPE = {
    "tanh": (0.1445, 0.0672, 0.0331, 0.0166, 0.0071, 0.0034),
    "erf": (0.1947, 0.0935, 0.0458, 0.0237, 0.0101, 0.0048),
}
_EARLIER = {(name, ratio): old for name, row in _PROTOTYPE.items() for ratio, old in zip(_RATIOS, row, strict=True)}


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """A giant step for many sample ratios; and no step, as a control. p lambda is near the best one."""
    from featlab.exhibits.one_step import SIZES

    dim, ratios, repeats = _SIZES[size]
    fixed = {"noise": 0.01, "psi2": 2.0, "dim": dim}
    # Fewer samples need more of the ridge.
    derived = {**SIZES, "ridges": "max(0.05, 0.2/psi1)"}
    axes = {("activation", "target"): PAIRS, "psi1": ratios}
    giant = ex.Study({**fixed, "steps": SCALE}, axes, derived, repeats, key=38, observe=["excess"])
    axes = {**axes, "psi1": ratios[-1:]}
    untrained = ex.Study({**fixed, "steps": 0.0}, axes, derived, repeats, key=39, observe=["excess"])
    return {"giant": ex.Part(giant, "one-step"), "untrained": ex.Part(untrained, "one-step")}


def theory(data: ex.Data) -> ex.Data:
    """The limit; the floor and the bound with C = 1; and the risk with the weights that the step made."""
    import xarray as xr

    from featlab.exhibits.one_step import conditional_risks, given_weights, limit_excess, linear_floor
    from featlab.runners.first_gradient import experiment_of

    runs, ratios = data["giant"], data["giant"]["psi1"]
    risks = np.empty((len(PAIRS), len(ratios)))
    for place in np.ndindex(risks.shape):
        point = ex.parameters_of(runs.isel({_PAIR: place[0], "psi1": place[1]}))
        risks[place] = limit_excess(experiment_of(point), SCALE, np.array([point["ridges"] / point["width"]])).item()
    constants = xr.DataArray([_aligned(*pair) for pair in PAIRS], dims=_PAIR)
    limit = {
        "excess": ((_PAIR, "psi1"), risks),
        "floor": (_PAIR, [linear_floor(teacher) for _, teacher in PAIRS]),
        "bound": 10 * constants + np.sqrt(constants / ratios) + 1 / ratios,
    }
    return {"giant": xr.Dataset(limit, {"psi1": ratios}), "given": given_weights(runs, conditional_risks)}


def _aligned(student: str, teacher: str) -> float:
    """K*."""
    from featlab.gaussian.activations import activation
    from featlab.targets import target
    from featlab.theory.giant.bounds import aligned_error

    return aligned_error(target(teacher), activation(student)).value


def _share(name: str) -> float:
    """10 K* over the floor: below one the bound promises something."""
    from featlab.exhibits.one_step import linear_floor

    return 10 * _aligned(name, f"{name}(h1)") / linear_floor(f"{name}(h1)")


def least_constant(data: ex.Dataset) -> ex.Array:
    """The C with which the bound would be the risk: (risk - 10 K*)/(sqrt(K* d/n) + d/n), the largest over n."""
    import xarray as xr

    constants = xr.DataArray([_aligned(*pair) for pair in PAIRS], dims=_PAIR)
    ratios, risk = data["psi1"], data["excess"].isel(step=0) if "step" in data["excess"].dims else data["excess"]
    return ((risk - 10 * constants) / (np.sqrt(constants / ratios) + 1 / ratios)).max("psi1")


_SEEN, _GIVEN = ex.Of("excess", "giant"), ex.Of("excess", "giant", theory="given")


def _misses(view: ex.View) -> str:
    seen = view.measured(_SEEN).mean("run")
    expected = [view.predicted(_GIVEN).mean("run"), view.predicted(_SEEN)]
    given, limit = (float(abs(seen / theory - 1).max()) for theory in expected)
    return (
        f"Means over seeds miss theory with the weights given by {given:.1%} at most and the limit by "
        f"{limit:.1%}. K* of relu on relu is .0401 at k = .962, not the .038 given earlier; the condition "
        "also fails for a tanh student and a sine. The prototype's risks, of three seeds, differ from the limit by up "
        "to 15% (n = 32d: .0034 against .0039 at d = 160); theory with the weights given sides with these."
    )


def _constant(student: str, teacher: str, earlier: float) -> ex.AnyNumber:
    return lambda view, name: ex.Number(name, _aligned(student, teacher), None, None, earlier)


def _weights_given(axes: Axes, view: ex.View) -> None:
    """Theory with the weights given as dashes, and the floors."""
    from featlab.figures.panels import mark
    from featlab.figures.style import INK

    given = view.predicted(_GIVEN).mean(["run", "step"])
    for place, (name, _) in enumerate(PAIRS):
        label = None if place else "weights given"
        axes.plot(given["psi1"], given.isel({_PAIR: place}), "_", color=INK, markersize=14, label=label)
        floor = float(view.theory["giant"]["floor"][place])
        mark(axes, floor, f"floor of linear methods, {name}", along="y")


EXHIBIT = ex.Exhibit(
    id="beyond-linear",
    title="A giant step beats every linear method",
    claim="After a step of order sqrt(N), ridge regression has a risk of at most 10 K* + C (sqrt(K* d/n) + d/n), below "
    "the floor ||P_{>1} f*||^2 of linear methods once n/d is large, as for tanh on tanh.",
    document=ex.FIRST_STEP,
    papers=("ba2022", "cui2024"),
    protocol="tanh on tanh and erf on erf, noise variance .01, p = 2d, step eta = 3 sqrt(p) (gamma = 3 per neuron), "
    "then ridge regression on n fresh samples, p lambda = max(.05, .2 d/n), which is near the best. The bound's "
    "constant C is not known; the least that would do is measured (1/4 is above what the limit has). The control "
    "stands at n = 2d: at 4d, tried first, the floor is too near to tell.",
    caption="Lines are the limit, dashes theory with the weights that the step made, points means over seeds with two "
    "standard errors.",
    studies=studies,
    theory=theory,
    checks={
        "with the weights given, risk over theory is 1": ex.Close(_GIVEN, relative=True, allowance=(1.0, 0.5)),
        "risk over its limit is 1, in the mean over both pairs and all n": ex.Close(
            _SEEN, relative=True, mean=(_PAIR, "psi1"), allowance=(1.0, 0.5)
        ),
        "at n = 8d the risk is below ||P_{{>1}} f*||^2, the floor of linear methods": ex.Above(
            ex.Of("excess", "giant", {"psi1": 8.0}),
            "floor",
            ex.Of("excess", "giant", {"psi1": 2.0}),
            "n = 2d must stay above it",
            below=True,
        ),
        "{activation}: the risk falls like d/n: its exponent is at most -.9, and not -1.1": ex.Exponent(
            _SEEN, "psi1", -0.9, wrong=-1.1, at_most=True, each=_PAIR
        ),
        "the least C of the bound 10 K* + C (sqrt(K* d/n) + d/n), the largest over n, is below 1/4": ex.Above(
            ex.Of(least_constant, "giant"),
            0.25,
            ex.Of(least_constant, "untrained"),
            "random features at the largest n must need more",
            below=True,
        ),
        "10 K* is below ||P_{{>1}} f*||^2 for tanh on tanh (their ratio is below 1)": ex.Identity(
            lambda view, at: _share("tanh"),
            1.0,
            control="relu on relu, where it is not",
            control_difference=lambda view, at: _share("relu"),
        ),
    },
    numbers={
        "excess risk, {activation}, n = {psi1:g}d": ex.Value(
            _SEEN, each=(_PAIR, "psi1"), earlier=_EARLIER, by=("activation", "psi1")
        ),
        "least C of the bound, {activation}": ex.Value(ex.Of(least_constant, "giant"), each=_PAIR),
        "K*, tanh on tanh": _constant("tanh", "tanh(h1)", 9.45e-5),
        "K*, relu on relu": _constant("relu", "relu(h1)", 0.038),
    },
    remarks=[_misses],
    figure={
        "Ridge after a giant step, d = {dim}": ex.Panel(
            ex.Overlay(_SEEN, "psi1", "limit, {activation}", "simulation, {activation} on {activation}", each=_PAIR),
            _weights_given,
            x="samples n / d",
            y="excess risk",
            legend="lower left",
            ticks={"x": lambda view: view.data["giant"]["psi1"].values.tolist()},
            xscale="log",
            yscale="log",
        )
    },
    shows=("residuals",),
)
