"""Square roots and echelon forms of small matrices."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.gaussian.matrices import of_eigenvalues, reduced_rows, symmetric_root, triangular_root


def test_triangular_roots() -> None:
    rows = np.random.default_rng(0).standard_normal((4, 2))
    root = triangular_root(rows @ rows.T)
    np.testing.assert_allclose(root @ root.T, rows @ rows.T, atol=1e-12)
    assert np.count_nonzero(np.diag(root) > 1e-6) == 2
    assert np.all(np.triu(root, 1) == 0)


def test_a_variance_counts_as_rounding_by_the_scale_that_it_is_a_difference_of() -> None:
    """1 - q of 1e-14 is nothing, the same number as the variance of a small weight is not."""
    tiny = np.array([[1e-14]])
    assert triangular_root(tiny, scale=1.0) == 0
    assert triangular_root(tiny) == pytest.approx(1e-7)


def test_symmetric_roots_of_a_matrix_that_rounding_made_indefinite() -> None:
    direction = np.array([[0.6], [0.8]])
    matrix = direction @ direction.T - 1e-16 * np.eye(2)
    root = symmetric_root(matrix)
    np.testing.assert_allclose(root, root.T, atol=1e-15)
    np.testing.assert_allclose(root @ root, matrix, atol=1e-15)


def test_reduced_rows_span_the_same_space_with_unit_pivots() -> None:
    matrix = np.random.default_rng(1).standard_normal((2, 4))
    rows = reduced_rows(matrix, 1e-9)
    np.testing.assert_allclose(rows[:, :2], np.eye(2), atol=1e-12)
    assert np.linalg.matrix_rank(np.vstack([matrix, rows]), tol=1e-9) == 2
    assert not np.allclose(matrix, rows)


def test_a_column_of_errors_gets_no_pivot() -> None:
    matrix = np.array([[1e-6, 1.0, 2.0], [-2e-6, 1.0, 0.0]])
    np.testing.assert_allclose(reduced_rows(matrix, 1e-3)[:, 1:], np.eye(2), atol=1e-5)
    np.testing.assert_allclose(reduced_rows(matrix, 1e-9)[:, :2], np.eye(2), atol=1e-5)


def test_functions_of_eigenvalues() -> None:
    """exp(log A) = A for A positive definite, while the entries' own functions are something else."""
    rows = np.random.default_rng(2).standard_normal((3, 5))
    matrix = rows @ rows.T
    np.testing.assert_allclose(of_eigenvalues(np.exp, of_eigenvalues(np.log, matrix)), matrix, rtol=1e-10)
    np.testing.assert_allclose(of_eigenvalues(np.square, matrix), matrix @ matrix, rtol=1e-10)
    assert not np.allclose(of_eigenvalues(np.square, matrix), matrix**2)
