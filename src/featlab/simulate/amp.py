"""Bayes-AMP on one batch, through the forward and backward products of any design (Troiani et al. 2024,
arXiv:2405.15480); the update is stated in `featlab.learners.BayesAmp`.

The inputs here are N(0, I_d) and the target's directions unit vectors; papers on message passing take x ~ N(0, I_d / d)
and directions of norm sqrt d. Their What is sqrt d times ours, and their X is ours over sqrt d: fields X What^T and
overlaps are the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from featlab.simulate.amp_closed import Denoiser, closed_form
from featlab.simulate.amp_mixture import CHUNK_NUMBERS, MixtureDenoiser
from featlab.simulate.linalg import product
from featlab.simulate.problem import Algorithm, Problem, label_noise, labels
from featlab.simulate.random import named
from featlab.simulate.spectral import power_iteration

# What becomes of a run, by the number in its state.
MOVING, STANDING, UNINFORMED = range(3)
OUTCOMES = ("not converged", "ok", "uninformed")
# An estimate whose rows are smaller than this (root mean square) counts as zero: nothing is known.
ZERO_NORM = 1e-3


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Estimate:
    """What (r, frame): the estimate of the target's directions, in the coordinates of the design."""

    weights: Array


class State(NamedTuple):
    """What the next iteration needs."""

    network: Estimate
    covariance: Array  # C (r, r), common to all coordinates
    onsager: Array  # O (n, r)
    batch: Any
    labels: Array
    outcome: Array  # one of MOVING, STANDING, UNINFORMED
    iterations: Array  # taken so far


class Info(NamedTuple):
    """What a person wants to see: the relative change of the estimate, and A = (1/d) g^T g."""

    change: Array
    precision: Array


def init(problem: Problem, key: Array) -> State:
    """The batch and its labels, and the estimate at the start."""
    design, learner, rank = problem.design, problem.learner, problem.target.rank
    batch = jax.tree.map(lambda part: part[0], design.draw(named(key, "batch")))
    target_fields, batch = design.target_fields(batch)
    values = labels(problem, target_fields, label_noise(problem, named(key, "labels"), (design.rows,)))
    rows = design.gaussian_rows(named(key, "weights"), rank) / design.dim**0.5
    onsager, covariance = jnp.zeros((design.rows, rank), design.dtype), jnp.eye(rank, dtype=design.dtype)
    overlap = learner.start_overlap
    if learner.start == "informed":
        rows = ((overlap * (1 - overlap)) ** 0.5 * rows).at[:, :rank].add(overlap * covariance)
        covariance = (1 - overlap) * covariance
    else:
        rows = overlap**0.5 * rows
    if learner.start == "spectral":
        rows, onsager, batch = power_iteration(problem, denoiser(problem), batch, values, rows)
    return State(Estimate(rows), covariance, onsager, batch, values, jnp.int32(MOVING), jnp.int32(0))


def draw(problem: Problem, key: Array) -> Array:
    """Nothing is random after the start."""
    return jnp.zeros(1, jnp.int32)


def step(problem: Problem, state: State, fresh: Array, number: Array) -> tuple[State, Info]:
    """One iteration; none for an estimate that stands still."""
    still = Info(jnp.zeros((), problem.design.dtype), jnp.zeros_like(state.covariance))
    return lax.cond(state.outcome == MOVING, partial(iterate, problem), lambda state: (state, still), state)


def iterate(problem: Problem, state: State) -> tuple[State, Info]:
    """One iteration."""
    design, keep = problem.design, problem.learner.damping
    old = state.network.weights
    fields, batch = design.forward(state.batch, old)
    duals = denoiser(problem)(state.labels, fields - state.onsager, state.covariance)
    pull, batch = design.backward(batch, duals)
    precision = product(duals.T, duals) / design.dim
    covariance = jnp.linalg.inv(jnp.eye(len(precision), dtype=design.dtype) + precision)
    covariance = (covariance + covariance.T) / 2
    new = product(covariance, pull / design.dim + product(precision, old))
    weights = (1 - keep) * new + keep * old
    size, moved = jnp.sqrt(jnp.sum(weights**2)), jnp.sqrt(jnp.sum((weights - old) ** 2))
    lost = size < ZERO_NORM * len(weights) ** 0.5
    still = moved < problem.learner.tolerance * size
    return State(
        Estimate(weights),
        (1 - keep) * covariance + keep * state.covariance,
        (1 - keep) * product(duals, covariance) + keep * state.onsager,
        batch,
        state.labels,
        jnp.where(lost, UNINFORMED, jnp.where(still, STANDING, MOVING)).astype(jnp.int32),
        state.iterations + 1,
    ), Info(moved / size, precision)


def bayes_amp(problem: Problem) -> Algorithm:
    """The algorithm for a problem whose learner is a `BayesAmp`."""
    return Algorithm(partial(init, problem), partial(draw, problem), partial(step, problem), outcomes=OUTCOMES)


def amp_bytes(rows: int, rank: int, dtype: Any) -> int:
    """What one seed needs besides its design: a few fields, and a chunk of small clouds."""
    return (6 * rows * rank + 16 * CHUNK_NUMBERS) * np.dtype(dtype).itemsize


def denoiser(problem: Problem) -> Denoiser:
    """g_out of the problem's target: in closed form where one is known, else by a mixture of small clouds."""
    return closed_form(problem.target) or MixtureDenoiser(problem.target)
