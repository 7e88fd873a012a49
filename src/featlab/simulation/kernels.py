"""Kernel ridge regression, solved exactly in float64 from the inner products of the samples.

There is one n x n matrix, the Cholesky factor of K + n lambda, written block by block (`blocked`); test points come in
chunks: memory is known before the run.

Leave-one-out is exact: with C = (K + n lambda)^{-1} the prediction of sample i from all others misses y_i by
(C y)_i / C_ii (see `ridge`). All ridges of the grid share one eigendecomposition of K, which takes the time of about
six Cholesky factors with the diagonals of their inverses; the grid has 23 ridges.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from featlab.errors import InvalidParameter
from featlab.learners.fields import LEAVE_ONE_OUT
from featlab.learners.kernels import KERNEL_RIDGES, KernelRidge
from featlab.simulation.blocked import Entries, block_size, cholesky_blocks, lower_blocks, solve_blocks
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.kernel_points import (
    LARGEST_BLOCK,
    Points,
    fresh_points,
    kernel_blocks,
    kernel_with,
    training_points,
)
from featlab.simulation.linalg import product
from featlab.simulation.problem import Algorithm, Problem, Simulator
from featlab.simulation.random import fold, named
from featlab.simulation.ridge import SMALLEST_SHARE
from featlab.targets import Target

# n x n float64 matrices at the peak of a fit, as measured: K becomes its factor; or K, its copy for LAPACK, which
# works on two more.
_MATRICES, _PATH_MATRICES = 1.1, 4.5
# What makes no sense of a learner without weights.
_ABSENT = ("overlap", "gram", "norm", "cosine", "subspace", "weights")


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NoNetwork:
    """No neurons: weights (0, frame)."""

    weights: Array


class State(NamedTuple):
    """Nothing is kept: samples are drawn when the fit is asked for, one seed at a time."""

    network: NoNetwork


class Info(NamedTuple):
    """What a person wants to see: the risk, its standard error, the share of the target that is reproduced, and the
    ridge that was used."""

    risk: Array
    risk_error: Array
    captured: Array
    ridge: Array


class Fitted(NamedTuple):
    """The coefficients a (n,) of f(x) = sum_i a_i k(x, x_i), and the ridge lambda that was used."""

    coefficients: Array
    ridge: Array


def init(problem: Problem[KernelRidge, None], key: Array) -> State:
    """Nothing."""
    return State(NoNetwork(jnp.zeros((0, problem.design.frame), problem.design.dtype)))


def step(state: State, fresh: Array, number: Array) -> tuple[State, None]:
    """There are no steps, only a result."""
    return state, None


def kernel_ridge(problem: Problem[KernelRidge, None]) -> Algorithm:
    """The algorithm for a problem whose learner is a `KernelRidge`."""
    start, look = partial(init, problem), partial(fit, problem)
    return Algorithm(start, lambda key: key[None], step, absent=_ABSENT, fit=look, fitted=("captured",))


def fit(problem: Problem, state: State, key: Array) -> dict[str, Array]:
    """A fit to fresh samples and what it is worth. Call it where float64 is enabled."""
    size = block_size(problem.design.rows, LARGEST_BLOCK)
    points, outcome = training_points(problem, named(key, "train"), size)
    fitted = kernel_fit(problem, points, outcome, size)
    worth = measured(problem, points, fitted.coefficients, size, named(key, "test"))
    return Info(*worth, fitted.ridge)._asdict()


def kernel_fit(problem: Problem, points: Points, outcome: Array, size: int) -> Fitted:
    """The fit at the learner's ridge, or at the one that leave-one-out chooses."""
    ridge, entries = problem.learner.ridge, kernel_blocks(problem, points, size)
    squares = points.squares[: len(outcome)]
    scale = jnp.mean(problem.learner.function.value(jnp, squares, squares, squares))
    if isinstance(ridge, str):  # leave-one-out
        ridges = jnp.asarray(KERNEL_RIDGES, jnp.float64) * scale / len(outcome)
        return best_of_path(entries, outcome, size, ridges)
    used = jnp.maximum(jnp.asarray(ridge, jnp.float64), SMALLEST_SHARE * scale)
    return Fitted(solved(entries, outcome, size, used), used)


def solved(entries: Entries, outcome: Array, size: int, ridge: Array) -> Array:
    """a = (K + n lambda)^{-1} y."""
    count = len(outcome)

    def shifted(row: Array, column: Array) -> Array:
        return entries(row, column) + jnp.where(row == column, count * ridge, 0) * jnp.eye(size, dtype=jnp.float64)

    return solve_blocks(cholesky_blocks(shifted, count, size), outcome)


def best_of_path(entries: Entries, outcome: Array, size: int, ridges: Array) -> Fitted:
    """The fit at the ridge with the smallest mean squared leave-one-out error.

    Rows beyond the last sample have y_i = 0 and are exact eigenvectors: they add nothing to any error.
    """
    count = len(outcome)
    table = lower_blocks(entries, count, size)
    blocks = len(table)
    vectors, values = lax.linalg.eigh(table.reshape(blocks * size, -1), lower=True, symmetrize_input=False)
    # Eigenvalues of K are below zero by rounding only.
    inverse = 1 / (jnp.maximum(values, 0)[:, None] + count * ridges)
    along = inverse * product(jnp.pad(outcome, (0, blocks * size - count))[None, :], vectors).T

    def errors(index: Array) -> Array:
        part = lax.dynamic_slice_in_dim(vectors, index * size, size)
        return jnp.sum((product(part, along) / product(part**2, inverse)) ** 2, axis=0)

    best = jnp.argmin(jnp.sum(lax.map(errors, jnp.arange(blocks)), axis=0))
    return Fitted(product(vectors, along[:, best][:, None])[:count, 0], ridges[best])


def measured(
    problem: Problem, points: Points, coefficients: Array, size: int, key: Array
) -> tuple[Array, Array, Array]:
    """E[(y - f)^2] on fresh samples, its standard error, and E[y f] / E[y^2] for the y without additive noise, which
    enters the first exactly."""
    total = problem.learner.test_samples
    chunk = block_size(total, LARGEST_BLOCK)

    def visit(index: Array) -> tuple[Array, Array]:
        fresh, outcome = fresh_points(problem, fold(key, index), chunk)
        return outcome, predicted(problem, points, coefficients, size, fresh)

    parts = lax.map(visit, jnp.arange(-(-total // chunk)))
    outcome, found = (part.reshape(-1)[:total] for part in parts)
    squares = (outcome - found) ** 2
    captured = jnp.sum(outcome * found) / jnp.sum(outcome**2)
    return jnp.mean(squares) + problem.target.noise, jnp.std(squares, ddof=1) / total**0.5, captured


def predicted(problem: Problem, points: Points, coefficients: Array, size: int, fresh: Points) -> Array:
    """f at fresh points, by blocks of training samples."""
    blocks = len(points.squares) // size
    padded = jnp.pad(coefficients, (0, blocks * size - len(coefficients)))

    def add(index: Array, total: Array) -> Array:
        part = lax.dynamic_slice_in_dim(padded, index * size, size)
        return total + product(kernel_with(problem, fresh, points, index, size), part[:, None])[:, 0]

    return lax.fori_loop(0, blocks, add, jnp.zeros(len(fresh.squares), jnp.float64))


def kernel_demand(learner: KernelRidge, student: None, target: Target, sizes: Sizes) -> Demand:
    """Samples compared with each other; seeds are fitted one at a time, so that the matrix is needed once."""
    rows, path = sizes.batch, learner.ridge == LEAVE_ONE_OUT
    if rows < 2 and path:
        raise InvalidParameter("samples", rows, "at least 2, so that one can be left out")
    frame = min(sizes.dim, sizes.known + rows)
    numbers = (_PATH_MATRICES if path else _MATRICES) * rows**2 + LARGEST_BLOCK * (8 * LARGEST_BLOCK + 2 * frame)
    numbers += 5 * learner.test_samples
    return Demand(sizes.dim, sizes.known, 0, rows, dtype=sizes.dtype, besides=int(8 * numbers), compared=True)


SIMULATOR = Simulator(kernel_ridge, kernel_demand, arguments=("ridge",))
