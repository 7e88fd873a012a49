"""The spectrum of the features' covariance after a giant step, of the population or of n samples.

It is that of E_kappa[m m^T] + E_kappa[D W W^T D + R] in the terms of `giant.features` (Dandi et al. 2024,
arXiv:2410.18938). The first part gives a few outliers, functions of the coordinate along the spike that the network has
learned. In the second the weights E[D_i D_j] of W W^T and the rest R_i differ from neuron to neuron when the |a_i|
differ, which stretches the bulk to a long tail. With all |a_i| equal and n >> d in the first step, the bulk of the
population is a Marchenko-Pastur law, stretched and shifted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.theory.giant.features import Features

Complexes = NDArray[np.complexfloating[Any, Any]]

_STEPS = 4000
_TOLERANCE = 1e-7
_HEIGHT = 1e-5  # above the real axis, over the mean eigenvalue
_NEGLIGIBLE = 1e-7


@dataclass(frozen=True)
class FeatureSpectrum:
    """The p eigenvalues of the features' covariance, on `points`.

    Attributes:
        density: of the bulk, per eigenvalue.
        cumulative: the share of the eigenvalues below each point, outliers included.
        converged: whether the fixed point was reached at each point.
    """

    points: Floats
    density: Floats
    cumulative: Floats
    converged: NDArray[np.bool_]


def feature_spectrum(
    features: Features, width: int, dim: int, points: Floats, samples: int | None = None
) -> FeatureSpectrum:
    """The spectrum at these eigenvalues (above zero), with p, d (and n) in proportion; outliers at order 1/p.

    Statement: at z = x + i0, with V_k = tr[S_k G]/n as in `giant.ridge` (0 for the population) and c_k = weight_k/(1 +
    V_k), g = 1/(-z + sum_k c_k R_k + E_b[t_b D^T Q_b D]), Q_b = (C^{-1} + A_b)^{-1}, (A_b)_kl = (p/d) E_neurons[g t_b
    D_k D_l]; the density is Im E[g]/pi. The share below x is -Im phi/pi with phi the mean logarithm of the eigenvalues
    less z,

    phi = -E[log g] + (d/p) E_b[log det(1 + C A_b)] - E[g E_b[t_b D^T Q_b D]] + log det(1 + C M)/p
          + (n/p) sum_k weight_k (log(1 + V_k) - V_k/(1 + V_k)),

    M_kl = m_k^T G m_l. phi is stationary in g and V, so that its error is of second order in theirs.

    Source: Dandi et al. 2024, arXiv:2410.18938.

    Args:
        samples: n, for the eigenvalues of (1/n) sum_j phi_j phi_j^T; None, of the population's covariance.

    Raises:
        InvalidParameter: points that are not above zero.

    Examples:
        >>> import numpy as np
        >>> from featlab.gaussian import activation
        >>> from featlab.theory import feature_spectrum
        >>> from featlab.theory.giant.features import Neurons, untrained_features
        >>> one = Neurons(second=np.ones(1), biases=np.zeros(1), weights=np.ones(1))
        >>> features = untrained_features(activation("erf"), one, 1.0, varying_norm=False)
        >>> found = feature_spectrum(features, width=300, dim=1000, points=np.array([0.2, 0.4]))
        >>> found.cumulative.round(2).tolist(), found.converged.tolist()
        ([0.12, 0.47], [True, True])
    """
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 1 or not np.all(points > 0):
        raise InvalidParameter("points", points, "a one-dimensional array of eigenvalues above 0")
    model = _Model.of(features, width, dim, samples)
    height = _HEIGHT * float(
        features.neuron_weights @ (features.residuals + features.slopes**2) @ features.node_weights
    )
    diagonal, leverage, converged = _solve(model, points + 1j * height)
    potential = model.potential(diagonal, leverage)
    density, below = (
        np.asarray(part.imag / np.pi, dtype=np.float64) for part in (diagonal @ features.neuron_weights, -potential)
    )
    return FeatureSpectrum(points, density, below, converged)


@dataclass(frozen=True, eq=False)
class _Model:
    """The equations on types of neurons (T,), nodes (K,), levels (L,), and a basis in which D has few columns.

    D_k sqrt(weight_k) = e f_k: the D's are smooth in kappa, so that e (T, rank) and orthonormal rows f (rank, K) do.
    """

    features: Features
    width: int
    dim: int
    samples: int | None
    right: Floats  # f (rank, K)
    products: Floats  # e_j e_k (T, rank^2)

    @classmethod
    def of(cls, features: Features, width: int, dim: int, samples: int | None) -> _Model:
        weighted = features.slopes * np.sqrt(features.node_weights)
        left, values, right = np.linalg.svd(weighted, full_matrices=False)
        kept = values > _NEGLIGIBLE * values[0]
        basis = left[:, kept] * values[kept]
        products = (basis[:, :, None] * basis[:, None, :]).reshape(len(basis), -1)
        return cls(features, width, dim, samples, right[kept], products)

    def inner(self, diagonal: Complexes, leverage: Complexes) -> tuple[Complexes, Complexes]:
        """A_b (points, L, rank, rank) and the inverse of Phi = f (1 + V)^{-1} f^T (points, 1, rank, rank)."""
        rank = len(self.right)
        weighted = (diagonal * self.features.neuron_weights)[:, None, :] * self.features.spreads
        along = self.width / self.dim * (weighted @ self.products).reshape(*weighted.shape[:2], rank, rank)
        mixed = (self.right / (1 + leverage)[:, None, :]) @ self.right.T
        return along, np.linalg.inv(mixed)[:, None]

    def through(self, turned: Complexes) -> Complexes:
        """E_b[t_b D^T Q_b D] = E_b[t_b e^T (Phi^{-1} + A_b)^{-1} e] (points, T), from (Phi^{-1} + A_b)^{-1}."""
        rank = len(self.right)
        forms = turned.reshape(*turned.shape[:2], rank * rank) @ self.products.T
        return np.einsum("l,lt,zlt->zt", self.features.profile.weights, self.features.spreads, forms)

    def iterate(self, points: Complexes, diagonal: Complexes, leverage: Complexes) -> tuple[Complexes, Complexes]:
        """The right-hand sides of the equations for g (points, T) and V (points, K)."""
        along, inverse = self.inner(diagonal, leverage)
        turned = np.linalg.inv(inverse + along)
        base = (self.features.node_weights / (1 + leverage)) @ self.features.residuals.T
        after = 1 / (base - points[:, None] + self.through(turned))
        if self.samples is None:
            return after, leverage
        # D_k^T G D_k over columns of W: (A^{-1} + Phi)^{-1} = Phi^{-1} - Phi^{-1} (Phi^{-1} + A)^{-1} Phi^{-1}.
        reached = np.einsum("l,zlij->zij", self.features.profile.weights, inverse - inverse @ turned @ inverse)
        columns = self.right / np.sqrt(self.features.node_weights)
        traces = np.sum(columns * (reached @ columns), axis=1)
        weighted = diagonal * self.features.neuron_weights
        return after, (self.width * weighted @ self.features.residuals + self.dim * traces) / self.samples

    def potential(self, diagonal: Complexes, leverage: Complexes) -> Complexes:
        """phi (points,). Every logarithm is taken of what stays in one half plane."""
        shares, levels = self.features.neuron_weights, self.features.profile.weights
        along, inverse = self.inner(diagonal, leverage)
        through = self.through(np.linalg.inv(inverse + along))
        determinants = (_log_determinant(inverse + along) - _log_determinant(inverse)) @ levels
        found = -np.log(diagonal) @ shares + self.dim / self.width * determinants - (diagonal * through) @ shares
        found = found + self._means(diagonal, leverage) / self.width
        if self.samples is not None:
            gain = np.log(1 + leverage) - leverage / (1 + leverage)
            found = found + self.samples / self.width * gain @ self.features.node_weights
        return found

    def _means(self, diagonal: Complexes, leverage: Complexes) -> Complexes:
        """log det(1 + C M), M from the means and from what differs between neurons of one type."""
        root = np.sqrt(self.features.node_weights)
        modes = [np.sqrt(self.width) * self.features.means]
        modes += [np.sqrt(self.width / self.dim) * mode for mode in self.features.fluctuations]
        stacked = np.array([mode * root for mode in modes])
        if not stacked.any():
            return np.zeros(len(diagonal), dtype=np.complex128)
        basis, sizes, _ = np.linalg.svd(stacked.reshape(-1, root.size).T, full_matrices=False)
        columns = basis[:, sizes > _NEGLIGIBLE * sizes[0]]
        reduced = stacked @ columns
        products = np.einsum("atj,atk->tjk", reduced, reduced)
        rank = products.shape[1]
        weighted = diagonal * self.features.neuron_weights
        gram = (weighted @ products.reshape(len(products), -1)).reshape(-1, rank, rank)
        mixed = np.linalg.inv((columns.T / (1 + leverage)[:, None, :]) @ columns)
        return _log_determinant(mixed + gram) - _log_determinant(mixed)


def _solve(model: _Model, points: Complexes) -> tuple[Complexes, Complexes, NDArray[np.bool_]]:
    """g and V by damped iteration in the upper half plane, where the map is a contraction of its metric."""
    diagonal = np.repeat(-1 / points[:, None], model.features.neuron_weights.size, axis=1)
    leverage = np.zeros((points.size, model.features.nodes.size), dtype=np.complex128)
    active = np.arange(points.size)
    for _ in range(_STEPS):
        here, lifted = diagonal[active], leverage[active]
        after, next_lifted = model.iterate(points[active], here, lifted)
        change = np.max(np.abs(after / here - 1), axis=1)
        diagonal[active], leverage[active] = 0.5 * (here + after), 0.5 * (lifted + next_lifted)
        active = active[change > _TOLERANCE]
        if active.size == 0:
            break
    converged = np.ones(points.size, dtype=bool)
    converged[active] = False
    return diagonal, leverage, converged


def _log_determinant(matrices: Complexes) -> Complexes:
    """Of matrices with a positive semidefinite imaginary part: each eigenvalue has its argument in [0, pi]."""
    return np.sum(np.log(np.linalg.eigvals(matrices)), axis=-1)
