"""What the exhibits on message passing share: runs of Bayes-AMP over sample ratios n/d, and their ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from featlab.exhibits.declared import Close
from featlab.exhibits.drawn import Mark, Overlay, Panel
from featlab.exhibits.protocol import Part, Study
from featlab.exhibits.quantities import root_d
from featlab.exhibits.reading import LAST, Of, Reading, Studies

if TYPE_CHECKING:
    import xarray as xr

    from featlab.gaussian.hermite import Floats

# As in the code of Troiani et al. 2024: damping .35 and at most 200 iterations.
ITERATIONS = 200
END = {"time": LAST}
OBSERVED = ("overlap", "risk", "posterior_risk")


@dataclass(frozen=True)
class Runs:
    """Which runs are made: the sample ratios n/d, the runs at each (seeds, and repeats in further processes where one
    takes long), and the iterations that are looked at besides the last."""

    ratios: Sequence[float]
    seeds: int
    repeats: int = 1
    looks: Sequence[int] = ()
    iterations: int = ITERATIONS


def amp_part(target: str, dim: int, runs: Runs, key: int, observed: Sequence[str] = OBSERVED) -> Part:
    """Bayes-AMP from a random start at every ratio."""
    fixed = {
        "target": target,
        "learner": "bayes-amp",
        "dim": dim,
        "seeds": runs.seeds,
        "iterations": runs.iterations,
        "times": [*map(float, runs.looks), float(runs.iterations)],
    }
    axes = {"ratio": list(map(float, runs.ratios))}
    return Part(
        Study(fixed, axes, {"samples": "round(ratio*dim)"}, repeats=runs.repeats, key=key, observe=list(observed))
    )


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
