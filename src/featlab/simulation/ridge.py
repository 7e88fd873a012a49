"""Ridge regression, min over a of (1/n) |y - Phi a|^2 + lambda |a|^2, on features that come in chunks, in float64.

Primal, for n > p: a = (Phi^T Phi / n + lambda)^{-1} Phi^T y / n from sums over chunks of samples. Dual, for
n <= p: a = Phi^T (Phi Phi^T / n + lambda)^{-1} y / n from sums over chunks of features.

Leave-one-out is exact (Allen 1974; Golub, Heath, Wahba 1979): fitted without sample i, at the same total penalty
n lambda, the prediction misses y_i by (y_i - f_i) / (1 - H_ii), with f the fit to all samples and H the matrix that
takes y to f. In terms of C = (Phi Phi^T / n + lambda)^{-1} that is (C y)_i / C_ii.

With an intercept that is not penalised, features (or kernel) and labels come centred, and H_ii gains 1/n: the error is
(C y)_i / (C_ii - 1 / (n lambda)).

Call it where float64 is enabled: a Gram matrix has the squared condition number of its features. Features of NumPy,
which come in one chunk, stay on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jax import Array, lax

from featlab.learners.readout import LEAVE_ONE_OUT_GRID
from featlab.simulation.arrays import ops_of
from featlab.simulation.linalg import product

# A ridge below this share of the trace of the Gram matrix would drown in its rounding.
SMALLEST_SHARE = 1e-12


class Fit(NamedTuple):
    """The coefficients a (p,) and the ridge lambda that was used."""

    coefficients: Any
    ridge: Any


class Rows(NamedTuple):
    """Samples in chunks: `visit(index)` gives features (m, p) and labels (m,), zero beyond the last of `total`."""

    visit: Callable[[Any], tuple[Any, Any]]
    chunks: int
    total: int


class Columns(NamedTuple):
    """Features in chunks: `visit(index)` gives features (n, c), zero beyond the last of `total`; labels (n,)."""

    visit: Callable[[Any], Any]
    chunks: int
    total: int
    labels: Any


class Path(NamedTuple):
    """Fits at every ridge of the grid (L,): a or C y, (p or n, L), and the mean squared leave-one-out errors (L,)."""

    ridges: Any
    solutions: Any
    errors: Any

    def best(self) -> tuple[Any, Any]:
        """The solution with the smallest error, and its ridge."""
        index = ops_of(self.errors).argmin(self.errors)
        return self.solutions[:, index], self.ridges[index]


def fit_primal(rows: Rows, ridge: Array | float | str, intercept: bool = False) -> Fit:
    """The fit from p x p matrices; leave-one-out reads the samples a second time."""
    if isinstance(ridge, str):  # leave-one-out
        return Fit(*path_primal(rows, intercept).best())
    gram, moment = moments(rows)
    used = within_reach(ridge, gram)
    return Fit(solve_positive(shifted(gram, used), moment)[:, 0], used)


def fit_dual(columns: Columns, ridge: Array | float | str, intercept: bool = False) -> Fit:
    """The fit from n x n matrices."""
    kernel = kernel_of(columns)
    weights, used = fit_kernel(kernel, columns.labels, grid_of(kernel) if isinstance(ridge, str) else ridge, intercept)

    def part(index: Any) -> Any:
        return product(columns.visit(index).T, weights[:, None])[:, 0] / len(weights)

    if columns.chunks == 1:
        return Fit(part(0)[: columns.total], used)
    return Fit(lax.map(part, jnp.arange(columns.chunks)).reshape(-1)[: columns.total], used)


def fit_kernel(kernel: Any, labels: Any, ridge: Any, intercept: bool = False) -> tuple[Any, Any]:
    """C y for a kernel matrix over n, at this ridge or at that which leave-one-out chooses of several; and it."""
    if ops_of(kernel).ndim(ridge) > 0:
        return path_dual(kernel, labels, ridge, intercept).best()
    used = within_reach(ridge, kernel)
    return solve_positive(shifted(kernel, used), labels), used


def path_primal(rows: Rows, intercept: bool = False) -> Path:
    """The coefficients a at every ridge of the grid, with their leave-one-out errors."""
    gram, moment = moments(rows)
    values, vectors = _eigen(gram)
    grid = grid_of(gram)
    shrinkage = 1 / (values[:, None] + grid)
    turned = shrinkage * product(vectors.T, moment)

    def squares(index: Any) -> Any:
        features, labels = rows.visit(index)
        along = product(features, vectors)
        leverage = (product(along**2, shrinkage) + intercept) / rows.total
        return (((labels[:, None] - product(along, turned)) / (1 - leverage)) ** 2).sum(axis=0)

    return Path(grid, product(vectors, turned), chunk_sum(squares, rows.chunks) / rows.total)


def path_dual(kernel: Any, labels: Any, grid: Any, intercept: bool = False) -> Path:
    """C y at every ridge of the grid for a kernel matrix over n, with their leave-one-out errors."""
    values, vectors = _eigen(kernel)
    inverse = 1 / (values[:, None] + grid)
    weights = product(vectors, inverse * product(vectors.T, labels[:, None]))
    missed = weights / (product(vectors**2, inverse) - intercept / (len(labels) * grid))
    return Path(grid, weights, (missed**2).mean(axis=0))


def moments(rows: Rows) -> tuple[Any, Any]:
    """Phi^T Phi / n (p, p) and Phi^T y / n (p, 1)."""

    def part(index: Any) -> tuple[Any, Any]:
        features, labels = rows.visit(index)
        return product(features.T, features), product(features.T, labels[:, None])

    gram, moment = chunk_sum(part, rows.chunks)
    return gram / rows.total, moment / rows.total


def kernel_of(columns: Columns) -> Any:
    """Phi Phi^T / n (n, n)."""

    def part(index: Any) -> Any:
        features = columns.visit(index)
        return product(features, features.T)

    return chunk_sum(part, columns.chunks) / len(columns.labels)


def grid_of(gram: Any) -> Any:
    ops = ops_of(gram)
    return ops.asarray(LEAVE_ONE_OUT_GRID, gram.dtype) * ops.trace(gram)


def within_reach(ridge: Array | float | str, gram: Any) -> Any:
    """The ridge, or the smallest one that does not drown in the rounding of the Gram matrix."""
    ops = ops_of(gram)
    return ops.maximum(ops.asarray(ridge, gram.dtype), SMALLEST_SHARE * ops.trace(gram))


def _eigen(gram: Any) -> tuple[Any, Any]:
    """Eigenvalues and vectors of a Gram matrix, whose eigenvalues are below zero by rounding only."""
    ops = ops_of(gram)
    values, vectors = ops.linalg.eigh(gram)
    return ops.maximum(values, 0), vectors


def solve_positive(matrix: Any, right: Any) -> Any:
    """The solution of a system with a symmetric positive definite matrix."""
    library = scipy.linalg if isinstance(matrix, np.ndarray) else jax.scipy.linalg
    return library.cho_solve(library.cho_factor(matrix), right)


def shifted(gram: Any, ridge: Any) -> Any:
    """The Gram matrix plus the ridge times the identity."""
    return gram + ridge * ops_of(gram).eye(len(gram), dtype=gram.dtype)


def chunk_sum(part: Callable[[Any], Any], chunks: int) -> Any:
    """The sum of part(0), ..., part(chunks - 1), which may be arrays or tuples of arrays."""
    if chunks == 1:
        return part(0)

    def add(index: Array, total: Any) -> Any:
        return jax.tree.map(jnp.add, total, part(index))

    shapes = jax.eval_shape(part, jnp.int32(0))
    zero = jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)
    return lax.fori_loop(0, chunks, add, zero)
