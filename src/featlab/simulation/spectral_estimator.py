"""The optimal spectral method for multi-index models by damped power iteration, on any design (Defilippis et al. 2025,
arXiv:2502.02545); the operator is that of `featlab.simulation.spectral`."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from featlab.learners.spectral_methods import SpectralEstimator
from featlab.simulation.amp import Estimate
from featlab.simulation.amp_closed import closed_form
from featlab.simulation.amp_mixture import CHUNK_NUMBERS
from featlab.simulation.arrays import ops_of
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.lanczos import MOVING, OUTCOMES, STANDING
from featlab.simulation.problem import Algorithm, Problem, Simulator
from featlab.simulation.questions import isotropic_only, labelled_batch
from featlab.simulation.random import named
from featlab.simulation.spectral import denoiser_of, linear_step, response
from featlab.targets import Target


class State(NamedTuple):
    """What the next iteration needs."""

    network: Estimate  # orthonormal rows that span `rows`
    rows: Array  # (r, frame), of Frobenius norm 1
    onsager: Array  # (n, r)
    growth: Array  # the eigenvalue, as far as it is known; NaN before the first iteration
    moments: Array  # G(y) of every sample (n, r, r)
    batch: Any
    outcome: Array  # MOVING or STANDING
    iterations: Array


class Info(NamedTuple):
    """What a person wants to see: how far the vector moved."""

    change: Array


def init(problem: Problem[SpectralEstimator, None], key: Array) -> State:
    """A random vector."""
    batch, values = labelled_batch(problem, key)
    return begin(problem, batch, response(problem.target, values), key)


def begin(problem: Problem, batch: Any, moments: Any, key: Any) -> State:
    """The same where G(y) (n, r, r) is known."""
    design, ops, rank = problem.design, ops_of(moments), moments.shape[1]
    rows = design.gaussian_rows(named(key, "weights"), rank)
    rows = rows / (rows**2).sum() ** 0.5
    unknown = ops.full((), ops.nan, design.dtype)
    still = ops.zeros((design.rows, rank), design.dtype)
    return State(Estimate(_span(rows)), rows, still, unknown, moments, batch, ops.int32(MOVING), ops.int32(0))


def draw(problem: Problem[SpectralEstimator, None], key: Array) -> Array:
    """Nothing is random after the start."""
    return jnp.zeros(1, jnp.int32)


def step(problem: Problem[SpectralEstimator, None], state: State, fresh: Array, number: Array) -> tuple[State, Info]:
    """One iteration; none for a vector that stands still."""
    still = Info(jnp.zeros((), problem.design.dtype))
    return lax.cond(state.outcome == MOVING, partial(iterate, problem), lambda state: (state, still), state)


def iterate(problem: Problem, state: State) -> tuple[State, Info]:
    """One damped iteration, after which the vector is made of norm 1 again."""
    keep = problem.learner.damping
    new, duals, batch = linear_step(problem, state.moments, state.rows, state.onsager, state.batch)
    growth = (new * state.rows).sum()
    rows, onsager = (1 - keep) * new + keep * state.rows, (1 - keep) * duals + keep * state.onsager
    size = (rows**2).sum() ** 0.5
    rows, onsager = rows / size, onsager / size
    change = ((rows - state.rows) ** 2).sum() ** 0.5
    outcome = ops_of(rows).where(change < problem.learner.tolerance, STANDING, MOVING).astype(np.int32)
    known = (state.moments, batch, outcome, state.iterations + 1)
    return State(Estimate(_span(rows)), rows, onsager, growth, *known), Info(change)


def spectral_estimator(problem: Problem[SpectralEstimator, None]) -> Algorithm:
    """The algorithm for a problem whose learner is a `SpectralEstimator`."""
    return Algorithm(
        partial(init, problem),
        partial(draw, problem),
        partial(step, problem),
        outcomes=OUTCOMES,
        measures={"growth": lambda state, key: state.growth},
        absent=("risk",),
    )


def spectral_demand(learner: SpectralEstimator, student: None, target: Target, sizes: Sizes) -> Demand:
    """A batch read by every iteration, by one row for each direction; besides it G of every sample, and a chunk of
    small clouds where G is not known in closed form."""
    rank, item = target.rank, np.dtype(sizes.dtype).itemsize
    clouds = 0 if closed_form(target) else 16 * CHUNK_NUMBERS
    besides = item * (sizes.batch * rank * (4 * rank + 16) + clouds)
    uses = learner.iterations
    return Demand(sizes.dim, sizes.known, rank, sizes.batch, uses=uses, dtype=sizes.dtype, per_seed=besides)


def check_spectral(learner: SpectralEstimator, student: None, target: Target) -> None:
    """Refuse other inputs, and a target that has no denoiser."""
    isotropic_only(learner, target)
    denoiser_of(target)


def _span(rows: Any) -> Any:
    """Orthonormal rows with the span of these."""
    return ops_of(rows).linalg.svd(rows, full_matrices=False)[2]


SIMULATOR = Simulator(spectral_estimator, spectral_demand, check_spectral, arguments=("damping", "tolerance"))
