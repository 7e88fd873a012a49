"""Synthetic predictions and measurements of known truth."""

from __future__ import annotations

import numpy as np
import xarray as xr


def truth(times: int = 6, neurons: int = 2) -> np.ndarray:
    """Overlaps (time, neuron, direction) that rise from 0.1 to about 0.9, with signs."""
    rise = np.linspace(0.1, 0.9, times)[:, None, None]
    return rise * np.array([1.0, -0.5])[:neurons, None] * np.ones((1, 1, 1))


def prediction(values: np.ndarray, *, error: float | None = None, seeds: bool = False, **attrs: object) -> xr.Dataset:
    axes = (*(("seed",) if seeds else ()), "time", "neuron", "direction")
    data = {"overlap": (axes, values)}
    if error is not None:
        data["overlap_error"] = (axes, np.full_like(values, error))
    times = np.arange(values.shape[-3], dtype=np.float64)
    coordinates = {"time": times, "step": ("time", times.astype(int))}
    if seeds:
        coordinates["seed"] = np.arange(len(values))
    return xr.Dataset(data, coords=coordinates, attrs={"outcome": "ok", "remedy": "", **attrs})


def measurement(
    values: np.ndarray, *, noise: float, seeds: int = 12, dim: int = 10_000, key: int = 0, common: float = 0.9
) -> xr.Dataset:
    """Seeds around the values; a share `common` of the variance is common to all times of a seed."""
    rng = np.random.default_rng(key)
    shared = rng.normal(size=(seeds, 1, *values.shape[1:]))
    own = rng.normal(size=(seeds, *values.shape))
    scatter = noise * (np.sqrt(common) * shared + np.sqrt(1 - common) * own)
    times = np.arange(len(values), dtype=np.float64)
    return xr.Dataset(
        {"overlap": (("seed", "time", "neuron", "direction"), values + scatter)},
        coords={"seed": np.arange(seeds), "time": times, "step": ("time", times.astype(int))},
        attrs={"dim": dim, "dtype": "float64"},
    )
