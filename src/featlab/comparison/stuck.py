"""Runs that get stuck: two populations, which no mean describes. They are counted, and the others are compared.

A run of message passing is stuck if its last estimate is nearer to knowing nothing than to what is predicted for it:
|M - P| > |P| / 2, in the Frobenius norm, after the last iteration. Where the prediction itself knows next to nothing,
none is.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

# A prediction of a smaller overlap than this is one of knowing nothing: fluctuations are as large.
_KNOWS_NOTHING = 0.1


def stuck_runs(prediction: xr.Dataset, run: xr.Dataset) -> np.ndarray:
    """Which seeds of a run are stuck."""
    predicted, measured = (dataset["overlap"].isel(time=-1).astype(np.float64) for dataset in (prediction, run))
    apart = _norm(measured - predicted)
    size = _norm(predicted).broadcast_like(apart).values
    return np.asarray((apart.values > 0.5 * size) & (size > _KNOWS_NOTHING))


def without(prediction: xr.Dataset, run: xr.Dataset, stuck: np.ndarray) -> tuple[xr.Dataset, xr.Dataset]:
    """Both, without these seeds."""
    kept = run["seed"].values[~stuck]
    if "seed" in prediction.dims:
        prediction = prediction.sel(seed=kept)
    return prediction, run.sel(seed=kept)


def _norm(matrix: xr.DataArray) -> xr.DataArray:
    return (matrix**2).sum(["neuron", "direction"], skipna=False) ** 0.5
