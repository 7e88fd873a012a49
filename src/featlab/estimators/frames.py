"""Coordinates in which the inputs are what the theory takes them to be: mean zero, covariance the identity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats

KINDS = ("auto", "whiten", "standardise", "isotropic")
# Parts of the inputs with less than this share of the variance of a column are rounding.
_ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class Frame:
    """z = matrix (x - mean), with matrix (q, d) and as many coordinates q as the inputs have."""

    mean: Floats
    matrix: Floats

    def apply(self, inputs: Floats) -> Floats:
        """The coordinates (n, q) of samples (n, d)."""
        return (inputs - self.mean) @ self.matrix.T


def frame_of(inputs: Floats, kind: str) -> Frame:
    """The frame of samples X (n, d).

    Args:
        inputs: X.
        kind: "whiten", mean 0 and sample covariance I (divided by n), in the span of the samples; "standardise", each
            column by itself, which is all that n < 2 d samples allow; "auto", the first of these if n >= 2 d, else the
            second; "isotropic", as they are: they are known to be N(0, I), as those of `featlab.simulate`.
    """
    if kind not in KINDS:
        raise InvalidParameter("inputs", kind, f"one of {', '.join(map(repr, KINDS))}")
    count, dim = inputs.shape
    if kind == "isotropic":
        return Frame(np.zeros(dim), np.eye(dim))
    mean = inputs.mean(axis=0)
    scale = inputs.std(axis=0)
    # A constant column has the deviation of its rounding.
    varied = scale > _ROUNDING * (np.abs(mean) + np.finfo(float).tiny)
    if not varied.any():
        raise InvalidParameter("X", f"{dim} constant columns", "at least one column that varies")
    standard = np.eye(dim)[varied] / scale[varied, None]
    if kind == "standardise" or (kind == "auto" and count < 2 * len(standard)):
        return Frame(mean, standard)
    columns = (inputs[:, varied] - mean[varied]) / scale[varied]
    values, vectors = np.linalg.eigh(columns.T @ columns / count)
    kept = values > _ROUNDING * values[-1]
    if count <= kept.sum() + 1:
        expected = (
            "'standardise': whitened, so few samples all lie at the same distance from each other, and tell nothing"
        )
        raise InvalidParameter("inputs", f"'whiten' for {count} samples of {dim} columns", expected)
    return Frame(mean, (vectors[:, kept] / np.sqrt(values[kept])).T @ standard)
