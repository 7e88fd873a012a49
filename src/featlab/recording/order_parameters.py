"""Order parameters of weights as somebody stores them: rows of W in R^d, any orthonormal directions, float64."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
from scipy.optimize import linear_sum_assignment

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats

# float32 directions are orthonormal to about 1e-6.
_ORTHONORMAL = 1e-4
OF_WEIGHTS = ("overlap", "gram", "norm", "cosine", "subspace", "spectrum")


def check_directions(directions: Floats, dim: int) -> None:
    """Refuse directions that are not orthonormal rows in R^d."""
    if directions.ndim != 2 or directions.shape[1] != dim:
        expected = f"an array (directions, {dim}), one row for each, as the weights have {dim} columns"
        raise InvalidParameter("directions", f"shape {directions.shape}", f"{expected}; weights are (neurons, d)")
    apart = float(np.max(np.abs(directions @ directions.T - np.eye(len(directions))), initial=0.0))
    if not apart <= _ORTHONORMAL:
        given = f"rows whose products differ from those of orthonormal ones by {apart:.2g}"
        raise InvalidParameter("directions", given, "orthonormal rows; np.linalg.qr(directions.T)[0].T makes them so")


def order_parameters(weights: Floats, directions: Floats, names: Iterable[str]) -> dict[str, Floats]:
    """Those of `OF_WEIGHTS` that are asked for, of W (p, d) and orthonormal W* (r, d)."""

    @cache
    def overlap() -> Floats:
        return weights @ directions.T

    @cache
    def gram() -> Floats:
        return weights @ weights.T

    @cache
    def norm() -> Floats:
        return np.sqrt(np.sum(weights**2, axis=1))

    @cache
    def cosine() -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):  # a row of zeros has no direction
            return overlap() / norm()[:, None]

    measures: dict[str, Callable[[], Floats]] = {
        "overlap": overlap,
        "gram": gram,
        "norm": norm,
        "cosine": cosine,
        "subspace": lambda: _singular_values(cosine() / len(weights) ** 0.5),
        "spectrum": lambda: _singular_values(weights),
    }
    return {name: measure() for name, measure in measures.items() if name in names}


def aligned(rows: Floats, directions: Floats) -> Floats:
    """Rows that estimate the directions, permuted and with signs such that the sum of their overlaps is largest."""
    overlaps = rows @ directions.T
    best = linear_sum_assignment(-np.abs(overlaps.T))[1]  # the row for each direction
    signs = np.where(overlaps[best, np.arange(len(best))] < 0, -1.0, 1.0)
    return rows[best] * signs[:, None]


def _singular_values(matrix: Floats) -> Floats:
    """The largest first; NaN where the matrix is not finite."""
    if not np.all(np.isfinite(matrix)):
        return np.full(min(matrix.shape), np.nan)
    return np.asarray(np.linalg.svd(matrix, compute_uv=False), dtype=np.float64)
