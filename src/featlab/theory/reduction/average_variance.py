"""The leading eigenvectors of SAVE's matrix sum_s p (I - C_s)^2 at n = alpha d samples, S slices of n / S each.

Statement, derived here: let p = 1/S and gamma = d S / n. The block matrix with first row (z, sqrt(p) (I - C_1), ...,
sqrt(p) (I - C_S)), the same first column, and I elsewhere on the diagonal has (z - sum_s p (I - C_s)^2)^-1 in its
corner, and is linear in the independent Wishart matrices C_s: a sample of slice s enters by K = -sqrt(p) [[0, 1],
[1, 0]] on rows 0 and s. Its mean resolvent on a bulk coordinate, by symmetry u in the corner, g on (0, s) and h on
(s, s), is that of the matrix in which C_s is replaced by T = (K^-1 + gamma [[u, g], [g, h]])^-1 (Helton, Rashidi Far,
Speicher 2007, for Wishart blocks). With c = 1/sqrt(p) - gamma g and Delta = gamma^2 u h - c^2,

    T = [[gamma h, c], [c, gamma u]] / Delta,    b = (sqrt(p) + T_01) / (1 + T_11),
    g = -u b,    h = 1 / (1 + T_11) + u b^2,    z = 1/u - S T_00 + S (sqrt(p) + T_01) b.

On the target's directions a slice has the covariance V_s in the place of I (slice means are subtracted), so there

    B = sum_s (sqrt(p) + T_01 V_s)^2 (I + T_11 V_s)^-1 - T_00 sum_s V_s,

and `outliers` says the rest. As alpha -> infinity B becomes sum_s p (I - V_s)^2. The matrix is bounded: there is an
edge and a threshold, for any labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.theory.reduction.outliers import Outliers, outliers

_TOLERANCE = 1e-13
_ITERATIONS = 20_000


@dataclass(frozen=True, eq=False)
class SlicedBulk:
    """z and B of SAVE's matrix.

    Attributes:
        covariances: V_s (S, r, r) of the target's directions.
        ratio: gamma = d S / n.
    """

    covariances: Floats
    ratio: float
    largest: float = inf

    @property
    def slices(self) -> int:
        """S."""
        return len(self.covariances)

    @property
    def typical(self) -> float:
        """An eigenvalue is at most of the size of (1 + sqrt(gamma))^4."""
        return float((1 + np.sqrt(self.ratio)) ** -4)

    def value(self, u: float) -> float:
        """z(u)."""
        (inner, outer, _), _, drift = self._dressed(u)
        root = self.slices**-0.5
        return float(1 / u - self.slices * inner + self.slices * (root + outer) * drift)

    def block(self, u: float) -> Floats:
        """B(u)."""
        (inner, outer, last), _, _ = self._dressed(u)
        eye = np.eye(self.covariances.shape[1])
        side = self.slices**-0.5 * eye + outer * self.covariances
        return np.sum(side @ np.linalg.solve(eye + last * self.covariances, side) - inner * self.covariances, axis=0)

    def _dressed(self, u: float) -> tuple[tuple[float, float, float], float, float]:
        """T_00, T_01 and T_11; h; and b: the fixed point, from u = 0 on; NaN where there is none."""
        root, ratio = self.slices**-0.5, self.ratio
        drift, last = 0.0, 1.0
        for _ in range(_ITERATIONS):
            side = 1 / root + ratio * u * drift
            determinant = ratio**2 * u * last - side**2
            new = (root * determinant + side) / (determinant + ratio * u)
            newer = determinant / (determinant + ratio * u) + u * new**2
            if abs(new - drift) + abs(newer - last) < _TOLERANCE * abs(newer):
                return (ratio * last / determinant, side / determinant, ratio * u / determinant), newer, new
            drift, last = new, newer
            if not abs(last) < 1 / _TOLERANCE:
                break
        return (nan, nan, nan), nan, nan


def save_outliers(covariances: Floats, alpha: float) -> Outliers:
    """What stands above the bulk of SAVE's matrix, for the covariances V_s (S, r, r) of the slices."""
    return outliers(SlicedBulk(covariances, len(covariances) / alpha))
