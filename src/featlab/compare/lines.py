"""A quantity as curves: which axis it runs along, and how each of its curves is called."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Curve:
    """One curve of a quantity: where it lies on the other axes, and how it is called."""

    place: dict[str, int]
    label: str


def along(values: xr.DataArray) -> str:
    """The axis that a quantity is drawn along: time if it has one, else the first axis with coordinates."""
    if "time" in values.dims:
        return "time"
    return next((str(axis) for axis in values.dims if axis in values.coords), str(values.dims[0]))


def curves(values: xr.DataArray) -> Iterator[Curve]:
    """The curves of a quantity, one for each place on the other axes."""
    others = [str(axis) for axis in values.dims if axis != along(values)]
    for numbers in itertools.product(*(range(values.sizes[axis]) for axis in others)):
        place = dict(zip(others, numbers, strict=True))
        yield Curve(place, _label(place, values))


def _label(place: dict[str, int], values: xr.DataArray) -> str:
    """ "h2, neuron 1"; what there is only one of is not numbered."""
    words = [f"h{place['direction'] + 1}"] if "direction" in place else []
    for axis, number in place.items():
        if axis != "direction" and values.sizes[axis] > 1:
            words.append(f"{axis.replace('_', ' ')} {number + 1}")
    return ", ".join(words) or str(values.name or "")
