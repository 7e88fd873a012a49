"""The leading eigenvectors of a symmetric d x d matrix that is only known by its products, for any design: block
Lanczos iteration with full orthogonalisation (Golub, Underwood 1977).

After t iterations the estimate is the best in the span of r random rows, their images, ..., t - 1 times over: an
eigenvector with a relative gap g to the others is found up to exp(-4 t sqrt(g)) or so, where power iteration needs
1/g iterations. A question to a batch is dear on most designs, room for the vectors is not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from featlab.outcome import Outcome
from featlab.simulation.amp import Estimate
from featlab.simulation.linalg import lower_factor, product, split
from featlab.simulation.problem import Algorithm, Problem
from featlab.simulation.questions import Labelled, labelled_batch
from featlab.simulation.random import named

MOVING, STANDING = range(2)
OUTCOMES = (Outcome.NOT_CONVERGED, Outcome.OK)


class Operator(NamedTuple):
    """A symmetric matrix M made of labelled samples.

    Attributes:
        prepare: problem, labelled batch -> what products with M need, the batch among it.
        apply: problem, that, rows V (k, frame) -> V M, and what the next product needs.
    """

    prepare: Callable[[Problem, Labelled], Any]
    apply: Callable[[Problem, Any, Any], tuple[Any, Any]]


class State(NamedTuple):
    """What the next iteration needs."""

    network: Estimate  # the leading Ritz vectors, orthonormal rows
    eigenvalues: Array  # theirs, the largest in size first; NaN before the first iteration
    basis: Array  # orthonormal rows, r for each iteration and r to come; the others are zero
    images: Array  # their images, as far as they are known
    data: Any  # of the operator
    outcome: Array  # MOVING or STANDING
    iterations: Array


class Info(NamedTuple):
    """What a person wants to see: |M v - theta v| over |theta|, of the leading pairs together."""

    residual: Array


def init(problem: Problem, operator: Operator, key: Array) -> State:
    """Random orthonormal rows."""
    design, rank = problem.design, problem.target.rank
    data = operator.prepare(problem, labelled_batch(problem, key))
    rows = lower_factor(design.gaussian_rows(named(key, "weights"), rank))[1]
    empty = jnp.zeros(((problem.learner.iterations + 1) * rank, design.frame), design.dtype)
    unknown = jnp.full(rank, jnp.nan, design.dtype)
    return State(Estimate(rows), unknown, empty.at[:rank].set(rows), empty, data, jnp.int32(MOVING), jnp.int32(0))


def draw(problem: Problem, key: Array) -> Array:
    """Nothing is random after the start."""
    return jnp.zeros(1, jnp.int32)


def step(problem: Problem, operator: Operator, state: State, fresh: Array, number: Array) -> tuple[State, Info]:
    """One iteration; none for an estimate that stands still."""
    still = Info(jnp.zeros((), problem.design.dtype))
    move = partial(iterate, problem, operator)
    return lax.cond(state.outcome == MOVING, move, lambda state: (state, still), state)


def iterate(problem: Problem, operator: Operator, state: State) -> tuple[State, Info]:
    """The images of the newest rows, the best estimate in the span of all rows so far, and new rows."""
    rank = problem.target.rank
    begin = state.iterations * rank
    newest = lax.dynamic_slice_in_dim(state.basis, begin, rank)
    found, data = operator.apply(problem, state.data, newest)
    images = lax.dynamic_update_slice_in_dim(state.images, found, begin, axis=0)
    projected = product(state.basis, images.T)
    values, vectors = jnp.linalg.eigh((projected + projected.T) / 2)
    leading = jnp.argsort(-jnp.abs(values))[:rank]
    values, vectors = values[leading], vectors[:, leading]
    estimate = product(vectors.T, state.basis)
    missed = product(vectors.T, images) - values[:, None] * estimate
    residual = jnp.sqrt(jnp.sum(missed**2) / jnp.sum(values**2))
    fresh = split(state.basis, found)[2]
    basis = lax.dynamic_update_slice_in_dim(state.basis, fresh, begin + rank, axis=0)
    outcome = jnp.where(residual < problem.learner.tolerance, STANDING, MOVING).astype(jnp.int32)
    moved = State(Estimate(estimate), values, basis, images, data, outcome, state.iterations + 1)
    return moved, Info(residual)


def lanczos(problem: Problem, operator: Operator) -> Algorithm:
    """The algorithm for a learner that wants the leading eigenvectors of that operator."""
    return Algorithm(
        partial(init, problem, operator),
        partial(draw, problem),
        partial(step, problem, operator),
        outcomes=OUTCOMES,
        measures={"eigenvalue": lambda state, key: state.eigenvalues},
        absent=("risk",),
    )


def lanczos_bytes(iterations: int, rank: int, frame: int, itemsize: int) -> int:
    """An estimate of the memory of the rows and their images, and of what is made of them in an iteration."""
    return itemsize * 6 * (iterations + 1) * rank * (frame + (iterations + 1) * rank)
