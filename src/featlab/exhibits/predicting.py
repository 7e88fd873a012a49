"""One point of a `simulate` study as `featlab.compare` takes it, and what theory says of the same point."""

from __future__ import annotations

import json
from typing import Any

import xarray as xr

from featlab.runners.questions import experiment_of
from featlab.theory import predict


def at_point(data: xr.Dataset, **place: Any) -> xr.Dataset:
    """The runs at one point of a study's results, labelled as `featlab.simulate` would label them.

    Args:
        data: the results of a study.
        place: where on its axes, such as dim=1000; all of them.
    """
    chosen = data.sel(place) if place else data
    if "step" in chosen:  # the rows of a study carry it; all seeds are looked at after the same steps
        chosen = chosen.assign_coords(step=chosen["step"].isel(seed=0, drop=True)) if "seed" in chosen.dims else chosen
    return chosen.assign_attrs(parameters_at(data, **place))


def predict_at(data: xr.Dataset, *, start: xr.Dataset | None = None, **place: Any) -> xr.Dataset:
    """What theory says of one point of a study's results.

    Args:
        data: the results of a study.
        start: begin from the starts of these simulated seeds, as `featlab.predict` does.
        place: where on its axes; and parameters to change, such as `times` for a smooth line.
    """
    return predict(experiment_of(parameters_at(data, **place)), start=start)


def parameters_at(data: xr.Dataset, **place: Any) -> dict[str, Any]:
    """The parameters of one point: those that all points share, those of its place, and those derived from it."""
    plain = {name: getattr(value, "tolist", lambda value=value: value)() for name, value in place.items()}
    on_axes = {name: value for name, value in place.items() if name in data.indexes and value in data.indexes[name]}
    there = data.sel(on_axes).coords if on_axes else data.coords
    derived = {str(name): there[name].item() for name in there if there[name].ndim == 0 and name not in place}
    return {**json.loads(data.attrs["fixed"]), **derived, **plain}
