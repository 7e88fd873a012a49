"""Runs as plain data for JSON: a prediction or a simulation, how the two compare, the demonstration of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # they run simulations, which most explanations do not ask for
    import xarray as xr

    from featlab.comparison import ComparedQuantity, ComparedRun, Comparison, Demonstration


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
        "quantities": {name: _quantity_record(quantity) for name, quantity in comparison.quantities.items()},
    }


def full_record(run: ComparedRun) -> dict[str, Any]:
    """What `featlab compare --json` prints: the comparison, then both datasets."""
    datasets = {"prediction": simulation_record(run.prediction), "simulation": simulation_record(run.simulation)}
    return {**comparison_record(run.comparison), **datasets}


def demonstration_record(demonstration: Demonstration) -> dict[str, Any]:
    """What was run and what came of it; or why there is none."""
    recipe, run = demonstration.recipe, demonstration.run
    if recipe is None or run is None:
        return {"algorithm": None, "reason": demonstration.reason}
    return {
        "algorithm": recipe.algorithm,
        "learner": repr(recipe.learner),
        "student": None if recipe.student is None else repr(recipe.student),
        "dim": recipe.dim,
        "samples": recipe.samples,
        "seeds": run.simulation.sizes["seed"],
        "time": run.prediction["time"].values.tolist(),
        "story": recipe.story,
        **comparison_record(run.comparison),
    }


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
        "allowance": quantity.allowance,
        "absolute_values": quantity.signless,
        "theory": plain(quantity.theory.values),
        "simulation": plain(quantity.simulation.values),
        "standard_error": plain(quantity.error.values),
        "z": plain(quantity.z.values),
    }
