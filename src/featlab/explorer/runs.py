"""What workers run: seeds of a simulation, its agreement with theory, races, diagnoses."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from featlab.errors import InvalidParameter
from featlab.experiments.experiment import Experiment
from featlab.explorer.questions import Said, dataset_record, experiment
from featlab.reports.records import comparison_record
from featlab.reports.run_records import simulation_record

Emit = Callable[[str, dict[str, Any]], None]
# Bytes that a simulation may plan with, unless less is asked for.
_RUN_BYTES = 2 * 2**30
_MOST_SEEDS = 200
_FILE = Path("data.csv")


def estimate(said: Said, emit: Emit) -> dict[str, Any]:
    """About how long all seeds of an experiment take, and which they are; what cannot be run is refused."""
    from featlab.simulation.simulator import estimate as extent_of

    asked = _to_run(said["experiment"])
    if len(asked.seeds) > _MOST_SEEDS:
        raise InvalidParameter("seeds", len(asked.seeds), f"at most {_MOST_SEEDS} here; the command line takes more")
    return {"seconds": extent_of(asked).seconds, "seeds": list(asked.seeds)}


def simulate(said: Said, emit: Emit) -> dict[str, Any]:
    """One seed's part of what `featlab simulate --json` prints: no seed depends on the others."""
    from featlab.simulation.simulator import run_experiment

    asked = replace(_to_run(said["experiment"]), seeds=(said["seed"],))
    return {"seed": said["seed"], "simulation": dataset_record(run_experiment(asked, progress=False))}


def agreement(said: Said, emit: Emit) -> dict[str, Any]:
    """How theory compares with seeds that were simulated, as `featlab compare --sizes 1` says it."""
    from featlab.comparison.compared_run import compared_at_one_size
    from featlab.theory import NoPrediction

    run = xr.concat([dataset_of(record) for record in said["runs"]], "seed", combine_attrs="override")
    try:
        found = compared_at_one_size(experiment(said["experiment"]), run)
    except NoPrediction as fault:
        return {"agreement": None, "reason": str(fault)}
    return {
        "agreement": {**comparison_record(found.comparison), "measured": found.measured},
        "prediction": simulation_record(found.prediction),
        "reason": found.comparison.reason,
    }


def race(said: Said, emit: Emit) -> dict[str, Any]:
    """Who finds a target first; the standings are told whenever an entrant has had a turn."""
    from featlab.racing import race as run

    settings = {name: said[name] for name in ("dim", "ratios", "seeds", "budget", "noise", "key", "theory", "entrants")}
    found = run(
        said["target"], **settings, progress=False, watch=lambda so_far: emit("standings", {"race": so_far.to_dict()})
    )
    return {"race": found.to_dict(), "words": str(found)}


def diagnose(said: Said, emit: Emit) -> dict[str, Any]:
    """What theory says of a CSV. It lies in a folder of its own while it is read, under a name that says nothing."""
    from featlab.reports import diagnose as look

    settings = {name: said[name] for name in ("label", "seed", "curves")}
    with tempfile.TemporaryDirectory(prefix="featlab-explore-") as folder, chdir(folder):
        _FILE.write_text(said["csv"], encoding="utf-8")
        found = look(_FILE, **settings, tell=lambda words: emit("step", {"words": words}))
        return {"diagnosis": found.to_dict(), "words": found.text(), "page": found.to_html()}


def dataset_of(record: Mapping[str, Any]) -> xr.Dataset:
    """The dataset that `simulation_record` made a record of; a number that is missing there is NaN."""
    axes = {axis for quantity in record["data"].values() for axis in quantity["axes"]}
    coordinates = {name: record[name] for name in axes if name in record} | {"step": ("time", record["step"])}
    data = {
        name: (quantity["axes"], _array(quantity["values"]), {"meaning": quantity["meaning"]})
        for name, quantity in record["data"].items()
    }
    attributes = {name: value for name, value in record.items() if name not in ("data", "recovery", *coordinates)}
    return xr.Dataset(data, coords=coordinates, attrs=attributes)


def _array(values: Sequence[Any]) -> np.ndarray:
    array = np.array(values)
    return array.astype(np.float64) if array.dtype == object else array


def _to_run(said: Mapping[str, Any]) -> Experiment:
    """The experiment with what a comparison needs, in bounded memory."""
    from featlab.comparison.compared_run import simulated_for_comparison

    asked = simulated_for_comparison(experiment(said))
    return replace(asked, memory=_RUN_BYTES if asked.memory is None else min(asked.memory, _RUN_BYTES))
