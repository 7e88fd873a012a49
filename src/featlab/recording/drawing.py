"""A draw of an experiment as plain arrays, so that a loop of somebody else starts from the same law.

Weights, layers and, of one-pass learners and of those that reuse a batch, samples are those of the simulation on a
stored X, number by number: seed 3 here is seed 3 of `featlab.simulate(..., design="dense")`. Other learners draw their
batches in their own way, and here get samples of the same law.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from featlab.errors import InvalidParameter
from featlab.experiments.experiment import Experiment
from featlab.learners.flows import SphericalFlow
from featlab.learners.giant import GiantSteps
from featlab.learners.reuse import ReusedBatch
from featlab.learners.students import TwoLayer
from featlab.machine import memory
from featlab.precision import double_precision
from featlab.simulation.algorithms import check_runnable
from featlab.simulation.designs.choose import DoesNotFit, usable_bytes
from featlab.simulation.designs.dense import Dense
from featlab.simulation.designs.spiked import SpikedDesign, known_axes, with_inputs
from featlab.simulation.networks import Network, start_network
from featlab.simulation.problem import Problem
from featlab.simulation.questions import labelled_batch
from featlab.simulation.random import named, seed_keys

# Numbers drawn by one call, if a batch has fewer.
_AT_ONCE = 2**23


class Draw(NamedTuple):
    """Plain NumPy arrays.

    Attributes:
        X: inputs (n, d). Where the learner takes a new batch for its step, those of all its batches, one after the
            other: row t b + i is sample i of step t.
        y: labels (n,), noise included.
        W0: weights at the start (p, d); None for a learner without a student.
        directions: the target's directions (r, d): the first r axes.
        second_layer, biases: a and b (p,) of f(x) = (1/p) sum_i a_i sigma(<w_i, x> + b_i); None without a student.

    Examples:
        >>> import featlab
        >>> experiment = featlab.Experiment.of("tanh(h1)", featlab.SlicedInverseRegression(), dim=5, samples=20)
        >>> drawn = featlab.draw(experiment)
        >>> drawn.directions.tolist()
        [[1.0, 0.0, 0.0, 0.0, 0.0]]
    """

    X: np.ndarray
    y: np.ndarray
    W0: np.ndarray | None
    directions: np.ndarray
    second_layer: np.ndarray | None
    biases: np.ndarray | None


def draw(experiment: Experiment, seed: int = 0) -> Draw:
    """Everything at random that one run of an experiment needs, up to its last time.

    Args:
        experiment: of a learner that takes steps on a `TwoLayer`, or that estimates without a student.
        seed: which run; the root of all randomness is the experiment's `key`.

    Raises:
        DoesNotFit: arrays larger than `experiment.memory`, or than half of the memory there is.
        InvalidParameter: learners whose start these arrays do not tell.

    Examples:
        >>> import featlab
        >>> experiment = featlab.Experiment.of("tanh(h1)", featlab.SlicedInverseRegression(), dim=5, samples=20)
        >>> drawn = featlab.draw(experiment)
        >>> drawn.X.shape, drawn.y.shape
        ((20, 5), (20,))
    """
    learner: Any = experiment.learner
    told = learner.student_kind in (TwoLayer, None) and not getattr(learner, "fits_readout", False)
    if not told or isinstance(learner, SphericalFlow):
        expected = "steps on a TwoLayer, or an estimate without a student: the rest of its randomness is its own"
        raise InvalidParameter("learner", learner, expected)
    if getattr(learner, "directions", "axes") != "axes":
        raise InvalidParameter("learner", learner, "directions='axes', as a draw has them: the first r axes")
    check_runnable(learner, experiment.student, experiment.concrete)
    batches, rows = _batches(experiment)
    _check_memory(experiment, batches, rows)
    with double_precision() if experiment.dtype == "float64" else nullcontext():
        return _drawn(experiment, batches, rows, seed)


def _drawn(experiment: Experiment, batches: int, rows: int, seed: int) -> Draw:
    problem = _problem(experiment, rows)
    samples = replace(problem, student=None, learner=None)  # who learns is nothing to them: compiled once for all
    (key,) = jnp.asarray(seed_keys(experiment.key, [seed]))
    start = named(key, "start")
    keys = seed_keys(named(key, "steps"), range(0, batches * _uses(experiment), _uses(experiment)))
    if experiment.learner.clock != "one-pass":
        keys[0] = named(start, "first batch")
    X = np.empty((batches * rows, experiment.dim), experiment.dtype)
    y = np.empty(batches * rows, experiment.dtype)
    at_once = max(1, _AT_ONCE // (rows * experiment.dim))
    for begin in range(0, batches, at_once):
        part = slice(begin * rows, min(begin + at_once, batches) * rows)
        inputs, labels = _samples(samples, jnp.asarray(keys[begin : begin + at_once]))
        X[part], y[part] = np.asarray(inputs).reshape(-1, experiment.dim), np.asarray(labels).reshape(-1)
    directions = np.eye(experiment.target.rank, experiment.dim, dtype=experiment.dtype)
    if experiment.student is None:
        return Draw(X, y, None, directions, None, None)
    network = _start(problem, start)
    return Draw(X, y, np.array(network.weights), directions, np.array(network.second), np.array(network.biases))


@partial(jax.jit, static_argnames=("problem",))
def _samples(problem: Problem, keys: Array) -> tuple[Array, Array]:
    """X and y of one batch for each key."""

    def one(key: Array) -> tuple[Array, Array]:
        batch, labels = labelled_batch(problem, key)
        return (problem.design.stretched(batch) if isinstance(problem.design, SpikedDesign) else batch), labels

    return lax.map(one, keys)


@partial(jax.jit, static_argnames=("problem",))
def _start(problem: Problem, key: Array) -> Network:
    return start_network(key, problem)


def _problem(experiment: Experiment, rows: int) -> Problem:
    target, student = experiment.concrete, experiment.student
    axes = known_axes(target.inputs, target.rank)
    width = target.rank if student is None else student.width
    design = Dense(experiment.dim, axes, width, rows, np.dtype(experiment.dtype))
    return Problem(target, student, experiment.learner, with_inputs(design, target.inputs))


def _batches(experiment: Experiment) -> tuple[int, int]:
    """How many batches a run draws until its last time, and the samples of each."""
    learner: Any = experiment.learner
    last = experiment.plan.steps[-1]
    if learner.clock == "one-pass":
        return last, learner.batch
    if experiment.samples is None:
        raise InvalidParameter("samples", None, "a number of samples to draw")
    several = isinstance(learner, ReusedBatch | GiantSteps)
    return (-(-max(last, 1) // _uses(experiment)) if several else 1), experiment.samples


def _uses(experiment: Experiment) -> int:
    """How many steps are taken on a batch."""
    return experiment.learner.uses if isinstance(experiment.learner, ReusedBatch) else 1


def _check_memory(experiment: Experiment, batches: int, rows: int) -> None:
    """X and y, what is drawn of them at a time and while it is made, and the weights."""
    numbers, at_once = batches * rows * (experiment.dim + 1), max(rows * experiment.dim, _AT_ONCE)
    width = 0 if experiment.student is None else experiment.student.width
    needed = (numbers + 3 * min(at_once, numbers) + 3 * width * experiment.dim) * np.dtype(experiment.dtype).itemsize
    available = usable_bytes(memory()) if experiment.memory is None else experiment.memory
    if needed > available:
        size = f"X has {batches * rows:,} x {experiment.dim:,} numbers"
        remedy = f"{size}: take fewer samples or a smaller dimension; featlab.simulate needs no stored X"
        raise DoesNotFit(needed, available, "one seed on the design 'dense'", remedy)
