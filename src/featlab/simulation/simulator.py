"""The door: an experiment -> a labelled dataset of order parameters."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any

import jax
import numpy as np
import xarray as xr
from jax import Array

import featlab
from featlab.errors import InvalidParameter
from featlab.experiments.experiment import Experiment, as_experiment
from featlab.experiments.labels import with_labels
from featlab.learners.protocol import Learner, Student
from featlab.outcome import Outcome
from featlab.precision import double_precision
from featlab.results import MOST_BESIDES, QUANTITIES, START, attributes
from featlab.simulation.algorithms import algorithm, check_runnable
from featlab.simulation.designs.choose import Choice, Demand
from featlab.simulation.designs.spiked import known_axes, with_inputs
from featlab.simulation.extent import Extent, chosen, extent, running_seconds
from featlab.simulation.observe import check_names
from featlab.simulation.problem import Problem
from featlab.simulation.progress import announce
from featlab.simulation.random import root_key, seed_keys
from featlab.simulation.run import Runs, run
from featlab.targets import Target


def simulate(
    target: Experiment | Target | str,
    learner: Learner | None = None,
    *,
    dim: int | None = None,
    samples: int | None = None,
    times: Sequence[float] | None = None,
    seeds: int | Iterable[int] = 10,
    key: int | Array = 0,
    student: Student | None = None,
    design: str = "auto",
    observe: str | Iterable[str] | None = None,
    dtype: str = "float32",
    memory: int | None = None,
    progress: bool | None = None,
) -> xr.Dataset:
    """Simulate a student that learns a target from Gaussian inputs at a finite dimension, exactly in law.

    Args:
        target: an `Experiment`, which says everything; or a `Target` (or its text) and the parts of one:
        learner: `OnlineSgd`, `Extragradient`, `GiantSteps`, `ReusedBatch`; a `Readout` after one of them; or
            `RandomFeatures`. The risk of the last two is that of the fitted network, and `ridge` says what it took.
            Or `BayesAmp`, which has no student: its estimate of the directions is in the place of the weights, row k
            and its sign such that the overlaps with the directions are largest (up to signed permutation), and its
            risk is that of the link at the estimated fields.
            Or `LangevinDynamics`, on `Hypercube` inputs, which classifies: it has an accuracy in the place of a risk.
            Or a learner of your own (docs/adding-a-learner.md).
        dim, samples, times, student, seeds, key, design, observe, dtype, memory: as in `Experiment`.
        progress: True, show a bar when it takes more than two seconds; False, say nothing. By default a bar if standard
            error is a terminal, else a line there on how long it takes, if that is minutes.

    Returns:
        A dataset on the axes seed, time, neuron, direction, ...; `step` beside `time`; `outcome` of each seed, a value
        of `featlab.Outcome`, and `diverged_step` (-1: none); values after a divergence are NaN; attributes say where it
        came from. Learners that stop by themselves add `iterations`, after how many they did.

    Raises:
        InvalidParameter: for a value out of range. DoesNotFit: for a run too large for the memory.
        TakesTooLong: for one that would take a hundred years.

    Examples:
        >>> import featlab
        >>> learner = featlab.OnlineSgd(step_size=0.01)
        >>> run = featlab.simulate("tanh(h1)", learner, dim=100, times=[0, 1], seeds=3)
        >>> run["overlap"].dims
        ('seed', 'time', 'neuron', 'direction')
        >>> run["outcome"].values.tolist()
        ['ok', 'ok', 'ok']
    """
    given: dict[str, Any] = {
        "dim": dim,
        "samples": samples,
        "times": times,
        "seeds": seeds,
        "key": key,
        "student": student,
    }
    given |= {"design": design, "observe": observe, "dtype": dtype, "memory": memory}
    return run_experiment(as_experiment(target, learner, given), progress)


def run_experiment(experiment: Experiment, progress: bool | None = None) -> xr.Dataset:
    """What comes out of an experiment."""
    with double_precision() if experiment.dtype == "float64" else nullcontext():
        wanted, choice, problem, names = _prepared(experiment, experiment.memory)
        takes = extent(experiment, wanted, choice, names)
        keys = seed_keys(experiment.key, experiment.seeds)
        announce(progress, takes.seconds)
        runs = run(problem, experiment.plan, names, keys, takes.together, progress)
    device = next(iter(jax.device_put(keys).devices())).device_kind
    return _dataset(experiment, runs, names).assign_attrs(_provenance(experiment, problem, choice, device))


def estimate(experiment: Experiment) -> Extent:
    """What a run of it takes; what would be refused when it is run is refused."""
    with double_precision() if experiment.dtype == "float64" else nullcontext():
        wanted, choice, _, names = _prepared(experiment, experiment.memory)
        return extent(experiment, wanted, choice, names)


def check_experiment(experiment: Experiment) -> None:
    """Refuse what would be refused when it is run, and run nothing; no device is asked for anything.

    Memory counts only as far as the experiment says how much it may use: it may be run on another machine.
    """
    _prepared_anywhere(experiment)


def counted_seconds(experiment: Experiment) -> float:
    """About how long a run takes on one core, once it is compiled; the same is refused, and no device asked either."""
    wanted, choice, _, names = _prepared_anywhere(experiment)
    return running_seconds(experiment, wanted, choice, names)


def _prepared_anywhere(experiment: Experiment) -> tuple[Demand, Choice, Problem, tuple[str, ...]]:
    with double_precision() if experiment.dtype == "float64" else nullcontext():
        return _prepared(experiment, sys.maxsize if experiment.memory is None else experiment.memory)


def _prepared(experiment: Experiment, memory: int | None) -> tuple[Demand, Choice, Problem, tuple[str, ...]]:
    """What is asked of a design, the one it gets, the problem and what is measured, all checked; to be called in the
    precision of the run."""
    target, learner, student = experiment.concrete, experiment.learner, experiment.student
    check_runnable(learner, student, target)
    axes = known_axes(target.inputs, target.rank)
    if experiment.dim < axes:
        expected = f"at least {axes}: the target's directions, and one for the inputs' spike"
        raise InvalidParameter("dim", experiment.dim, expected)
    wanted, choice = chosen(experiment, memory)
    problem = Problem(target, student, learner, with_inputs(choice.design, target.inputs))
    names = check_names(experiment.observe, algorithm(problem), student is not None, besides(experiment))
    return wanted, choice, problem, names


def besides(experiment: Experiment) -> tuple[str, ...]:
    """What is measured beside the usual quantities unless others are asked for: what a prediction from the start of
    this run needs; of neurons, if they are not too many, the products, which tell the share of each direction, too."""
    needed = experiment.needs_start
    if needed and "overlap" not in needed:
        return needed
    width = experiment.concrete.rank if experiment.student is None else experiment.student.width
    return START if width <= MOST_BESIDES else ()


def _dataset(experiment: Experiment, runs: Runs, names: tuple[str, ...]) -> xr.Dataset:
    data: dict[str, Any] = {
        name: (("seed", "time", *QUANTITIES[name][0]), runs.values[name], attributes(name)) for name in names
    }
    ended = runs.ends.get("outcome", Outcome.OK.value)
    unfinished = np.where(runs.finished, ended, Outcome.INTERRUPTED.value)
    data["outcome"] = ("seed", np.where(runs.diverged >= 0, Outcome.DIVERGED.value, unfinished))
    if "iterations" in runs.ends:
        data["iterations"] = ("seed", runs.ends["iterations"])
    data["diverged_step"] = ("seed", runs.diverged)
    steps = np.array(experiment.plan.steps)
    coordinates = {"seed": list(experiment.seeds), "time": steps / experiment.plan.unit, "step": ("time", steps)}
    return with_labels(xr.Dataset(data, coords=coordinates), experiment.learner.clock)


def _provenance(experiment: Experiment, problem: Problem, choice: Choice, device: str) -> dict[str, Any]:
    key = experiment.key
    return {
        "target": problem.target.text,
        "noise": problem.target.noise,
        "inputs": repr(problem.target.inputs),
        "learner": repr(problem.learner),
        "student": "none" if problem.student is None else repr(problem.student),
        "dim": problem.design.dim,
        "batch": problem.design.rows,
        "samples": -1 if experiment.samples is None else experiment.samples,
        "design": choice.kind,
        "design_bytes_per_seed": choice.bytes_per_seed,
        "dtype": np.dtype(problem.design.dtype).name,
        "key": key if isinstance(key, int) else str(np.asarray(root_key(key)).tolist()),
        "featlab": featlab.__version__,
        "jax": jax.__version__,
        "device": device,
    }
