"""Quantities that several claims read: functions of a dataset, the same for measurement and theory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

Quantity = Callable[["xr.Dataset"], "xr.DataArray"]


def magnitude(name: str) -> Quantity:
    """|x|."""
    return lambda data: abs(data[name])


def hitting_time(of_what: str | Quantity, level: float) -> Quantity:
    """The first time at which |x| reaches a level, between two looks by a straight line; infinite if it never does."""

    def of(data: xr.Dataset) -> xr.DataArray:
        import xarray as xr

        from featlab.gaussian.crossings import hitting_times

        def along_time(values: np.ndarray) -> np.ndarray:
            flat = hitting_times(data["time"].values, values.reshape(-1, values.shape[-1]), level)
            return flat.reshape(values.shape[:-1])

        values = data[of_what] if isinstance(of_what, str) else of_what(data)
        return xr.apply_ufunc(along_time, abs(values), input_core_dims=[["time"]])

    return of


def matched_overlap(data: xr.Dataset) -> xr.DataArray:
    """|M_kk|: each estimate with its own direction."""
    import xarray as xr

    place = xr.DataArray(np.arange(data.sizes["direction"]), dims="direction")
    return abs(data["overlap"]).isel(neuron=place, direction=place)


def root_d(scale: float = 1.0) -> Callable[[Mapping[str, Any]], float]:
    """An allowance of scale / sqrt(d)."""
    return lambda at: scale * at["dim"] ** -0.5


def median(samples: np.ndarray) -> tuple[float, float]:
    """The median over runs, which late ones do not move, and its standard error by order statistics."""
    reach = 0.5 / np.sqrt(samples.size)
    low, middle, high = np.quantile(samples, [0.5 - reach, 0.5, 0.5 + reach])
    return float(middle), float((high - low) / 2)


def root_mean_square(squares: np.ndarray) -> tuple[float, float]:
    """The root of the mean over runs of squares, and its standard error."""
    mean = float(np.mean(squares))
    return mean**0.5, float(np.std(squares, ddof=1)) / squares.size**0.5 / (2 * mean**0.5)
