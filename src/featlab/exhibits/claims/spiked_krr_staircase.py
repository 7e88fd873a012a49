"""Under a spike theta = d^g along the target, a kernel learns from n ~ d samples degree by degree, as g grows.

Ba et al. 2023: for g between 1 - 1/l and 1 - 1/(l + 1) the risk of kernel ridge regression tends to ||P_{>l} f*||^2.
The steps are 1/log d wide: at d = 1000 there is a slope, not a staircase, and only a theory at finite d can tell
whether that slope is the staircase on its way.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from featlab import exhibits as ex

TARGET = "(h1 + He2(h1)/sqrt(2) + He3(h1)/sqrt(6))/sqrt(3)"
PURE = {2: "He2(h1)/sqrt(2)", 3: "He3(h1)/sqrt(6)"}
STEP = 1 / 3  # the height of each step: every degree has a third of the energy
# Two places on the second step, between 1/2 and 2/3, and one before it.
ON_STEP, BEFORE = (0.58, 0.62), 0.4
FLAT = 0.05  # a plateau falls by less than this share of a step from the first to the second
FAR = (10**6, 10**12)
_PLATEAUS = (10**6, 10**9, 10**12)
_FINITE = (8.0, 1.0)  # theory neglects terms of relative order 1/d; it was within 2% at d = 400
_STAIRS = (0.2, BEFORE, 0.5, *ON_STEP, 0.7, 0.8)
_SMOOTH = (0.05, 0.2, 0.3, 0.45, 0.48, 0.5, 0.52, 0.55, 0.64, 0.66, 0.68, 0.7, 0.75)
_PURE = {2: (0.44, 0.48, 0.52, 0.56, 0.6), 3: (0.62, 0.66, 0.7, 0.74, 0.78)}
# d and seeds of the staircase, its spikes; d of the pure degrees and their spikes.
_SIZES = {
    ex.Size.QUICK: (200, 20, (BEFORE, *ON_STEP), 200, {}),
    ex.Size.PAPER: (700, 20, _STAIRS, 700, _PURE),
    ex.Size.LARGE: (3000, 5, _STAIRS, 5000, _PURE),
}
_DEGREES = ("degree_2", "degree_3")


def studies(size: ex.Size) -> Mapping[str, ex.Part]:
    """The staircase at the best ridge; pure degrees at the ridge K + 1."""
    dim, seeds, spikes, pure_dim, pure_spikes = _SIZES[size]
    fixed = {"learner": "kernel-ridge", "kernel": "exponential", "seeds": seeds, "observe": ["risk", "captured"]}
    stairs = {**fixed, "target": TARGET, "dim": dim, "samples": 2 * dim}
    parts = {"staircase": ex.Part(ex.Study(stairs, {"spike": spikes}, key=601))}
    pure = {**fixed, "dim": pure_dim, "samples": 2 * pure_dim, "ridge": 1 / (2 * pure_dim)}
    for degree, places in pure_spikes.items():
        study = ex.Study({**pure, "target": PURE[degree]}, {"spike": places}, key=600 + 10 * degree)
        parts[f"degree_{degree}"] = ex.Part(study, facts={"degree": degree, "next": degree + 1})
    return parts


def theory(data: ex.Data) -> ex.Data:
    """Risks on a smooth axis of spikes at this d and far beyond, captured shares, and the spikes that capture half."""
    stairs = data["staircase"]
    spikes = np.union1d(stairs["spike"].values, _SMOOTH).tolist()
    found = {"staircase": ex.predict_over(stairs, "spike", spike=spikes)[["risk"]].isel(time=0)}
    for dim in FAR:
        found[f"d = {dim:.0e}"] = ex.predict_over(stairs, "spike", spike=spikes, dim=dim, samples=2 * dim)[["risk"]]
    for name in [name for name in _DEGREES if name in data]:
        smooth = np.union1d(data[name]["spike"].values, np.linspace(0.3, 0.9, 13)).tolist()
        halves = [_half_captured(data[name], dim) for dim in (data[name]["dim"].item(), FAR[-1])]
        captured = ex.predict_over(data[name], "spike", spike=smooth)[["captured"]].isel(time=0)
        found[name] = captured.assign(half=halves[0], half_far=halves[1])
    return found


def _half_captured(data: ex.Dataset, dim: int) -> float:
    """The spike at which theory captures half of the target."""
    import scipy.optimize

    sizes: dict[str, Any] = {"dim": dim, "samples": 2 * dim, "ridge": 1 / (2 * dim)}
    return float(
        scipy.optimize.brentq(
            lambda spike: float(ex.predict_at(data, spike=spike, **sizes)["captured"][0]) - 0.5, 0.3, 0.9, xtol=1e-4
        )
    )


def limit(spike: float, fewer: int = 0) -> float:
    """||P_{>l} f*||^2 for the degree l that the theorem says is learned, or some degrees fewer."""
    from featlab.learners.kernel_functions import kernel_function
    from featlab.theory.kernels.staircase import kernel_floor, learned_degree

    return kernel_floor(TARGET, kernel_function("exponential"), min(int(learned_degree(1, spike)), 3) - fewer)


def _miss(view: ex.View, fewer: int) -> float:
    """The largest distance of theory at the farthest d from the staircase."""
    far = view.theory[f"d = {FAR[-1]:.0e}"]["risk"]
    return max(abs(float(far.sel(spike=g).squeeze()) - limit(g, fewer)) for g in (0.2, BEFORE, *ON_STEP, 0.75))


def fall(view: ex.View, dim: int, start: float, end: float) -> float:
    """By how much of a step theory's risk falls from one spike to another."""
    sizes: dict[str, Any] = {"dim": dim, "samples": 2 * dim}
    first, last = (float(ex.predict_at(view.data["staircase"], spike=g, **sizes)["risk"][0]) for g in (start, end))
    return (first - last) / STEP


def _flat_far(view: ex.View, statement: str) -> ex.Check:
    """Whether theory's second step is flatter at every larger d, and flat at the largest, where its edge is not."""
    falls = {dim: fall(view, dim, *ON_STEP) for dim in _PLATEAUS}
    edge = fall(view, _PLATEAUS[-1], BEFORE, ON_STEP[0])
    detail = ", ".join(f"{share:.1%} of a step at d = {dim:.0e}" for dim, share in falls.items())
    descends = all(later < earlier for earlier, later in pairwise(falls.values()))
    flat = falls[_PLATEAUS[-1]] < FLAT and descends
    result = ex.CheckResult.HOLDS if flat else ex.CheckResult.FAILS
    control = f"the edge before it, from d^{BEFORE:g} to d^{ON_STEP[0]:g}, which falls by {edge:.0%}"
    return ex.Check(statement, result, f"it falls by {detail}.", control, edge > FLAT)


def _plateaus(view: ex.View, name: str) -> list[ex.Number]:
    """Measured where it was run; theory from there to d = 10^12."""
    risks = (view.measured(ex.Of("risk", "staircase", {"spike": g})).values.ravel() for g in ON_STEP)
    (first, first_error), (last, last_error) = map(ex.mean_and_error, risks)
    dim, error = view.data["staircase"]["dim"].item(), float(np.hypot(first_error, last_error)) / STEP
    here = ex.Number(name.format(dim=dim), fall(view, dim, *ON_STEP), (first - last) / STEP, error)
    return [here, *(ex.Number(name.format(dim=far), fall(view, far, *ON_STEP)) for far in _PLATEAUS)]


def _steps(axes: Any, view: ex.View) -> None:
    heights = [limit(g) for g in (0.25, 0.58, 0.75)]
    axes.stairs(heights, [0.0, 0.5, 2 / 3, 0.85], baseline=None, color="#20242b", linewidth=0.9, label="limit")


_HALF = "He{degree}: the spike exponent at which half is captured"
_SPIKE = r"exponent g of the spike, $\theta = d^g$"

EXHIBIT = ex.Exhibit(
    id="spiked-krr-staircase",
    title="A spike lets a kernel climb, degree by degree",
    claim="With n ~ d samples and a spike theta = d^g along the target, g between 1 - 1/l and 1 - 1/(l+1), kernel "
    "ridge regression learns exactly the degrees up to l.",
    document=ex.STRUCTURED_DATA,
    papers=("ba2023",),
    protocol="The kernel exp(<x, y>/d), n = 2d, f* = (He1 + He2/sqrt 2 + He3/sqrt 6)/sqrt 3 of the normalised "
    "coordinate along the spike, the ridge with the smallest leave-one-out error: at a fixed one the limit is not "
    "reached. Pure degrees at (K + 1)^-1 y: the exponent at which half of the target is captured (not at quick size). "
    "A theory at finite d (a kernel "
    "operator on the spiked coordinate) carries from the simulated d to 10^12. We call a step flat if the risk falls "
    "by less than 5% of its height between g = .58 and .62.",
    caption="Lines are theory at finite d, points means over seeds with two standard errors, thin the limit.",
    studies=studies,
    theory=theory,
    checks={
        "theory tends to the staircase ||P_>l f*||^2: largest distance at d = 1e+12": ex.Identity(
            lambda view, at: _miss(view, 0),
            0.01,
            control="a staircase that is one degree behind",
            control_difference=lambda view, at: _miss(view, 1),
        ),
        "He{degree}: the captured share at d = {dim} is the predicted one": ex.Close(
            ex.Of("captured", _DEGREES), allowance=_FINITE
        ),
        f"{_HALF} tends to 1 - 1/{{degree}}: distance at d = 1e+12": ex.Identity(
            lambda view, at: at["half_far"] - (1 - 1 / at["degree"]),
            0.01,
            control="the next step, 1 - 1/{next}",
            control_difference=lambda view, at: at["half_far"] - (1 - 1 / at["next"]),
            study=_DEGREES,
        ),
        "the second step is flat as d grows: from d^0.58 to d^0.62 the risk falls by < 5% of it": ex.InTheLimit(
            ex.Close(ex.Of("risk", "staircase"), allowance=_FINITE), _flat_far
        ),
    },
    numbers={
        "fall of the risk along the second step, as a share of it, d = {dim:.0e}": _plateaus,
        f"{_HALF}, d = {{dim}}": ex.Value(ex.Of("captured", _DEGREES), "half", measured=False),
    },
    remarks="An earlier protocol asked for the plateau at the simulated d, where theory itself has none.",
    figure={
        "He1 + He2 + He3, best ridge": ex.Panel(
            _steps,
            ex.Overlay(ex.Of("risk", "staircase"), "spike", "theory, d = {dim:,}", "simulation, d = {dim:,}"),
            *(
                ex.Overlay(ex.Of("risk", "staircase", theory=f"d = {dim:.0e}"), "spike", words, None, series=series)
                for series, dim, words in ((1, FAR[0], "theory, d = $10^6$"), (2, FAR[1], "theory, d = $10^{{12}}$"))
            ),
            x=_SPIKE,
            y="risk (1: nothing is learned)",
            legend="lower left",
            xlim=(0, 0.85),
            ylim=(0, 0.9),
        ),
        "One degree alone, fixed ridge": ex.Panel(
            ex.Overlay(ex.Of("captured", _DEGREES), "spike", points="He{degree}, d = {dim}"),
            ex.Mark(1 / 2, "limit of He2"),
            ex.Mark(2 / 3, "limit of He3"),
            ex.Mark(0.5, "half", along="y"),
            x=_SPIKE,
            y="share of the target captured",
            legend="lower right",
            xlim=(0.3, 0.9),
            ylim=(0, 1.05),
        ),
    },
    shows=("kernels",),
)
