"""The risk of a network that somebody else trained: over fresh fields and by the key of its seed, as a simulation's."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from featlab.experiments.experiment import Experiment
from featlab.gaussian.hermite import Floats
from featlab.precision import double_precision
from featlab.simulation.algorithms import algorithm
from featlab.simulation.designs.dense import Dense
from featlab.simulation.networks import Network
from featlab.simulation.observe import risk, risk_problem
from featlab.simulation.problem import Problem
from featlab.simulation.random import named, seed_keys
from featlab.targets.inputs import Isotropic


def has_risk(experiment: Experiment) -> bool:
    """Whether a network's own risk is what a simulation of this experiment measures, on inputs that any turn leaves."""
    steps = algorithm(_problem(experiment))
    own = steps.fit is not None or "risk" in (*steps.measures, *steps.absent)
    return isinstance(experiment.concrete.inputs, Isotropic) and not own


def network_risk(
    experiment: Experiment, seed: int, weights: Floats, directions: Floats, second: Floats, biases: Floats
) -> tuple[float, float]:
    """E[(y - f)^2] and its standard error. Of W it needs the overlaps M and a triangle L with L L^T = Q - M M^T."""
    overlap = weights @ directions.T
    lower = np.asarray(np.linalg.qr((weights - overlap @ directions).T, mode="r")).T
    lower = lower * np.where(np.diagonal(lower) < 0, -1.0, 1.0)  # unique, as that of a simulation
    rows = np.concatenate([overlap, lower], axis=1)
    with double_precision() if experiment.dtype == "float64" else nullcontext():
        parts = (jnp.asarray(part, experiment.dtype) for part in (rows, biases, second))
        (key,) = seed_keys(experiment.key, [seed])
        value, error = _risk(risk_problem(_problem(experiment)), Network(*parts), jnp.asarray(key))
    return float(value), float(error)


@partial(jax.jit, static_argnames=("problem",))
def _risk(problem: Problem, network: Network, key: Array) -> tuple[Array, Array]:
    return risk(problem, network, named(key, "observe"))


def _problem(experiment: Experiment) -> Problem:
    target, student = experiment.concrete, experiment.student
    width = target.rank if student is None else student.width
    design = Dense(experiment.dim, target.rank, width, 1, np.dtype(experiment.dtype))
    return Problem(target, student, experiment.learner, design)
