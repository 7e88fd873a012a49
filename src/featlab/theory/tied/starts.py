"""Where the flow of networks with one shared direction starts: as a simulation did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.results import TIED_START
from featlab.theory.question import NoPrediction

if TYPE_CHECKING:
    import xarray as xr

_FROM_A_RUN = (
    "theta, c, biases and signs are drawn at random and ask for a simulation of the same student that observes "
    + ", ".join(TIED_START)
    + " at time 0: `featlab compare` does that, and in Python `predict(..., start=simulate(...))`"
)


@dataclass(frozen=True, eq=False)
class TiedStart:
    """R starts of a network: m (R,), c, knots and signs (R, N)."""

    cosine: Floats
    second: Floats
    knots: Floats
    signs: Floats


def tied_starts(run: xr.Dataset | None) -> Iterator[tuple[int, TiedStart]]:
    """(seed, its starts) of every seed of a simulation seen at time 0."""
    if run is None:
        raise NoPrediction(_FROM_A_RUN)
    missing = [name for name in TIED_START if name not in run]
    if missing or "seed" not in run.dims or run["step"].values[0] != 0:
        raise InvalidParameter("start", f"a dataset of {', '.join(map(str, run.data_vars))}", _FROM_A_RUN)
    first = run.isel(time=0)
    for place, seed in enumerate(run["seed"].values):
        parts = [np.asarray(first[name].isel(seed=place).values, dtype=np.float64) for name in TIED_START]
        yield int(seed), TiedStart(parts[0][:, 0], *parts[1:])
