"""Kernel ridge regression, solved exactly in float64 from the inner products of the samples.

There is one n x n matrix: the lower triangle of K is written block by block, becomes its Cholesky factor, and test
points come in chunks, so that memory is bounded before the run. Coordinates are in the precision of the run; inner
products, solve and risk are in float64.

Leave-one-out is exact: with C = (K + n lambda)^{-1} the prediction of sample i from all others misses y_i by
(C y)_i / C_ii (see `ridge`). All ridges of the grid share one eigendecomposition K = U diag(k) U^T, which costs as much
as ten Cholesky factors with the diagonals of their inverses; the grid has 23 ridges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from featlab.errors import InvalidParameter
from featlab.learners.kernel_functions import Kernel
from featlab.learners.kernels import KernelRidge
from featlab.learners.readout import LEAVE_ONE_OUT, LEAVE_ONE_OUT_GRID
from featlab.simulate.designs.choose import Demand, Sizes
from featlab.simulate.designs.spiked import label_fields, seen_weights
from featlab.simulate.designs.triangular import Triangular
from featlab.simulate.linalg import product
from featlab.simulate.problem import Algorithm, Problem, label_noise, labels
from featlab.simulate.random import chi, fold, named, normal
from featlab.simulate.ridge import SMALLEST_SHARE

_BLOCK = 1024
# Numbers of n x n float64 that a fit holds at its peak: K alone, or what an eigendecomposition works with.
_MATRICES = {"fixed": 2, "path": 5}
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
    """What a person wants to see: the risk, its standard error, and the ridge that was used."""

    risk: Array
    risk_error: Array
    ridge: Array


class Points(NamedTuple):
    """Samples in the frame: coordinates (m, frame), in the precision of the run, and |x|^2/d (m,) in float64."""

    coordinates: Array
    squares: Array


class Fitted(NamedTuple):
    """The coefficients a (n,) of f(x) = sum_i a_i k(x, x_i), and the ridge lambda that was used."""

    coefficients: Array
    ridge: Array


def init(problem: Problem, key: Array) -> State:
    """Nothing."""
    return State(NoNetwork(jnp.zeros((0, problem.design.frame), problem.design.dtype)))


def step(state: State, fresh: Array, number: Array) -> tuple[State, None]:
    """There are no steps, only a result."""
    return state, None


def kernel_ridge(problem: Problem) -> Algorithm:
    """The algorithm for a problem whose learner is a `KernelRidge`."""
    return Algorithm(partial(init, problem), lambda key: key[None], step, absent=_ABSENT, fit=partial(fit, problem))


def fit(problem: Problem, state: State, key: Array) -> dict[str, Array]:
    """A fit to fresh samples and what it is worth. Call it where float64 is enabled."""
    points, outcome = training_points(problem, named(key, "train"))
    kernel, reach = problem.learner.function, reach_of(problem)
    fitted = solved(gram(kernel, points, problem.design.dim, reach), outcome, problem.learner.ridge)
    risk = measured_risk(problem, points, fitted.coefficients, reach, named(key, "test"))
    return Info(*risk, fitted.ridge)._asdict()


def training_points(problem: Problem, key: Array) -> tuple[Points, Array]:
    """The batch: points and labels (n,)."""
    design = problem.design
    batch = design.draw(named(key, "batch"))[0]
    target_fields, batch = design.target_fields(batch)
    outcome = labels(problem, target_fields, label_noise(problem, named(key, "labels"), (design.rows,)))
    inputs = seen_weights(design, batch)  # S^{1/2} z: what a spike does to weights it does to samples
    return Points(inputs, _squares(inputs) / design.dim), outcome.astype(jnp.float64)


def fresh_points(problem: Problem, key: Array, count: int) -> tuple[Points, Array]:
    """Fresh points, with their norm across the frame of the training samples, and labels without additive noise."""
    design = problem.design
    coordinates = normal(named(key, "along"), (count, design.frame), design.dtype)
    inputs = seen_weights(design, coordinates)
    squares = _squares(inputs)
    if design.frame < design.dim:
        squares += chi(named(key, "across"), float(design.dim - design.frame), (count,), jnp.float64) ** 2
    noise = label_noise(problem, named(key, "labels"), (count,)).at[:, problem.target.hidden :].set(0)
    outcome = labels(problem, label_fields(design, coordinates[:, : design.known]), noise)
    return Points(inputs, squares / design.dim), outcome.astype(jnp.float64)


def reach_of(problem: Problem) -> Callable[[Array], Array | int]:
    """How many first coordinates of the training samples before number `end` are not all zero."""
    frame, known = problem.design.frame, problem.design.known
    triangular = isinstance(getattr(problem.design, "inner", problem.design), Triangular)
    return lambda end: jnp.minimum(known + end, frame) if triangular else frame


def gram(kernel: Kernel, points: Points, dim: int, reach: Callable[[Array], Any]) -> Array:
    """The lower triangle of K (n, n) in float64, blocks of it beyond the diagonal being zero."""
    count = len(points.squares)
    size = min(count, _BLOCK)
    blocks = -(-count // size)

    def row(index: Array, table: Array) -> Array:
        left = _rows(points, index * size, size)

        def block(other: Array, table: Array) -> Array:
            right = _rows(points, other * size, size)
            inner = inner_products(left, right, reach((other + 1) * size)) / dim
            values = kernel.value(jnp, inner, left.squares[:, None], right.squares)
            return lax.dynamic_update_slice(table, values, (index * size, other * size))

        return lax.fori_loop(0, index + 1, block, table)

    # The last block begins where it still fits: it writes again, unchanged, what the one before it wrote.
    return lax.fori_loop(0, blocks, row, jnp.zeros((count, count), jnp.float64))


def inner_products(left: Points, right: Points, reach: Any) -> Array:
    """<x, y> (a, b) over the first `reach` coordinates, in float64, by chunks of coordinates."""
    frame = left.coordinates.shape[1]
    size = min(frame, _BLOCK)

    def add(index: Array, total: Array) -> Array:
        begin = jnp.minimum(index * size, frame - size)
        new = begin + jnp.arange(size) >= index * size  # the last chunk begins where it still fits
        parts = [lax.dynamic_slice_in_dim(points.coordinates, begin, size, axis=1) for points in (left, right)]
        first, second = (part.astype(jnp.float64) for part in parts)
        return total + product(jnp.where(new, first, 0), second.T)

    chunks = -(-reach // size)
    return lax.fori_loop(0, chunks, add, jnp.zeros((len(left.squares), len(right.squares)), jnp.float64))


def solved(table: Array, outcome: Array, ridge: float | str) -> Fitted:
    """a = (K + n lambda)^{-1} y from the lower triangle of K."""
    count, scale = len(outcome), jnp.mean(jnp.diagonal(table))
    if ridge == LEAVE_ONE_OUT:
        return best_of_path(table, outcome, scale * jnp.asarray(LEAVE_ONE_OUT_GRID, table.dtype))
    used = jnp.maximum(jnp.asarray(ridge, table.dtype), SMALLEST_SHARE * scale)
    places = jnp.arange(count)
    factor = lax.linalg.cholesky(table.at[places, places].add(count * used), symmetrize_input=False)
    half = lax.linalg.triangular_solve(factor, outcome[:, None], left_side=True, lower=True)
    return Fitted(lax.linalg.triangular_solve(factor, half, left_side=True, lower=True, transpose_a=True)[:, 0], used)


def best_of_path(table: Array, outcome: Array, ridges: Array) -> Fitted:
    """The fit at the ridge with the smallest mean squared leave-one-out error."""
    count = len(outcome)
    vectors, values = lax.linalg.eigh(table, lower=True, symmetrize_input=False)
    inverse = 1 / (jnp.maximum(values, 0)[:, None] + count * ridges)
    along = inverse * product(outcome[None, :], vectors).T
    size = min(count, _BLOCK)

    def visit(index: Array) -> Array:
        part = lax.dynamic_slice_in_dim(vectors, index * size, size)
        fresh = jnp.minimum(index * size, count - size) + jnp.arange(size) >= index * size
        return jnp.sum(jnp.where(fresh[:, None], product(part, along) / product(part**2, inverse), 0) ** 2, axis=0)

    errors = jnp.sum(lax.map(visit, jnp.arange(-(-count // size))), axis=0)
    best = jnp.argmin(errors)
    return Fitted(product(vectors, along[:, best][:, None])[:, 0], ridges[best])


def measured_risk(
    problem: Problem, points: Points, coefficients: Array, reach: Callable[[Array], Any], key: Array
) -> tuple[Array, Array]:
    """E[(y - f)^2] on fresh samples, and its standard error. The additive label noise enters exactly."""
    total = problem.learner.test_samples
    size = min(total, _BLOCK)

    def squares(index: Array) -> Array:
        fresh, outcome = fresh_points(problem, fold(key, index), size)
        return (outcome - predicted(problem, points, coefficients, reach, fresh)) ** 2

    found = lax.map(squares, jnp.arange(-(-total // size))).reshape(-1)[:total]
    return jnp.mean(found) + problem.target.noise, jnp.std(found, ddof=1) / total**0.5


def predicted(
    problem: Problem, points: Points, coefficients: Array, reach: Callable[[Array], Any], fresh: Points
) -> Array:
    """f at fresh points, by blocks of training samples."""
    count = len(coefficients)
    size = min(count, _BLOCK)

    def add(index: Array, total: Array) -> Array:
        right = _rows(points, index * size, size)
        inner = inner_products(fresh, right, reach((index + 1) * size)) / problem.design.dim
        values = problem.learner.function.value(jnp, inner, fresh.squares[:, None], right.squares)
        new = jnp.minimum(index * size, count - size) + jnp.arange(size) >= index * size
        part = jnp.where(new, lax.dynamic_slice_in_dim(coefficients, index * size, size), 0)
        return total + product(values, part[:, None])[:, 0]

    return lax.fori_loop(0, -(-count // size), add, jnp.zeros(len(fresh.squares), jnp.float64))


def kernel_demand(learner: KernelRidge, student: None, target: Any, sizes: Sizes) -> Demand:
    """Samples compared with each other; seeds are fitted one at a time, so that the matrix is needed once."""
    rows = sizes.batch
    if rows < 2 and learner.ridge == LEAVE_ONE_OUT:
        raise InvalidParameter("samples", rows, "at least 2, so that one can be left out")
    matrices = _MATRICES["path" if learner.ridge == LEAVE_ONE_OUT else "fixed"]
    block = min(max(rows, learner.test_samples), _BLOCK)
    besides = 8 * (matrices * rows**2 + 6 * block**2 + 2 * block * sizes.dim)
    return Demand(sizes.dim, sizes.known, 0, rows, normed=True, dtype=sizes.dtype, besides=besides, compared=True)


def _rows(points: Points, begin: Array, size: int) -> Points:
    return Points(*(lax.dynamic_slice_in_dim(part, begin, size) for part in points))


def _squares(inputs: Array) -> Array:
    return jnp.sum(inputs.astype(jnp.float64) ** 2, axis=1)
