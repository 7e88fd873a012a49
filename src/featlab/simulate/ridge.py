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

from featlab.learners.readout import LEAVE_ONE_OUT, LEAVE_ONE_OUT_GRID
from featlab.simulate.linalg import product

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


def fit_primal(rows: Rows, ridge: float | str) -> Fit:
    """The fit from p x p matrices; leave-one-out reads the samples a second time."""

    def moments(index: Array) -> tuple[Array, Array]:
        features, labels = rows.visit(index)
        return product(features.T, features), product(features.T, labels[:, None])

    gram, moment = (total / rows.total for total in _sum(moments, rows.chunks))
    if ridge != LEAVE_ONE_OUT:
        used = _within_reach(ridge, gram)
        return Fit(cho_solve(cho_factor(_shifted(gram, used)), moment)[:, 0], used)
    values, vectors = _eigen(gram)
    grid = _grid(gram)
    shrinkage = 1 / (values[:, None] + grid)
    turned = shrinkage * product(vectors.T, moment)

    def squares(index: Array) -> Array:
        features, labels = rows.visit(index)
        along = product(features, vectors)
        leverage = product(along**2, shrinkage) / rows.total
        return jnp.sum(((labels[:, None] - product(along, turned)) / (1 - leverage)) ** 2, axis=0)

    best = jnp.argmin(_sum(squares, rows.chunks))
    return Fit(product(vectors, turned[:, best][:, None])[:, 0], grid[best])


def fit_dual(columns: Columns, ridge: float | str) -> Fit:
    """The fit from n x n matrices."""
    samples, labels = len(columns.labels), columns.labels

    def kernel_part(index: Array) -> Array:
        features = columns.visit(index)
        return product(features, features.T)

    kernel = _sum(kernel_part, columns.chunks) / samples
    if ridge != LEAVE_ONE_OUT:
        used = _within_reach(ridge, kernel)
        weights = cho_solve(cho_factor(_shifted(kernel, used)), labels)
    else:
        used, weights = _best_weights(kernel, labels)
    parts = lax.map(
        lambda index: product(columns.visit(index).T, weights[:, None]) / samples, jnp.arange(columns.chunks)
    )
    return Fit(parts.reshape(-1)[: columns.total], used)


def _best_weights(kernel: Array, labels: Array) -> tuple[Array, Array]:
    """The lambda with the smallest leave-one-out error, and C y there."""
    values, vectors = _eigen(kernel)
    grid = _grid(kernel)
    inverse = 1 / (values[:, None] + grid)
    weights = product(vectors, inverse * product(vectors.T, labels[:, None]))
    missed = weights / product(vectors**2, inverse)
    best = jnp.argmin(jnp.sum(missed**2, axis=0))
    return grid[best], weights[:, best]


def _grid(gram: Array) -> Array:
    return jnp.asarray(LEAVE_ONE_OUT_GRID, gram.dtype) * jnp.trace(gram)


def _within_reach(ridge: float | str, gram: Array) -> Array:
    return jnp.maximum(jnp.asarray(ridge, gram.dtype), SMALLEST_SHARE * jnp.trace(gram))


def _eigen(gram: Array) -> tuple[Array, Array]:
    """Eigenvalues and vectors of a Gram matrix, whose eigenvalues are below zero by rounding only."""
    values, vectors = jnp.linalg.eigh(gram)
    return jnp.maximum(values, 0), vectors


def _shifted(gram: Array, ridge: Array) -> Array:
    return gram + ridge * jnp.eye(len(gram), dtype=gram.dtype)


def _sum(part: Callable[[Array], Any], chunks: int) -> Any:
    """The sum of part(0), ..., part(chunks - 1), which may be arrays or tuples of arrays."""

    def add(index: Array, total: Any) -> Any:
        return jax.tree.map(jnp.add, total, part(index))

    shapes = jax.eval_shape(part, jnp.int32(0))
    zero = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
    return lax.fori_loop(0, chunks, add, zero)
