"""The coordinates and the words of a dataset of order parameters, the same for a simulation and a prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from featlab.results import attributes, label

if TYPE_CHECKING:
    import xarray as xr

# By the clock of the learner: what one unit of time is.
_TIMES = {"one-pass": "d steps", "flow": "time of the flow"}


def with_labels(dataset: xr.Dataset, clock: str) -> xr.Dataset:
    """With directions h1, h2, .. and neurons 1, 2, .. as coordinates, and `long_name` and `units` on every variable."""
    places = {
        axis: [label(axis, number) for number in range(dataset.sizes[axis])]
        for axis in ("direction", "neuron")
        if axis in dataset.sizes
    }
    dataset = dataset.assign_coords(places)
    for name, variable in dataset.variables.items():
        variable.attrs.update(attributes(str(name)))
    dataset["time"].attrs["units"] = _TIMES.get(clock, "steps")
    return dataset
