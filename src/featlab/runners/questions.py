"""A point as an experiment, and a dataset as rows. The same for a simulation and a prediction.

A point's parameters are those of `featlab.experiments.text`: the options of `featlab simulate`, with underscores.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from featlab.experiments import Experiment, experiment_from_text, known_names
from featlab.experiments.labels import time_units
from featlab.experiments.text import COMMON_NAMES, READOUT_NAMES, RUN_ONLY, option_table
from featlab.learners.fields import options_of
from featlab.results import OF_DATASETS, QUANTITIES, attributes
from featlab.study.description import Point, Study
from featlab.study.runner import Row

if TYPE_CHECKING:
    import xarray as xr

AXES = {name + part: axes for name, (axes, _) in QUANTITIES.items() if axes for part in ("", "_error")}

_PREFIXES = {"direction": "h", "neuron": "", "other_neuron": ""}
_ATTRIBUTES = {
    **{name: {"long_name": option.meaning, "units": "1"} for name, (option, _) in option_table().items()},
    **{field.name: {"long_name": option.meaning, "units": "1"} for field, option in options_of(Experiment)},
    **{name: attributes(name) for name in (*QUANTITIES, *AXES, *OF_DATASETS)},
}


def attributes_of(study: Study) -> Mapping[str, Mapping[str, str]]:
    """What variables say of themselves; `time` its unit, where it is the same for all learners of the study."""
    kinds = {_kind(point): point for point in study.points() if "learner" in point}
    units = {time_units(experiment_of(point).learner.clock) for point in kinds.values()}
    time = {"time": {**attributes("time"), "units": units.pop()}} if len(units) == 1 else {}
    return {**_ATTRIBUTES, **time}


def _kind(point: Point) -> tuple[Any, ...]:
    """What decides on the clock of its learner: which parameters it has, and those that are no numbers."""
    return tuple((name, value if isinstance(value, str) else None) for name, value in sorted(point.items()))


# For the datasets of studies: how places on axes are called, and what variables say of themselves.
WORDS = (_PREFIXES, attributes_of)


def experiment_of(point: Point, **settings: Any) -> Experiment:
    """The experiment that a point describes, with settings that are not the point's, such as a key.

    Names of a point that serve the study's formulas only are left out; the runner has refused all others.
    """
    known = known_parameters(point.get("learner"))
    return experiment_from_text({**{name: value for name, value in point.items() if name in known}, **settings})


def known_parameters(learner: str | None) -> frozenset[str]:
    """The names that some learner knows, and those of this one, which may be another package's."""
    every = frozenset([*COMMON_NAMES, *READOUT_NAMES, *option_table()])
    return every | known_names(learner) if isinstance(learner, str) and ":" in learner else every


def parameters_of_simulations(study: Study) -> frozenset[str]:
    """The names that points of a study can have; the key is the study's."""
    return known_parameters(study.fixed.get("learner")) - {"key"}


def parameters_of_predictions(study: Study) -> frozenset[str]:
    """The same without what is of simulations only."""
    return known_parameters(study.fixed.get("learner")) - {*RUN_ONLY}


def rows_of(dataset: xr.Dataset) -> list[Row]:
    """A dataset as rows, one for each time (of each seed, if it has seeds); what has no time is repeated."""
    if "seed" not in dataset.dims:
        return _timed_rows(dataset, {})
    seeds = dataset["seed"].values.tolist()
    return [
        row for place, seed in enumerate(seeds) for row in _timed_rows(dataset.isel(seed=place), {"seed": int(seed)})
    ]


def _timed_rows(dataset: xr.Dataset, label: dict[str, Any]) -> list[Row]:
    """The rows of a dataset whose first axis, where it has one, is time."""
    columns = {str(name): variable.values.tolist() for name, variable in dataset.data_vars.items()}
    timed = {name for name, variable in dataset.data_vars.items() if "time" in variable.dims}
    steps = dataset["step"].values.tolist()
    return [
        {**label, "time": time, "step": steps[at]}
        | {name: column[at] if name in timed else column for name, column in columns.items()}
        for at, time in enumerate(dataset["time"].values.tolist())
    ]
