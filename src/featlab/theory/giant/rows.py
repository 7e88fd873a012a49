"""Along which directions each neuron's own gradient lies: not all of R^d alike.

Beyond the common spike, neuron i adds (gamma a_i/n) sum_j eps_j s_ij x_j with s_ij = sigma'(w_i x_j) - E[sigma']. Over
neurons this is Gaussian with covariance proportional to B = (1/n) sum_j eps_j^2 x_j x_j^T / E[eps^2]: the *same* batch
makes it for all neurons, so that some directions get more than others unless n >> d. Its eigenvalues follow a compound
free Poisson law (Marchenko, Pastur 1967).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.targets import Target
from featlab.theory.spikes import label_grid

_LEVELS = 3


@dataclass(frozen=True)
class RowProfile:
    """The law of the eigenvalues of B, of mean one, as a rule: levels (L,) with weights (L,)."""

    levels: Floats
    weights: Floats


EVEN = RowProfile(np.ones(1), np.ones(1))


def row_profile(target: Target, offset: float, sample_ratio: float) -> RowProfile:
    """The law of B for residual labels eps = y - offset and n/d = psi1, as a Gauss rule of three levels.

    Statement: the free cumulants of B are E[eps^{2m}]/E[eps^2]^m psi1^{1-m}; the rule has its moments up to the fifth.
    """
    squares = _even_moments(target, offset, 2 * _LEVELS - 1)
    orders = np.arange(1, 2 * _LEVELS)
    cumulants = squares[1:] / squares[1] ** orders * sample_ratio ** (1.0 - orders)
    return _gauss_rule(moments_of_free_cumulants(cumulants))


def moments_of_free_cumulants(cumulants: Floats) -> Floats:
    """m_0 = 1, m_1, ..., from m_n = sum_s kappa_s [z^{n-s}] M(z)^s, M(z) = sum m_k z^k (Speicher 1994)."""
    count = len(cumulants)
    moments = np.zeros(count + 1)
    moments[0] = 1.0
    for order in range(1, count + 1):
        power = np.ones(1)
        for size in range(1, order + 1):
            power = np.convolve(power, moments[:order])[:order]
            moments[order] += cumulants[size - 1] * power[order - size]
    return moments


def _gauss_rule(moments: Floats) -> RowProfile:
    """The Gauss rule with moments m_0..m_{2L-1}: its nodes are the eigenvalues of multiplication by x, truncated."""
    size = len(moments) // 2
    indices = np.add.outer(np.arange(size), np.arange(size))
    scales = moments[1] ** -indices.astype(float)
    hankel, shifted = moments[indices] * scales, moments[indices + 1] * scales
    root = np.linalg.cholesky(hankel)
    multiplication = np.linalg.solve(root, np.linalg.solve(root, shifted).T)
    levels, vectors = np.linalg.eigh(0.5 * (multiplication + multiplication.T))
    return RowProfile(levels, vectors[0] ** 2)


def _even_moments(target: Target, offset: float, count: int) -> Floats:
    """E[(y - offset)^{2m}] for m = 0..count, the additive noise included by the binomial theorem."""
    grid = label_grid(target)
    clean = grid.labels - offset

    def moment(order: int) -> float:
        terms = (
            comb(order, even) * float(grid.weights @ clean ** (order - even)) * _normal_moment(even, target.noise)
            for even in range(0, order + 1, 2)
        )
        return sum(terms)

    return np.array([moment(2 * m) for m in range(count + 1)])


def _normal_moment(order: int, variance: float) -> float:
    """E[z^order] for z ~ N(0, variance), even order."""
    return variance ** (order // 2) * factorial(order) / (2 ** (order // 2) * factorial(order // 2))
