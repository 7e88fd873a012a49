"""Plain data for JSON: a prediction, a simulation, how the two compare. No analysis is loaded for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

    from featlab.comparison import ComparedQuantity, ComparedRun, Comparison


def simulation_record(dataset: xr.Dataset) -> dict[str, Any]:
    """The dataset as plain data without NaN: what it came from, then each quantity with its axes and values."""
    coordinates = {name: plain(values.values) for name, values in dataset.coords.items()}
    quantities = {
        name: {"axes": list(values.dims), "meaning": values.attrs.get("meaning"), "values": plain(values.values)}
        for name, values in dataset.data_vars.items()
    }
    return {**{name: plain(value) for name, value in dataset.attrs.items()}, **coordinates, "data": quantities}


def comparison_record(comparison: Comparison) -> dict[str, Any]:
    """The verdict and every number that it rests on, as plain data."""
    return {
        "verdict": str(comparison.verdict),
        "reason": comparison.reason,
        "allowance": comparison.allowance,
        "points": comparison.points,
        "largest_z": plain(comparison.largest_z),
        "allowed_z": plain(comparison.allowed_z),
        "resolution": plain(comparison.resolution),
        "sizes": list(comparison.sizes),
        "allowance_share": plain(comparison.allowance_share),
        "quantities": {
            name: {"verdict": str(comparison.verdicts[name]), **_quantity_record(quantity)}
            for name, quantity in comparison.quantities.items()
        },
    }


def full_record(run: ComparedRun) -> dict[str, Any]:
    """What `featlab compare --json` prints: the comparison, then both datasets, then those of other sizes."""
    datasets: dict[str, Any] = _pair_record(run.prediction, run.simulation)
    others = [_pair_record(*pair) for pair in run.others]
    return {**comparison_record(run.comparison), "measured": run.measured, **datasets, "other_sizes": others}


def _pair_record(prediction: xr.Dataset, simulation: xr.Dataset) -> dict[str, Any]:
    return {"prediction": simulation_record(prediction), "simulation": simulation_record(simulation)}


def plain(value: Any) -> Any:
    """Lists, numbers and strings; null for what is not a finite number."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _quantity_record(quantity: ComparedQuantity) -> dict[str, Any]:
    return {
        "axes": [str(axis) for axis in quantity.theory.dims],
        "allowance": plain(quantity.allowance),
        "absolute_values": quantity.signless,
        "theory": plain(quantity.theory.values),
        "simulation": plain(quantity.simulation.values),
        "standard_error": plain(quantity.error.values),
        "limit": plain(quantity.limit.values),
        "limit_error": plain(quantity.limit_error.values),
        "exponent": plain(quantity.exponent.values),
        "z": plain(quantity.z.values),
        "points": None if quantity.points is None else quantity.points.values.tolist(),
    }
