"""Points of a `simulate` study as `featlab.compare` takes them, and what theory says of the same points."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr


def at_point(data: xr.Dataset, **place: Any) -> xr.Dataset:
    """The runs at one point of a study's results, labelled as `featlab.simulate` would label them.

    Args:
        data: the results of a study.
        place: where on its axes, such as dim=1000; all of them.

    Examples:
        >>> import xarray as xr
        >>> from featlab.exhibits import at_point
        >>> results = xr.Dataset({"overlap": ("dim", [0.5, 0.4])}, {"dim": [20, 40]}, {"fixed": '{"samples": 80}'})
        >>> point = at_point(results, dim=40)
        >>> float(point["overlap"]), point.attrs["dim"], point.attrs["samples"]
        (0.4, 40, 80)
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
    from featlab.experiments.text import RUN_ONLY
    from featlab.runners.questions import experiment_of
    from featlab.theory import predict

    parameters = {**parameters_at(data, **place), **dict.fromkeys((*RUN_ONLY, "observe"))}  # what was asked of the runs
    return predict(experiment_of(parameters), start=start)


def predict_over(data: xr.Dataset, *axes: str, **changes: Any) -> xr.Dataset:
    """What theory says of the points of a study along some of its axes, as one dataset with these axes.

    Args:
        data: the results of a study.
        axes: of the study.
        changes: parameters to change: a value for all points; for one of `axes`, its labels, such as a finer grid.

    Examples:
        >>> import xarray as xr
        >>> from featlab.exhibits import predict_over
        >>> law = '{"target": "tanh(h1)", "learner": "inverse-regression", "samples": 80}'
        >>> results = xr.Dataset({"subspace": ("dim", [0.5, 0.4])}, {"dim": [20, 40]}, {"fixed": law})
        >>> predict_over(results, "dim")["subspace"].squeeze().dims
        ('dim',)
    """
    import xarray as xr

    if not axes:
        return predict_at(data, **changes)
    first, *rest = axes
    labels = list(changes.pop(first, data[first].values.tolist()))
    found = [predict_over(data, *rest, **changes, **{first: label}) for label in labels]
    together = xr.concat(found, first, coords="minimal", compat="override", join="exact", combine_attrs="override")
    return together.assign_coords({first: labels})


def parameters_at(data: xr.Dataset, **place: Any) -> dict[str, Any]:
    """The parameters of one point: those that all points share, those of its place, and those derived from it.

    Args:
        data: the results of a study.
        place: where on its axes, and parameters to change.

    Examples:
        >>> import xarray as xr
        >>> from featlab.exhibits import parameters_at
        >>> results = xr.Dataset({"overlap": ("dim", [0.5, 0.4])}, {"dim": [20, 40]}, {"fixed": '{"samples": 80}'})
        >>> parameters_at(results, dim=40)
        {'samples': 80, 'dim': 40}
    """
    plain = {name: getattr(value, "tolist", lambda value=value: value)() for name, value in place.items()}
    on_axes = {name: value for name, value in place.items() if name in data.indexes and value in data.indexes[name]}
    return {**parameters_of(data.sel(on_axes) if on_axes else data, place), **plain}


def parameters_of(chosen: xr.Dataset, but: Any = ()) -> dict[str, Any]:
    """The parameters that all points of a dataset share.

    Args:
        chosen: results of a study, or a part of them.
        but: names that are left out.

    Examples:
        >>> import xarray as xr
        >>> from featlab.exhibits import parameters_of
        >>> results = xr.Dataset({"overlap": ("dim", [0.5, 0.4])}, {"dim": [20, 40]}, {"fixed": '{"samples": 80}'})
        >>> parameters_of(results)
        {'samples': 80}
    """
    there = chosen.coords
    derived = {str(name): there[name].item() for name in there if there[name].ndim == 0 and name not in but}
    return {**json.loads(chosen.attrs["fixed"]), **derived}
