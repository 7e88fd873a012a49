"""The coordinates and the words of a dataset of order parameters, the same for a simulation and a prediction."""

from __future__ import annotations

from typing import ClassVar

import xarray as xr

from featlab.results import attributes, label
from featlab.shown import Shown

_TIMES = {"one-pass": "d steps", "flow": "time of the flow"}
# Of the axes, what a person counts.
_COUNTED = ("seed", "time", "neuron", "direction")


def time_units(clock: str) -> str:
    """What one unit of time is, by the clock of the learner."""
    return _TIMES.get(clock, "steps")


def with_labels(dataset: xr.Dataset, clock: str) -> xr.Dataset:
    """With directions h1, h2, .. and neurons 1, 2, .. as coordinates, and `long_name` and `units` on every variable."""
    places = {
        axis: [label(axis, number) for number in range(dataset.sizes[axis])]
        for axis in ("direction", "neuron", "other_neuron")
        if axis in dataset.sizes
    }
    dataset = dataset.assign_coords(places)
    for name, variable in dataset.variables.items():
        variable.attrs.update(attributes(str(name)))
    dataset["time"].attrs["units"] = time_units(clock)
    return dataset


@xr.register_dataset_accessor("featlab")
class Accessor(Shown):
    """`run.featlab` of a simulation or prediction: its page in a notebook, `run.featlab.plot()` its picture."""

    _picture: ClassVar[str] = "featlab.reports.notebook:dataset_picture"
    _page: ClassVar[str] = "featlab.reports.notebook:dataset_page"

    def __init__(self, dataset: xr.Dataset) -> None:
        self.dataset = dataset

    def __repr__(self) -> str:
        about, counts = self.dataset.attrs, {axis: n for axis, n in self.dataset.sizes.items() if axis in _COUNTED}
        sizes = ", ".join(f"{count} {axis}{'s' * (count != 1)}" for axis, count in counts.items())
        return f"<{about.get('target', 'dataset')} learned by {about.get('learner', 'nobody known')}: {sizes}>"
