"""The spectrum of the features' covariance E[sigma(W x) sigma(W x)^T] after a giant step.

It is E_kappa[m m^T] + E_kappa[D W W^T D + R] in the terms of `giant_features` (Dandi et al. 2024, arXiv:2410.18938):
the first part gives a few outliers, functions of the coordinate along the spike that the network has learned; in the
second, the weights E[D_i D_j] of W W^T differ from neuron to neuron when the |a_i| differ, which stretches the bulk to
a long tail. With all |a_i| equal the bulk is a Marchenko-Pastur law, stretched and shifted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.theory.giant_features import Features

Complexes = NDArray[np.complex128]

_STEPS = 4000
_TOLERANCE = 1e-7
_HEIGHT = 1e-5  # above the real axis, over the mean eigenvalue
_NEGLIGIBLE = 1e-9


@dataclass(frozen=True)
class FeatureSpectrum:
    """The eigenvalues of the features' covariance, on `points`.

    Attributes:
        density: of the bulk, per eigenvalue.
        cumulative: the share of the p eigenvalues below each point, outliers included.
        converged: whether the fixed point was reached at each point.
    """

    points: Floats
    density: Floats
    cumulative: Floats
    converged: NDArray[np.bool_]


def feature_spectrum(features: Features, width: int, dim: int, points: Floats) -> FeatureSpectrum:
    """The spectrum at these eigenvalues (above zero) as p, d -> infinity in proportion; outliers at order 1/p.

    Statement: at z = x + i0, g = 1/(-z + E_kappa[R] + E_b[t_b D^T Q_b D]), Q_b = (C^{-1} + A_b)^{-1},
    (A_b)_kl = (p/d) E_neurons[g t_b D_k D_l], C the weights of the nodes, b the levels of the row profile; the density
    is Im E[g]/pi. The share below x is -Im phi/pi, with phi = log det/p: phi = -E[log g] + (d/p) E_b[log det(1 + C
    A_b)] - E[g E_b[t_b D^T Q_b D]] + log det(1 + C M)/p, M_kl = m_k^T G m_l. phi is stationary in g, so that its error
    is of second order in that of g.
    """
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 1 or not np.all(points > 0):
        raise InvalidParameter("points", points, "a one-dimensional array of eigenvalues above 0")
    residual = features.residuals @ features.node_weights
    rows = _Rows(_basis(features), features.neuron_weights, width / dim, features.profile.weights, features.spreads)
    height = _HEIGHT * float(rows.shares @ (residual + np.sum(rows.basis**2, axis=1)))
    diagonal, converged = _solve((points + 1j * height).astype(np.complex128), residual, rows)
    potential = rows.potential(diagonal) + _outlier_potential(diagonal, features, width, dim) / width
    density = (diagonal @ features.neuron_weights).imag / np.pi
    return FeatureSpectrum(points, density, -potential.imag / np.pi, converged)


@dataclass(frozen=True)
class _Rows:
    """What the rows of W enter with: e (T, rank), shares (T,), p/d, the profile's weights (L,) and spreads (L, T)."""

    basis: Floats
    shares: Floats
    ratio: float
    levels: Floats
    spreads: Floats

    def one_plus(self, diagonal: Complexes) -> Complexes:
        """1 + A_b in the basis e, (points, L, rank, rank)."""
        rank = self.basis.shape[1]
        products = (self.basis[:, :, None] * self.basis[:, None, :]).reshape(len(self.basis), -1)
        weighted = (diagonal * self.shares)[:, None, :] * self.spreads
        return np.eye(rank) + self.ratio * (weighted @ products).reshape(*weighted.shape[:2], rank, rank)

    def through(self, diagonal: Complexes) -> Complexes:
        """E_b[t_b D^T Q_b D] = E_b[t_b e^T (1 + A_b)^{-1} e], (points, T)."""
        turned = self.basis @ np.linalg.inv(self.one_plus(diagonal))
        return np.sum(self.levels[:, None] * self.spreads * np.sum(turned * self.basis, axis=3), axis=1)

    def potential(self, diagonal: Complexes) -> Complexes:
        """log det/p without the means, (points,)."""
        determinants = _log_determinant(self.one_plus(diagonal)) @ self.levels
        inner = (diagonal * self.through(diagonal)) @ self.shares
        return -np.log(diagonal) @ self.shares + determinants / self.ratio - inner


def _basis(features: Features) -> Floats:
    """e (T, rank) with e e^T = sum_k C_k D_k D_k^T: the D's are smooth in kappa, so that few columns suffice."""
    left, values, _ = np.linalg.svd(features.slopes * np.sqrt(features.node_weights), full_matrices=False)
    kept = values > _NEGLIGIBLE * values[0]
    return left[:, kept] * values[kept]


def _solve(points: Complexes, residual: Floats, rows: _Rows) -> tuple[Complexes, NDArray[np.bool_]]:
    """g (points, T) by damped iteration in the upper half plane, where the map is a contraction of its metric."""
    diagonal = np.repeat(-1 / points[:, None], residual.size, axis=1)
    active = np.arange(points.size)
    for _ in range(_STEPS):
        here = diagonal[active]
        after = 1 / (residual - points[active, None] + rows.through(here))
        change = np.max(np.abs(after / here - 1), axis=1)
        diagonal[active] = 0.5 * (here + after)
        active = active[change > _TOLERANCE]
        if active.size == 0:
            break
    converged = np.ones(points.size, dtype=bool)
    converged[active] = False
    return diagonal, converged


def _outlier_potential(diagonal: Complexes, features: Features, width: int, dim: int) -> Complexes:
    """log det(1 + C M), M from the means and from what differs between neurons of one type."""
    root = np.sqrt(features.node_weights)
    modes = [np.sqrt(width) * features.means, *(np.sqrt(width / dim) * mode for mode in features.fluctuations)]
    stacked = np.concatenate([mode * root for mode in modes])
    left = np.linalg.svd(stacked.T, full_matrices=False)
    kept = left[1] > _NEGLIGIBLE * left[1][0]
    reduced = (stacked @ left[0][:, kept]).reshape(len(modes), len(features.neuron_weights), -1)
    products = np.einsum("atj,atk->tjk", reduced, reduced)
    rank = products.shape[1]
    gram = ((diagonal * features.neuron_weights) @ products.reshape(len(products), -1)).reshape(-1, rank, rank)
    return _log_determinant(np.eye(rank) + gram)


def _log_determinant(matrices: Complexes) -> Complexes:
    """Of matrices with a positive semidefinite imaginary part: each eigenvalue has its argument in [0, pi]."""
    return np.sum(np.log(np.linalg.eigvals(matrices)), axis=-1)
