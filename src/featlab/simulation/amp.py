"""Bayes-AMP on one batch, through the forward and backward products of any design (Troiani et al. 2024,
arXiv:2405.15480); the update is stated in `featlab.learners.BayesAmp`.

The inputs here are N(0, I_d) and the target's directions unit vectors; papers on message passing take x ~ N(0, I_d / d)
and directions of norm sqrt d. Their What is sqrt d times ours, and their X is ours over sqrt d: fields X What^T and
overlaps are the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.scipy.linalg import solve_triangular

from featlab.errors import InvalidParameter
from featlab.learners.amp import BayesAmp
from featlab.outcome import Outcome
from featlab.simulation.amp_closed import Denoiser, closed_form
from featlab.simulation.amp_mixture import CHUNK_NUMBERS, MixtureDenoiser, halvings
from featlab.simulation.amp_table import TabulatedDenoiser
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.linalg import product
from featlab.simulation.observe import posterior_risk
from featlab.simulation.problem import Algorithm, Problem, Simulator, label_noise, labels
from featlab.simulation.random import named
from featlab.simulation.spectral import power_iteration
from featlab.targets import Target
from featlab.targets.inputs import Isotropic

# What becomes of a run, by the number in its state.
MOVING, STANDING, UNINFORMED = range(3)
OUTCOMES = (Outcome.NOT_CONVERGED, Outcome.OK, Outcome.UNINFORMED)
# An estimate whose rows are smaller than this (root mean square) counts as zero: nothing is known.
ZERO_NORM = 1e-3
# From this precision on a direction is well known (overlap above 0.9); a curvature is at least this share of a square.
_WELL_KNOWN = 10.0
_LEAST_RATIO = 0.05
# Sums over the samples are rounded, the more the more there are: correlations of equal rows come out as 1 up to this.
_SINGULAR = 1e-5
# Multiplications of a denoiser for each sample: in closed form, and for each small cloud of a mixture (9 ns of two
# directions, 18 of three). Where a table serves, in the first iterations, it takes about a third of that.
_CLOSED_WORK, _CLOUD_WORK = 4e3, 50.0


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


def init(problem: Problem[BayesAmp, None], key: Array) -> State:
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
        rows, onsager, batch = power_iteration(problem, batch, values, rows)
    return State(Estimate(rows), covariance, onsager, batch, values, jnp.int32(MOVING), jnp.int32(0))


def draw(problem: Problem[BayesAmp, None], key: Array) -> Array:
    """Nothing is random after the start."""
    return jnp.zeros(1, jnp.int32)


def step(problem: Problem[BayesAmp, None], state: State, fresh: Array, number: Array) -> tuple[State, Info]:
    """One iteration; none for an estimate that stands still."""
    still = Info(jnp.zeros((), problem.design.dtype), jnp.zeros_like(state.covariance))
    return lax.cond(state.outcome == MOVING, partial(iterate, problem), lambda state: (state, still), state)


def iterate(problem: Problem, state: State) -> tuple[State, Info]:
    """One iteration."""
    design, keep = problem.design, problem.learner.damping
    old = state.network.weights
    fields, batch = design.forward(state.batch, old)
    # Labels and fields are rounded: nothing is known better than that.
    variance = state.covariance + jnp.finfo(design.dtype).eps * jnp.eye(len(old), dtype=design.dtype)
    duals, curvature = denoiser(problem.target, design.rows)(state.labels, fields - state.onsager, variance)
    pull, batch = design.backward(batch, duals)
    dim = 1.0 * design.dim  # a float: 3e9 is no 32-bit integer
    precision = precision_of(product(duals.T, duals) / dim, curvature / dim)
    covariance = posterior_covariance(precision)
    new = old + product(covariance, pull / dim - old)  # (I + A)^-1 (pull + A old), without a huge A's rounding
    weights = (1 - keep) * new + keep * old
    size, moved = jnp.sqrt(jnp.sum(weights**2)), jnp.sqrt(jnp.sum((weights - old) ** 2))
    lost = size < ZERO_NORM * len(weights) ** 0.5
    still = jnp.all(stands(weights, old, problem.learner.tolerance))
    return State(
        Estimate(weights),
        (1 - keep) * covariance + keep * state.covariance,
        (1 - keep) * product(duals, covariance) + keep * state.onsager,
        batch,
        state.labels,
        jnp.where(lost, UNINFORMED, jnp.where(still, STANDING, MOVING)).astype(jnp.int32),
        state.iterations + 1,
    ), Info(moved / size, precision)


def stands(new: Array, old: Array, tolerance: float) -> Array:
    """For each row, whether it stands still: it hardly moves, or it is zero and does not grow.

    Rows are asked one by one. A direction that is found late starts from almost nothing once the others are known: next
    to them its growth is invisible at first.
    """
    size, before = (jnp.sqrt(jnp.sum(rows**2, axis=1)) for rows in (new, old))
    moved = jnp.sqrt(jnp.sum((new - old) ** 2, axis=1))
    return (moved < tolerance * size) | ((size < ZERO_NORM) & (size <= before))


def precision_of(squares: Array, curvature: Array) -> Array:
    """A, from the means of g g^T and of -dg/domega times n/d, which have the same limit.

    Where little is known the second may be negative, so it is the first that counts. Where much is known it is the
    second: a V that happens to be too small makes g g^T too large by the square, and the next V smaller still.
    The two are compared along the axes in which both are diagonal: squares = T T^T, curvature = T b T^T.
    """
    # A is added to the identity: directions of which less than its rounding is known count as that, and divide nothing.
    size = jnp.sqrt(jnp.diagonal(squares) + jnp.finfo(squares.dtype).eps)
    eye = jnp.eye(len(size), dtype=size.dtype)
    root = size[:, None] * jnp.linalg.cholesky(squares / (size[:, None] * size) + _SINGULAR * eye)
    white = solve_triangular(root, curvature, lower=True)
    ratios, vectors = jnp.linalg.eigh(solve_triangular(root, white.T, lower=True))
    axes = product(root, vectors)
    known = jnp.sum(axes**2, axis=0) > _WELL_KNOWN
    return squares + product(axes * jnp.where(known, jnp.maximum(ratios, _LEAST_RATIO) - 1, 0), axes.T)


def posterior_covariance(precision: Array) -> Array:
    """(I + A)^-1, scaled to unit diagonal before it is inverted: some directions may be known far better."""
    eye = jnp.eye(len(precision), dtype=precision.dtype)
    total = eye + precision
    scale = 1 / jnp.sqrt(jnp.diagonal(total))
    inverse = scale[:, None] * jnp.linalg.inv(scale[:, None] * total * scale) * scale
    return (inverse + inverse.T) / 2


def bayes_amp(problem: Problem[BayesAmp, None]) -> Algorithm:
    """The algorithm for a problem whose learner is a `BayesAmp`."""

    def measured_posterior_risk(state: State, key: Array) -> Array:
        return posterior_risk(problem, state.network, state.covariance, key)

    return Algorithm(
        partial(init, problem),
        partial(draw, problem),
        partial(step, problem),
        outcomes=OUTCOMES,
        measures={"posterior_risk": measured_posterior_risk},
        on_request=("posterior_risk",),
    )


def amp_demand(learner: BayesAmp, student: None, target: Target, sizes: Sizes) -> Demand:
    """A batch read by every iteration, one row of weights for each direction of the target; besides the design a few
    fields, and a chunk of small clouds where they are used."""
    rows, rank = sizes.batch, target.rank
    clouds = 0 if closed_form(target) else 16 * CHUNK_NUMBERS
    besides = (32 * rows * rank + clouds) * np.dtype(sizes.dtype).itemsize
    work = _denoiser_work(target)
    return Demand(
        sizes.dim, sizes.known, rank, rows, uses=learner.uses, dtype=sizes.dtype, per_seed=besides, row_work=work
    )


@lru_cache(maxsize=64)
def _denoiser_work(target: Target) -> float:
    """Multiplications, roughly, for each sample and iteration."""
    if closed_form(target):
        return _CLOSED_WORK
    if target.rank > 1:
        return _CLOUD_WORK * target.rank * MixtureDenoiser(target).numbers
    return _CLOSED_WORK * (1 if target.hidden else 2 ** halvings(target)[0])


def check_amp(learner: BayesAmp, student: None, target: Target) -> None:
    """Refuse inputs that the prior does not know, and a target that has no denoiser."""
    if target.inputs != Isotropic():
        raise InvalidParameter("inputs", target.inputs, "Isotropic() for bayes-amp, whose prior knows no spike")
    closed_form(target) or MixtureDenoiser(target)


def denoiser(target: Target, samples: int) -> Denoiser:
    """The denoiser of a target: in closed form where one is known, else by a mixture of small clouds, which is put into
    a table if there are many samples."""
    closed = closed_form(target)
    if closed is not None:
        return closed
    table = TabulatedDenoiser(MixtureDenoiser(target))
    return table if table.pays(samples) else table.direct


SIMULATOR = Simulator(bayes_amp, amp_demand, check_amp, arguments=("damping", "start_overlap", "tolerance"))
