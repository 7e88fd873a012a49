"""Square roots and echelon forms of small matrices that rounding has made nearly singular."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from featlab.gaussian.hermite import Floats

_ROUNDING = 1e-13


def triangular_root(matrix: Floats, scale: float = 0.0) -> Floats:
    """Lower triangular L with L L^T = matrix for a positive semidefinite matrix; zero columns where it is singular.

    Args:
        scale: size of the numbers that the matrix is a difference of, if larger than its diagonal (1 for I - Q): a
            variance below 1e-13 of it is rounding, and counts as 0.
    """
    size = len(matrix)
    root = np.zeros((size, size))
    for i in range(size):
        left = matrix[i, i] - root[i, :i] @ root[i, :i]
        if left <= _ROUNDING * max(scale, matrix[i, i]):
            continue
        root[i, i] = np.sqrt(left)
        root[i + 1 :, i] = (matrix[i + 1 :, i] - root[i + 1 :, :i] @ root[i, :i]) / root[i, i]
    return root


def of_eigenvalues(function: Callable[[Floats], Floats], matrix: Floats) -> Floats:
    """The function of a symmetric matrix: the same eigenvectors, the function of its eigenvalues (r,)."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * function(values)) @ vectors.T


def symmetric_root(matrix: Floats) -> Floats:
    """The symmetric square root of a positive semidefinite matrix; eigenvalues below zero are those of rounding."""
    return of_eigenvalues(lambda values: np.sqrt(np.maximum(values, 0.0)), matrix)


def reduced_rows(matrix: Floats, least_pivot: float) -> Floats:
    """The reduced row echelon form (Gauss-Jordan), the largest entry of a column as its pivot.

    Args:
        least_pivot: a column whose entries are all smaller gets no pivot: its entries count as errors.
    """
    rows = matrix.copy()
    done = 0
    for column in range(rows.shape[1]):
        if done == len(rows):
            break
        pivot = done + int(np.argmax(np.abs(rows[done:, column])))
        if abs(rows[pivot, column]) < least_pivot:
            continue
        rows[[done, pivot]] = rows[[pivot, done]]
        rows[done] /= rows[done, column]
        others = np.arange(len(rows)) != done
        rows[others] -= np.outer(rows[others, column], rows[done])
        done += 1
    return rows
