"""Ridge regression, min over a of (1/n) |y - Phi a|^2 + lambda |a|^2, on features that come in chunks, in float64.

Primal, for n > p: a = (Phi^T Phi / n + lambda)^{-1} Phi^T y / n from sums over chunks of samples. Dual, for
n <= p: a = Phi^T (Phi Phi^T / n + lambda)^{-1} y / n from sums over chunks of features.

Leave-one-out is exact (Allen 1974; Golub, Heath, Wahba 1979): fitted without sample i, at the same total penalty
n lambda, the prediction misses y_i by (y_i - f_i) / (1 - H_ii), with f the fit to all samples and H the matrix that
takes y to f. In terms of C = (Phi Phi^T / n + lambda)^{-1} that is (C y)_i / C_ii.

Call it where float64 is enabled: a Gram matrix has the squared condition number of its features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.scipy.linalg import cho_factor, cho_solve

from featlab.learners.readout import LEAVE_ONE_OUT_GRID
from featlab.simulation.linalg import product

# A ridge below this share of the trace of the Gram matrix would drown in its rounding.
SMALLEST_SHARE = 1e-12


class Fit(NamedTuple):
    """The coefficients a (p,) and the ridge lambda that was used."""

    coefficients: Array
    ridge: Array


class Rows(NamedTuple):
    """Samples in chunks: `visit(index)` gives features (m, p) and labels (m,), zero beyond the last of `total`."""

    visit: Callable[[Array], tuple[Array, Array]]
    chunks: int
    total: int


class Columns(NamedTuple):
    """Features in chunks: `visit(index)` gives features (n, c), zero beyond the last of `total`; labels (n,)."""

    visit: Callable[[Array], Array]
    chunks: int
    total: int
    labels: Array


class Path(NamedTuple):
    """Fits at every ridge of the grid (L,): a or C y, (p or n, L), and the mean squared leave-one-out errors (L,)."""

    ridges: Array
    solutions: Array
    errors: Array

    def best(self) -> tuple[Array, Array]:
        """The solution with the smallest error, and its ridge."""
        index = jnp.argmin(self.errors)
        return self.solutions[:, index], self.ridges[index]


def fit_primal(rows: Rows, ridge: Array | float | str) -> Fit:
    """The fit from p x p matrices; leave-one-out reads the samples a second time."""
    if isinstance(ridge, str):  # leave-one-out
        return Fit(*path_primal(rows).best())
    gram, moment = moments(rows)
    used = within_reach(ridge, gram)
    return Fit(cho_solve(cho_factor(shifted(gram, used)), moment)[:, 0], used)


def fit_dual(columns: Columns, ridge: Array | float | str) -> Fit:
    """The fit from n x n matrices."""
    if isinstance(ridge, str):  # leave-one-out
        weights, used = path_dual(columns).best()
    else:
        kernel = _kernel(columns)
        used = within_reach(ridge, kernel)
        weights = cho_solve(cho_factor(shifted(kernel, used)), columns.labels)

    def part(index: Array) -> Array:
        return product(columns.visit(index).T, weights[:, None])[:, 0] / len(weights)

    return Fit(lax.map(part, jnp.arange(columns.chunks)).reshape(-1)[: columns.total], used)


def path_primal(rows: Rows) -> Path:
    """The coefficients a at every ridge of the grid, with their leave-one-out errors."""
    gram, moment = moments(rows)
    values, vectors = _eigen(gram)
    grid = _grid(gram)
    shrinkage = 1 / (values[:, None] + grid)
    turned = shrinkage * product(vectors.T, moment)

    def squares(index: Array) -> Array:
        features, labels = rows.visit(index)
        along = product(features, vectors)
        leverage = product(along**2, shrinkage) / rows.total
        return jnp.sum(((labels[:, None] - product(along, turned)) / (1 - leverage)) ** 2, axis=0)

    return Path(grid, product(vectors, turned), chunk_sum(squares, rows.chunks) / rows.total)


def path_dual(columns: Columns) -> Path:
    """C y at every ridge of the grid, with their leave-one-out errors."""
    kernel = _kernel(columns)
    values, vectors = _eigen(kernel)
    grid = _grid(kernel)
    inverse = 1 / (values[:, None] + grid)
    weights = product(vectors, inverse * product(vectors.T, columns.labels[:, None]))
    missed = weights / product(vectors**2, inverse)
    return Path(grid, weights, jnp.mean(missed**2, axis=0))


def moments(rows: Rows) -> tuple[Array, Array]:
    """Phi^T Phi / n (p, p) and Phi^T y / n (p, 1)."""

    def part(index: Array) -> tuple[Array, Array]:
        features, labels = rows.visit(index)
        return product(features.T, features), product(features.T, labels[:, None])

    gram, moment = chunk_sum(part, rows.chunks)
    return gram / rows.total, moment / rows.total


def _kernel(columns: Columns) -> Array:
    """Phi Phi^T / n (n, n)."""

    def part(index: Array) -> Array:
        features = columns.visit(index)
        return product(features, features.T)

    return chunk_sum(part, columns.chunks) / len(columns.labels)


def _grid(gram: Array) -> Array:
    return jnp.asarray(LEAVE_ONE_OUT_GRID, gram.dtype) * jnp.trace(gram)


def within_reach(ridge: Array | float | str, gram: Array) -> Array:
    """The ridge, or the smallest one that does not drown in the rounding of the Gram matrix."""
    return jnp.maximum(jnp.asarray(ridge, gram.dtype), SMALLEST_SHARE * jnp.trace(gram))


def _eigen(gram: Array) -> tuple[Array, Array]:
    """Eigenvalues and vectors of a Gram matrix, whose eigenvalues are below zero by rounding only."""
    values, vectors = jnp.linalg.eigh(gram)
    return jnp.maximum(values, 0), vectors


def shifted(gram: Array, ridge: Array) -> Array:
    """The Gram matrix plus the ridge times the identity."""
    return gram + ridge * jnp.eye(len(gram), dtype=gram.dtype)


def chunk_sum(part: Callable[[Array], Any], chunks: int) -> Any:
    """The sum of part(0), ..., part(chunks - 1), which may be arrays or tuples of arrays."""

    def add(index: Array, total: Any) -> Any:
        return jax.tree.map(jnp.add, total, part(index))

    shapes = jax.eval_shape(part, jnp.int32(0))
    zero = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
    return lax.fori_loop(0, chunks, add, zero)
