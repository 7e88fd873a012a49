"""What no second layer can explain: floors of the risk when some directions are known and the rest is a low degree.

Statement: let x = P_U h be the components of the target's directions on a known subspace U, and z the rest. A second
layer on top of it fits at best P_{U,<=k} f, the part of f that is a polynomial of degree <= k in z with coefficients
that are any functions of x. What remains is

    ||P_{U,>k} f||^2 = Var f - sum over |b| <= k of E_x[ E[f h_b(z) | x]^2 ] + E[f]^2,

with h_b the orthonormal Hermite polynomials. Its cases:

    U = {0}   ||P_{>k} f||^2       kernels and random features on n ~ d^k samples (Mei et al. 2022)
    k = 0     E Var(f | P_U x)     a student of finite width that has found U (Dandi et al. 2023)
    both      ||P_{U,>k} f||^2     width d^k, n >= d^k samples, U found (Dandi et al. 2023; k > 1 is conjectured)

Noise inside the link (xi) is never explained and counts; additive label noise does not, so that a risk E[(y - f)^2]
is at least this plus `target.noise`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from featlab.analysis.energies import hermite_energies
from featlab.analysis.grids import build_grids
from featlab.analysis.levels import ROUNDING
from featlab.analysis.residuals import explained_variance
from featlab.analysis.subspaces import readable_basis
from featlab.analysis.verdict import check_size
from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.targets import Target
from featlab.targets import target as make_target

_INDEPENDENT = 1e-9


@dataclass(frozen=True)
class Floor:
    """A variance that cannot be explained.

    Attributes:
        value: ||P_{U,>k} f||^2, within `error` of it.
        error: its numerical error: the difference between two quadratures, or rounding.
        variance: Var f, all there is to explain.

    Examples:
        >>> from featlab.theory import unexplained_variance
        >>> round(unexplained_variance("h1 + He2(h2)").variance, 6)
        3.0
    """

    value: float
    error: float
    variance: float

    @property
    def share(self) -> float:
        """The value as a share of the variance."""
        return self.value / self.variance


def unexplained_variance(target: Target | str, known: ArrayLike | None = None, degree: int = 0) -> Floor:
    """||P_{U,>degree} f||^2: the floor of the risk once the directions `known` are known exactly.

    Source: Mei et al. 2022 for kernels, Dandi et al. 2023 for a trained first layer; k > 1 there is conjectured.

    Args:
        target: a `Target` of at most four directions, or its text.
        known: vectors that span U, one in each row, in the coordinates h1..hr; None, nothing is known.
        degree: k, the degree in the other directions of what is fitted besides; 0, nothing.

    Raises:
        InvalidParameter: vectors of another length, dependent vectors, a negative degree.

    Examples:
        >>> from featlab.theory import unexplained_variance
        >>> round(unexplained_variance("h1 + He2(h2)", known=[[1, 0]]).value, 6)  # Var He2 = 2 is left
        2.0
    """
    of = make_target(target)
    check_size(of)
    if isinstance(degree, bool) or not isinstance(degree, int) or degree < 0:
        raise InvalidParameter("degree", degree, "a whole number, at least 0")
    subspace = _columns(known, of.rank)
    grids = build_grids(of)
    energies = hermite_energies(grids, degree)
    fine, coarse = (explained_variance(of, energies, subspace, degree, fewer)[degree] for fewer in (0, 1))
    # The variance comes from the grids, what is explained of it mostly from other rules.
    total_error = abs(grids.fine.variance - grids.coarse.variance)
    error = total_error + float(abs(fine - coarse)) + ROUNDING * energies.variance
    return Floor(float(energies.variance - fine), error, energies.variance)


def _columns(known: ArrayLike | None, rank: int) -> Floats:
    """Orthonormal columns that span the rows of `known`."""
    rows = np.zeros((0, rank)) if known is None else np.atleast_2d(np.asarray(known, dtype=np.float64))
    if rows.ndim != 2 or rows.shape[1] != rank or not np.all(np.isfinite(rows)):
        raise InvalidParameter("known", known, f"vectors of {rank} finite numbers, one in each row, in h1..h{rank}")
    if not len(rows):
        return np.zeros((rank, 0))
    sizes = np.linalg.svd(rows, compute_uv=False)
    if len(rows) > rank or sizes[-1] < _INDEPENDENT * sizes[0] or sizes[0] == 0:
        raise InvalidParameter("known", known, "linearly independent vectors")
    return readable_basis(rows.T, len(rows))
