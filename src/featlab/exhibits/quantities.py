"""Quantities that several claims read: functions of a dataset, the same for measurement and theory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

Quantity = Callable[["xr.Dataset"], "xr.DataArray"]


def magnitude(name: str) -> Quantity:
    """|x|.

    Args:
        name: of the quantity in the dataset.

    Examples:
        >>> import xarray as xr
        >>> from featlab.exhibits import magnitude
        >>> run = xr.Dataset({"overlap": ("time", [0.1, -0.7])})
        >>> magnitude("overlap")(run).values.tolist()
        [0.1, 0.7]
    """
    return lambda data: abs(data[name])


def hitting_time(of_what: str | Quantity, level: float) -> Quantity:
    """The first time at which |x| reaches a level, between two looks by a straight line; infinite if it never does.

    Args:
        of_what: a name in the dataset, or a function of it.
        level: of |x|.

    Examples:
        >>> import xarray as xr
        >>> from featlab.exhibits import hitting_time
        >>> run = xr.Dataset({"overlap": ("time", [0.0, -0.2, -0.8])}, {"time": [0, 10, 20]})
        >>> float(hitting_time("overlap", 0.5)(run))
        15.0
    """

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
    """|M_kk|: each estimate with its own direction.

    Args:
        data: with an overlap of as many neurons as directions.

    Examples:
        >>> import xarray as xr
        >>> from featlab.exhibits import matched_overlap
        >>> run = xr.Dataset({"overlap": (("neuron", "direction"), [[0.9, 0.1], [0.2, -0.6]])})
        >>> matched_overlap(run).values.tolist()
        [0.9, 0.6]
    """
    import xarray as xr

    place = xr.DataArray(np.arange(data.sizes["direction"]), dims="direction")
    return abs(data["overlap"]).isel(neuron=place, direction=place)


def root_d(scale: float = 1.0) -> Callable[[Mapping[str, Any]], float]:
    """An allowance of scale / sqrt(d).

    Examples:
        >>> from featlab.exhibits import root_d
        >>> root_d(2.0)({"dim": 400})
        0.1
    """
    return lambda at: scale * at["dim"] ** -0.5


def median(samples: np.ndarray) -> tuple[float, float]:
    """The median over runs, which late ones do not move, and its standard error by order statistics.

    Args:
        samples: one number for each run.

    Examples:
        >>> import numpy as np
        >>> from featlab.exhibits import median
        >>> median(np.array([1.0, 2.0, 3.0, np.inf]))[0]  # a run that never arrives has an infinite time
        2.5
    """
    reach = 0.5 / np.sqrt(samples.size)
    low, middle, high = np.quantile(samples, [0.5 - reach, 0.5, 0.5 + reach])
    return float(middle), float((high - low) / 2)


def root_mean_square(squares: np.ndarray) -> tuple[float, float]:
    """The root of the mean over runs of squares, and its standard error.

    Examples:
        >>> import numpy as np
        >>> from featlab.exhibits import root_mean_square
        >>> [round(value, 3) for value in root_mean_square(np.array([0.16, 0.36, 0.64]))]
        [0.622, 0.112]
    """
    mean = float(np.mean(squares))
    return mean**0.5, float(np.std(squares, ddof=1)) / squares.size**0.5 / (2 * mean**0.5)
