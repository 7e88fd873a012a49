"""A quantity as curves: which axis it runs along, and how each of its curves is called."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from featlab.gaussian.hermite import Floats

if TYPE_CHECKING:
    import xarray as xr


# Anything smaller is 0.000 on the screen.
VISIBLE = 5e-4
FLOW_TIME = "time of the flow"
_PARTS = ("neuron", "direction")  # axes whose coordinates are names, along which nothing is drawn


@dataclass(frozen=True)
class Curve:
    """One curve of a quantity: where it lies on the other axes, and how it is called."""

    place: dict[str, int]
    label: str


def along(values: xr.DataArray) -> str:
    """The axis that a quantity is drawn along: time if it has one, else the first axis with coordinates."""
    if "time" in values.dims:
        return "time"
    return next(
        (str(axis) for axis in values.dims if axis in values.coords and axis not in _PARTS), str(values.dims[0])
    )


def is_stepwise(values: xr.Dataset | xr.DataArray) -> bool:
    """Whether times are counted in steps, not in steps over the dimension or in time of a flow.

    A dataset of featlab says so in the units of its times; of another one times that are numbers of steps are counted.
    """
    units = values["time"].attrs.get("units")
    if units is not None:
        return bool(units == "steps")
    return "step" in values.coords and np.array_equal(values["time"].values, values["step"].values)


def time_words(values: xr.Dataset | xr.DataArray) -> str:
    """What an axis of times says."""
    if values["time"].attrs.get("units") == FLOW_TIME:
        return FLOW_TIME
    return "steps" if is_stepwise(values) else "time, steps / d"


def curves(values: xr.DataArray) -> Iterator[Curve]:
    """The curves of a quantity, one for each place on the other axes."""
    others = [str(axis) for axis in values.dims if axis != along(values)]
    for numbers in itertools.product(*(range(values.sizes[axis]) for axis in others)):
        place = dict(zip(others, numbers, strict=True))
        yield Curve(place, _label(place, values))


def visible_curves(theory: xr.DataArray) -> list[Curve]:
    """The curves that are not zero throughout by theory (all of them, if all are).

    Where row k of an estimate stands for direction k, and nothing else is to be seen, the direction is name enough.
    """
    every = list(curves(theory))
    seen = [curve for curve in every if np.nanmax(np.abs(theory.isel(curve.place).values), initial=0.0) > VISIBLE]
    square = {"neuron", "direction"} == every[0].place.keys() and theory.sizes["neuron"] == theory.sizes["direction"]
    if seen and square and all(curve.place["neuron"] == curve.place["direction"] for curve in seen):
        return [Curve(curve.place, f"h{curve.place['direction'] + 1}") for curve in seen]
    return seen or every


def _label(place: dict[str, int], values: xr.DataArray) -> str:
    """ "h2, neuron 1"; what there is only one of is not numbered."""
    words = [f"h{place['direction'] + 1}"] if "direction" in place else []
    for axis, number in place.items():
        if axis != "direction" and values.sizes[axis] > 1:
            words.append(f"{axis.replace('_', ' ')} {number + 1}")
    return ", ".join(words) or str(values.name or "")


def measured_over_time(dataset: xr.Dataset) -> dict[str, Floats]:
    """Name -> (seed, time): the risk; for a learner without a risk or without neurons, all numbers that it measures."""
    scalars = [name for name, values in dataset.data_vars.items() if set(values.dims) == {"seed", "time"}]
    names = ["risk"] if "risk" in scalars and "cosine" in dataset else scalars
    return {str(name): dataset[name].transpose("seed", "time").values.astype(np.float64) for name in names}
