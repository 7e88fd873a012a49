"""Looks side by side as a dataset with the names and axes of a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from featlab.errors import InvalidParameter
from featlab.outcome import Outcome
from featlab.recording.looks import Look
from featlab.results import QUANTITIES


def labelled(
    looks: Mapping[tuple[int, int], Look], seeds: Sequence[int], times: Sequence[float], steps: Sequence[int] | None
) -> xr.Dataset:
    """(place among the seeds, place among the times) -> look, as arrays (seed, time, ...).

    Where there was no look values are NaN, and the seed has been interrupted.
    """
    data: dict[str, Any] = {}
    for name in dict.fromkeys(name for look in looks.values() for name in look.values):
        axes, meaning = QUANTITIES[name]
        shapes = {look.values[name].shape for look in looks.values() if name in look.values}
        if len(shapes) > 1:
            raise InvalidParameter(name, f"the shapes {sorted(shapes)}", "one shape, at every look")
        values = np.full((len(seeds), len(times), *shapes.pop()), np.nan)
        for place, look in looks.items():
            values[place] = look.values.get(name, np.nan)
        data[name] = (("seed", "time", *axes), values, {"meaning": meaning})
    seen, lost = (np.zeros((len(seeds), len(times)), dtype=bool) for _ in range(2))
    for place, look in looks.items():
        seen[place], lost[place] = True, look.diverged
    ended = np.where(np.all(seen, axis=1), Outcome.OK.value, Outcome.INTERRUPTED.value)
    data["outcome"] = ("seed", np.where(np.any(lost, axis=1), Outcome.DIVERGED.value, ended))
    coordinates: dict[str, Any] = {"seed": list(seeds), "time": np.asarray(times, dtype=np.float64)}
    if steps is not None:
        coordinates["step"] = ("time", np.asarray(steps, dtype=np.int64))
        data["diverged_step"] = ("seed", np.where(np.any(lost, axis=1), np.asarray(steps)[np.argmax(lost, axis=1)], -1))
    return xr.Dataset(data, coords=coordinates)
