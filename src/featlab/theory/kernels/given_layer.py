"""Ridge regression on the features of a given first layer, on isotropic inputs, by samples that did not train it.

Statement: phi_i(x) = sigma(<w_i, x> + b_i) / sqrt(p), x ~ N(0, I_d), for any W (p, d) with rows of length s_i, and
c_ik = E[sigma(s_i z + b_i) h_k(z)]. By Mehler's formula the features have the covariance

    Sigma_ij = (1/p) sum_{k >= 1} c_ik c_jk (<w_i, w_j> / (s_i s_j))^k,    Sigma_ii = Var(sigma(s_i z + b_i)) / p,

and with a label y = sum_a t_a h_a(x_1..x_r) + noise, a over multi-indices, and m_i = (w_i1..w_ir) / s_i, the covariance

    b_i = p^{-1/2} sum_{k >= 1} c_ik sum_{|a| = k} sqrt(k!/a!) m_i^a t_a,

from which c_i1 <w_i, beta> / s_i is taken if <beta, x> is taken off the label. Given these moments, the risk of ridge
regression on n samples that W knows nothing of is that of Gaussian features which have them (Hastie et al. 2022; Cheng,
Montanari 2022; Ba et al. 2022): `ridge.given_weights_risk`, with all degrees in place of the first. With omega_j the
eigenvalues of Sigma, b_j along its eigenvectors, F_k = sum_j (omega_j/(omega_j + kappa))^k, lambda = kappa (1 - F_1/n),

    risk = [Var y - sum_j b_j^2 (omega_j + 2 kappa) / (omega_j + kappa)^2] / (1 - F_2/n),

and 1/n of it more for the mean of the label, which is fitted beside. Neglected: along the directions that W has found
features are not Gaussian. Where the leverage q = phi^T (Sigma + kappa)^{-1} phi of an input varies, and with it the
square of what is left of its label, u^2, that is to first orders Cov(q, u^2) / (n E[u^2]) + Var(q) / n^2 of the risk.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import NamedTuple

import numpy as np

from featlab.gaussian.activations import Activation
from featlab.gaussian.hermite import Floats, hermite_normalised_all, multi_indices
from featlab.theory.inverse_regression import Labelled
from featlab.theory.ridge import effective_ridge

# Of sigma, by a rule so fine that kinks wherever they are leave 1e-5; what is beyond counts on the diagonal.
_ORDERS, _REACH, _NODES = 24, 9.0, 1601
# By the number of directions: the highest degree of a label that is not counted as noise, and the nodes along each.
_MOST_DEGREE, _LABEL_NODES = {1: 12, 2: 10, 3: 8, 4: 6}, {1: 1601, 2: 401, 3: 61, 4: 21}


@dataclass(frozen=True, eq=False)
class HermiteLabel:
    """A label by its orthonormal Hermite coefficients.

    Attributes:
        rank: r, of directions that are the first axes.
        coefficients: t_a for |a| = 1, 2, .., each in the order of `multi_indices`.
        variance: of the label, with its noise and what is of a higher degree.
    """

    rank: int
    coefficients: tuple[Floats, ...]
    variance: float


class FeatureSpectrum(NamedTuple):
    """What ridge regression on given features depends on: omega_j and b_j^2 (p,), and the variance of the label."""

    values: Floats
    along: Floats
    variance: float

    def risk(self, samples: int, ridge: float) -> float:
        """E[(y - f)^2], label noise included: the statement of this module."""

        def freedom(kappa: float) -> float:
            return float(np.sum(self.values / (self.values + kappa)))

        kappa = effective_ridge(freedom, float(self.values.sum()), samples, ridge)
        beyond = self.values + kappa
        left = self.variance - float(np.sum(self.along * (beyond + kappa) / beyond**2))
        return left / (1 - float(np.sum((self.values / beyond) ** 2)) / samples) * (1 + 1 / samples)


def hermite_label(target: Labelled) -> HermiteLabel:
    """Of a target of up to four directions without noise inside its link, by the trapezoidal rule along each.

    For nodes h apart it is wrong by about (2 pi / h)^k exp(-2 pi^2 / h^2) for products of degree k, at most 1e-7 here;
    kinks of the link leave O(h^2).
    """
    rank = target.rank
    points, density = _normal_nodes(_LABEL_NODES[rank])
    fields = np.stack(np.meshgrid(*[points] * rank, indexing="ij"), axis=-1).reshape(-1, rank)
    found = target.link(fields).reshape([len(points)] * rank)
    squares, most = found**2, _MOST_DEGREE[rank]
    table = hermite_normalised_all(most, points) * density
    for _ in range(rank):  # one axis after the other is integrated over, and goes to the end
        found, squares = np.tensordot(found, table, (0, 1)), np.tensordot(squares, density, (0, 0))
    degrees = [multi_indices(rank, degree) for degree in range(1, most + 1)]
    variance = float(squares - found[(0,) * rank] ** 2) + target.noise
    return HermiteLabel(rank, tuple(found[tuple(index.T)] for index in degrees), variance)


def _normal_nodes(count: int) -> tuple[Floats, Floats]:
    """Points and weights of the trapezoidal rule for N(0, 1)."""
    points = np.linspace(-_REACH, _REACH, count)
    return points, np.exp(-(points**2) / 2) / np.sqrt(2 * np.pi) * (points[1] - points[0])


def feature_spectrum(
    sigma: Activation, weights: Floats, biases: Floats, label: HermiteLabel, slope: Floats
) -> FeatureSpectrum:
    """The features of W (p, d) and b (p,), and a label off which <slope, x> (d,) is taken."""
    width, rank = len(weights), label.rank
    sizes = np.linalg.norm(weights, axis=1)
    units = weights / np.where(sizes > 0, sizes, 1)[:, None]  # a row of zeros has c_ik = 0
    points, density = _normal_nodes(_NODES)
    fields = sigma.value(sizes[:, None] * points + biases[:, None])
    table = fields @ (hermite_normalised_all(_ORDERS, points) * density).T  # c_ik
    cosines, power, covariance = units @ units.T, np.ones((width, width)), np.zeros((width, width))
    for column in table.T[1:]:
        power *= cosines
        covariance += column[:, None] * power * column
    covariance[np.diag_indices(width)] = (fields - table[:, :1]) ** 2 @ density
    moment = -table[:, 1] * (units @ slope)
    for degree, found in enumerate(label.coefficients, start=1):
        moment += table[:, degree] * (_monomials(units[:, :rank], degree) @ found)
    values, vectors = np.linalg.eigh(covariance / width)
    variance = label.variance - 2 * float(label.coefficients[0] @ slope[:rank]) + float(slope @ slope)
    return FeatureSpectrum(np.maximum(values, 0), (vectors.T @ moment) ** 2 / width, variance)


def _monomials(cosines: Floats, degree: int) -> Floats:
    """E[h_a(x) h_k(<m, x>)] = sqrt(k!/a!) m^a for |a| = k, m on the first axes: (p, r) to (p, count)."""
    found = []
    for index in multi_indices(cosines.shape[1], degree):
        scale = np.sqrt(factorial(degree) / np.prod([float(factorial(order)) for order in index]))
        found.append(scale * np.prod(cosines**index, axis=1))
    return np.stack(found, axis=1)
