"""What the exhibits on message passing share: runs of Bayes-AMP over sample ratios n/d, their ends, and the growth of a
small overlap, which tells where the transition is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab.exhibits.declared import Close
from featlab.exhibits.drawn import Mark, Overlay, Panel
from featlab.exhibits.evidence import evident
from featlab.exhibits.protocol import Part, Study
from featlab.exhibits.quantities import matched_overlap, root_d
from featlab.exhibits.reading import LAST, Of, Reading, Studies, View
from featlab.exhibits.verdict import Check, CheckResult

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import ArrayLike

    from featlab.gaussian.hermite import Floats

# As in the code of Troiani et al. 2024: damping .35 and at most 200 iterations.
ITERATIONS = 200
END = {"time": LAST}
OBSERVED = ("overlap", "risk", "posterior_risk")


@dataclass(frozen=True)
class Runs:
    """Which runs are made: the sample ratios n/d, the runs at each (seeds, and repeats in further processes where one
    takes long), the iterations that are looked at besides the last, and how they start, if not at random and damped."""

    ratios: Sequence[float]
    seeds: int
    repeats: int = 1
    looks: Sequence[int] = ()
    iterations: int = ITERATIONS
    rule: Mapping[str, Any] = field(default_factory=dict)


def informed(overlap: float) -> dict[str, Any]:
    """From Q = M = overlap I, without damping: then overlaps follow state evolution iteration by iteration."""
    return {"start": "informed", "start_overlap": overlap, "damping": 0.0}


def amp_part(
    target: str, dim: int, runs: Runs, key: int, observed: Sequence[str] = OBSERVED, within: float = 0.03
) -> Part:
    """Bayes-AMP at every ratio, from a random start unless its rule says otherwise; `within` is for `located`."""
    fixed = {
        "target": target,
        "learner": "bayes-amp",
        "dim": dim,
        "seeds": runs.seeds,
        "iterations": runs.iterations,
        "times": [*map(float, runs.looks), float(runs.iterations)],
        **runs.rule,
    }
    axes, derived = {"ratio": list(map(float, runs.ratios))}, {"samples": "round(ratio*dim)"}
    study = Study(fixed, axes, derived, repeats=runs.repeats, key=key, observe=list(observed))
    return Part(study, facts={"within": within})


# What a finite dimension is allowed: the bias of message passing, measured for other targets at d = 500 to 8000, is
# below this fraction of the overlap.
BIAS = root_d(0.25)


def agreement(overlap: Reading, study: Studies, least: float) -> dict[str, Close]:
    """Overlaps and errors are those of state evolution at all ratios from `least` on."""
    quantities: dict[str, Reading] = {
        "overlaps are those of state evolution": overlap,
        "so is the error of the plug-in predictor": "risk",
        "so is that of the posterior mean": "posterior_risk",
    }
    where = {**END, "ratio": lambda ratio: ratio >= least}
    return {
        f"at n >= {least:g} d, d = {{dim}}, {words}": Close(Of(of, study, where), allowance=BIAS)
        for words, of in quantities.items()
    }


def growth(directions: slice = slice(None)) -> Reading:
    """By which factor the overlap with some directions grows per iteration, from the first look to the last; a
    geometric mean over them.

    Of small overlaps it is alpha / alpha_c: state evolution is linear there, and alpha_c is where the factor is 1. At
    finite d an iteration adds sqrt(q/d) of chance to an overlap q, which this ratio of the ends feels the least.
    """

    def of(data: xr.Dataset) -> xr.DataArray:
        small = matched_overlap(data).isel(direction=directions)
        grown = small.isel(time=-1, drop=True) / small.isel(time=0, drop=True)
        steps = grown.sizes["direction"] * (data["time"].values[-1] - data["time"].values[0])
        return grown.prod("direction", skipna=False) ** (1 / steps)

    return of


# A share of so many q may be due to the start. Chosen when .0022 of q = .002 and .089 of q = .02 had been seen; for a
# start that knows much (q = .6) it bounds nothing, and the check holds growth to state evolution alone.
MOST_BY_START = 5.0


def located(rates: Of, critical: float) -> Callable[[View, str], list[Check]]:
    """The check `grows_from`, with what the study says of itself: `within`, `start_overlap`."""

    def judge(view: View, statement: str) -> list[Check]:
        if not view.studies(rates.study):
            return []
        fields, runs = view.fields(view.study(rates), {}), view.measured(rates).transpose("run", "ratio")
        how = {name: fields[name] for name in ("within", "start_overlap")}
        predicted, words = view.predicted(rates).values, statement.format_map(fields)
        return [grows_from(words, runs["ratio"].values, runs.values, predicted, critical, **how)]

    return judge


@evident
def grows_from(
    statement: str,
    ratios: ArrayLike,
    runs: ArrayLike,
    predicted: ArrayLike,
    critical: float,
    *,
    within: float,
    start_overlap: float,
) -> Check:
    """Growth is 1 at the critical ratio, by a line through its means at all ratios, at 99%.

    From a start with a finite overlap q that is a little higher, by a share of the order of q; state evolution from the
    same start says how much, by the same line, and that may be a share of 5 q at most: otherwise it is not the critical
    ratio. Measured growth that is off by `within` must be refused.

    Args:
        statement: what must hold, in words.
        ratios: n/d. runs: growth for each run and ratio. predicted: that of state evolution.
        critical: the ratio that is claimed.
    """
    from scipy.stats import norm

    from featlab.comparison.agreement import LEVEL
    from featlab.exhibits.checks import standard_error

    values, beyond = np.asarray(runs), np.asarray(ratios) - critical
    weights = 1 / standard_error(values)
    line, covariance = np.polyfit(beyond, values.mean(axis=0) - 1, 1, w=weights, cov="unscaled")
    limit = np.polyfit(beyond, np.asarray(predicted) - 1, 1, w=weights)
    found, shift = critical - line[1] / line[0], -limit[1] / limit[0]
    turned = np.array([line[1] / line[0] ** 2, -1 / line[0]])
    error = float(np.sqrt(turned @ covariance @ turned))
    misses = [abs(found - shift - critical * (1 + wrong)) for wrong in (0.0, within, -within)]
    fits = [miss <= norm.isf(LEVEL / 2) * error for miss in misses]
    by_start = 0 <= shift <= MOST_BY_START * start_overlap * critical
    result = CheckResult.HOLDS if fits[0] and by_start else CheckResult.FAILS
    detail = f"growth is 1 at n/d = {found:.4f} +- {error:.4f}; claimed {critical:.4f}, and {shift:.4f} more from "
    detail += f"q = {start_overlap:g}."
    return Check(statement, result, detail, f"thresholds {within:.0%} higher and lower", not any(fits[1:]))


def errors(*marks: Mark, top: float, theory: str | None = None) -> Panel:
    """Both errors on fresh samples against n/d, at the largest dimension; `theory` is the name of a line apart."""

    def layer(name: str, words: str, series: int) -> Overlay:
        of = Of(name, LAST, END, theory=theory)
        return Overlay(of, "ratio", f"{words}, theory", f"{words}, d = {{dim:,}}", series=series)

    layers = layer("risk", "plug-in", 0), layer("posterior_risk", "posterior mean", 1)
    return Panel(*layers, *marks, y="mean squared error", legend="upper right", ylim=(0, top))


def all_runs(values: xr.DataArray) -> xr.DataArray:
    """Seeds and repeats along one axis, `run`, which comes first."""
    merged = [axis for axis in ("repeat", "seed") if axis in values.dims]
    return values.stack(run=merged, create_index=False).transpose("run", ...)


def ends(data: xr.Dataset, name: str) -> xr.DataArray:
    """A quantity after the last iteration, (run, ratio, ...)."""
    return all_runs(data[name].isel(time=-1)).transpose("run", "ratio", ...)


def diagonal(overlap: xr.DataArray) -> Floats:
    """|M_kk| of each direction, along the last axis, the axes before it as they were."""
    values = overlap.transpose(..., "neuron", "direction").values
    return np.abs(np.diagonal(values, axis1=-2, axis2=-1))
