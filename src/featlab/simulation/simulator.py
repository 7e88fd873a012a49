"""The door: a target, a learner, a dimension -> a labelled dataset of order parameters."""

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
from featlab.learners.checks import positive_integer
from featlab.learners.schedule import schedule
from featlab.precision import double_precision
from featlab.results import QUANTITIES
from featlab.simulation.algorithms import algorithm, check_learner, checked_student, demand
from featlab.simulation.designs.choose import Choice, Sizes, choose
from featlab.simulation.designs.spiked import known_axes, with_inputs
from featlab.simulation.observe import check_names
from featlab.simulation.problem import Problem
from featlab.simulation.random import root_key, seed_keys
from featlab.simulation.run import Runs, run
from featlab.targets import Target
from featlab.targets import target as make_target

_DTYPES = ("float32", "float64")


def simulate(
    target: Target | str,
    learner: Any,
    *,
    dim: int,
    samples: int | None = None,
    times: Sequence[float] | None = None,
    seeds: int | Iterable[int] = 10,
    key: int | Array = 0,
    student: Any = None,
    design: str = "auto",
    observe: Iterable[str] | None = None,
    dtype: str = "float32",
    memory: int | None = None,
    progress: bool | None = None,
) -> xr.Dataset:
    """Simulate a student that learns a target from Gaussian inputs at a finite dimension, exactly in law.

    Args:
        target: a `Target`, or its text. A law of its inputs in d (`SpikeLaw`) is taken at `dim`.
        learner: `OnlineSgd`, `Extragradient`, `GiantSteps`, `ReusedBatch`; a `Readout` after one of them; or
            `RandomFeatures`. The risk of the last two is that of the fitted network, and `ridge` says what it took.
            Or `BayesAmp`, which has no student: its estimate of the directions is in the place of the weights, row k
            and its sign such that the overlaps with the directions are largest (up to signed permutation), and its
            risk is that of the link at the estimated fields.
            Or `LangevinDynamics`, on `Hypercube` inputs, which classifies: it has an accuracy in the place of a risk.
        dim: the dimension d of the inputs, any whole number of at least the target's rank.
        samples: one-pass learners: samples in all. GiantSteps, ReusedBatch, BayesAmp: samples in a batch.
        times: when to look. One-pass learners: in units of d steps. Else: numbers of steps.
        seeds: how many, or which; the result for a seed does not depend on the others.
        key: the root of all randomness.
        student: the network, of the kind that the learner trains: a `TwoLayer`, by default one relu neuron, unless its
            description says otherwise. None for a learner that has none.
        design: how the data exist: "auto", "virtual", "dense", "streamed" or "dice". All are exact.
        observe: what to measure, names of `featlab.results.QUANTITIES`; None, the usual ones of the learner.
        dtype: "float32" or "float64".
        memory: bytes that the run may use; half of what is free unless given.
        progress: show a bar when it takes more than two seconds; by default if standard error is a terminal.

    Returns:
        A dataset on the axes seed, time, neuron, direction, ...; `step` beside `time`; `outcome` of each seed ("ok",
        "diverged", "interrupted") and `diverged_step` (-1: none); values after a divergence are NaN; attributes say
        where it came from. BayesAmp adds the outcomes "not converged" (more iterations, or more damping) and
        "uninformed" (the estimate has shrunk to zero: nothing is found at this number of samples, or from this start),
        and `iterations`, after how many it stopped.

    Raises:
        InvalidParameter: for a value out of range. DoesNotFit: for a run too large for the memory.
    """
    target = (target if isinstance(target, Target) else make_target(target)).at(positive_integer("dim", dim))
    check_learner(learner)
    student = checked_student(learner, student, target)
    if dim < target.rank:
        raise InvalidParameter("dim", dim, f"at least {target.rank}, the number of the target's directions")
    if dtype not in _DTYPES:
        raise InvalidParameter("dtype", dtype, "'float32' or 'float64'")
    numbers = _seed_numbers(seeds)
    plan = schedule(learner, int(dim), samples, times)
    axes = known_axes(target.inputs, target.rank)
    if dim < axes:
        raise InvalidParameter("dim", dim, f"at least {axes}: the target's directions, and one for the inputs' spike")
    wanted = demand(learner, student, target, Sizes(int(dim), axes, samples, np.dtype(dtype)))
    with double_precision() if dtype == "float64" else nullcontext():
        choice = choose(wanted, design, memory)
        problem = Problem(target, student, learner, with_inputs(choice.design, target.inputs))
        steps = algorithm(problem)
        names = check_names(observe, steps, student is not None)
        keys = seed_keys(key, numbers)
        show = sys.stderr.isatty() if progress is None else progress
        runs = run(problem, plan, names, keys, choice.seeds_at_once, show)
    dataset = _dataset(runs, names, numbers, np.array(plan.steps), plan.unit)
    device = next(iter(jax.device_put(keys).devices())).device_kind
    return dataset.assign_attrs(_provenance(problem, choice, samples, key, device))


def _seed_numbers(seeds: int | Iterable[int]) -> list[int]:
    numbers = list(range(positive_integer("seeds", seeds))) if not isinstance(seeds, Iterable) else list(seeds)
    if not numbers or any(isinstance(n, bool) or int(n) != n or not 0 <= n < 2**32 for n in numbers):
        raise InvalidParameter("seeds", seeds, "a number of seeds, or whole numbers from 0 to 2^32 - 1")
    return [int(number) for number in numbers]


def _dataset(runs: Runs, names: tuple[str, ...], seeds: list[int], steps: np.ndarray, unit: float) -> xr.Dataset:
    data: dict[str, Any] = {
        name: (("seed", "time", *QUANTITIES[name][0]), runs.values[name], {"meaning": QUANTITIES[name][1]})
        for name in names
    }
    ended = runs.ends.get("outcome", "ok")
    words = np.where(runs.diverged >= 0, "diverged", np.where(runs.finished, ended, "interrupted"))
    data["outcome"] = ("seed", words)
    if "iterations" in runs.ends:
        data["iterations"] = ("seed", runs.ends["iterations"])
    data["diverged_step"] = ("seed", runs.diverged)
    return xr.Dataset(data, coords={"seed": seeds, "time": steps / unit, "step": ("time", steps)})


def _provenance(problem: Problem, choice: Choice, samples: int | None, key: int | Array, device: str) -> dict[str, Any]:
    return {
        "target": problem.target.text,
        "noise": problem.target.noise,
        "inputs": repr(problem.target.inputs),
        "learner": repr(problem.learner),
        "student": "none" if problem.student is None else repr(problem.student),
        "dim": problem.design.dim,
        "batch": problem.design.rows,
        "samples": -1 if samples is None else samples,
        "design": choice.kind,
        "design_bytes_per_seed": choice.bytes_per_seed,
        "dtype": np.dtype(problem.design.dtype).name,
        "key": key if isinstance(key, int) else str(np.asarray(root_key(key)).tolist()),
        "featlab": featlab.__version__,
        "jax": jax.__version__,
        "device": device,
    }
