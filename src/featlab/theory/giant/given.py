"""Ridge regression on sigma(W x + b) for *given* weights W that share one direction v: the conditional equivalent.

Given kappa = <x, v>, the field of neuron i is <w_i, v> kappa + b_i + omega_i g_i with omega_i = |w_i - <w_i, v> v| and
jointly Gaussian g of correlations <w_i, w_j>_perp / (omega_i omega_j). Its feature is equivalent to m_i + D_i g_i +
R_i^{1/2} xi_i with m = E sigma, D = E[sigma z], R = E[sigma^2] - m^2 - D^2 (Cui et al. 2024, arXiv:2402.04980, with W
in place of its law; `giant.ridge` is the limit). With phi = features/sqrt(p), S(kappa) = E[phi phi^T | kappa] and
c(kappa) = E[y phi | kappa], the ridge estimator of (1/n)|y - Phi a|^2 + lambda |a|^2 obeys as n, p, d grow together

    V(kappa) = tr[Cov(phi | kappa) G]/n,     G = (lambda + E[S/(1 + V)])^{-1},     a_bar = G E[c/(1 + V)],
    N(kappa) = E[y^2 | kappa] - 2 c.a_bar + a_bar.S a_bar + tr[S C],    C = G E[N S/(1 + V)^2] G/n,

and the risk is E[N]. Derivation: leaving sample i out, its residual is (y_i - phi_i.a_{-i})/(1 + V), and lambda a is
the mean of phi times the residual; take its mean for a_bar and its variance for C, which makes N a linear system.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featlab.analysis.subspaces import complement
from featlab.gaussian.activations import Activation
from featlab.gaussian.activations_integrals import field_moments
from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import gauss_pieces
from featlab.learners.checks import positive_integer, positive_number
from featlab.targets import Target
from featlab.theory.giant.labels import LabelsGivenSpike, conditional_labels
from featlab.theory.giant.ridge import RidgeRisk

_MOST_STEPS = 500
_TOLERANCE = 1e-10


@dataclass(frozen=True)
class GivenFeatures:
    """Second moments of the features, and their moments with the label, on nodes of kappa.

    Attributes:
        weights: of the nodes (K,).
        covariances: Cov(phi | kappa), (K, p, p). means: E[phi | kappa], (K, p).
        products: E[y phi | kappa], (K, p). squares: E[y^2 | kappa], (K,).
    """

    weights: Floats
    covariances: Floats
    means: Floats
    products: Floats
    squares: Floats


def given_features(
    target: Target, activation: Activation, weights: Floats, biases: Floats, direction: Floats, *, nodes: int = 24
) -> GivenFeatures:
    """The equivalent of the features of W (p, d), whose first r coordinates are the target's directions, given the
    coordinate along the unit vector `direction` (d,): after a step, that of the common gradient X^T y.

    `nodes` for kappa; memory and time are `nodes` p^2 and `nodes` p^3.
    """
    places, node_weights = gauss_pieces((), nodes)
    inside = direction[: target.rank]
    cosine = float(np.linalg.norm(inside))
    axis = inside / cosine if cosine > 0 else np.eye(target.rank)[0]
    labels = conditional_labels(target, axis, cosine, places)
    along = weights @ direction
    across = weights - np.outer(along, direction)
    sizes = np.linalg.norm(across, axis=1)
    shifts = along[:, None] * places + biases[:, None]
    mean, slope, _, square = field_moments(activation.value, activation.kinks, shifts, sizes[:, None])
    units = across / sizes[:, None]
    residual = square - mean**2 - slope**2
    width = len(weights)
    covariances = slope.T[:, :, None] * slope.T[:, None, :] * (units @ units.T) / width
    covariances[:, np.arange(width), np.arange(width)] += residual.T / width
    tilt = units @ _linear_vectors(labels, axis, cosine, direction)
    products = (mean * labels.mean + slope * tilt).T / np.sqrt(width)
    return GivenFeatures(node_weights, covariances, mean.T / np.sqrt(width), products, labels.square)


def given_ridge_risk(features: GivenFeatures, samples: int, ridge: float) -> RidgeRisk:
    """E[(y - f)^2] (label noise included) of ridge regression on `samples` fresh samples at lambda = `ridge`.

    Source: Cui et al. 2024, arXiv:2402.04980, with the given weights in place of their law; the statement and its
    derivation are those of this module. NaN where the fixed point was not reached.

    Raises:
        InvalidParameter: no samples, or a ridge that is not above 0.

    Examples:
        >>> import numpy as np
        >>> from featlab import target
        >>> from featlab.gaussian import activation
        >>> from featlab.theory import given_ridge_risk
        >>> from featlab.theory.giant.given import given_features
        >>> weights = np.random.default_rng(0).standard_normal((20, 10)) / np.sqrt(10)
        >>> features = given_features(target("tanh(h1)"), activation("tanh"), weights, np.zeros(20), np.eye(10)[0])
        >>> [round(given_ridge_risk(features, samples=n, ridge=1e-3).risk, 3) for n in (50, 1000)]
        [0.07, 0.054]
    """
    samples, ridge = positive_integer("samples", samples), positive_number("ridge", ridge)
    moments = features.covariances + features.means[:, :, None] * features.means[:, None, :]
    shrink, inverse, converged = _resolvent(features, moments, samples, ridge)
    estimate = inverse @ np.tensordot(features.weights / shrink, features.products, 1)
    plain = features.squares - 2 * features.products @ estimate + moments @ estimate @ estimate
    carried = moments @ inverse
    # tr[S G S' G]: how much of the error at one node is carried to another.
    coupling = np.einsum("kij,lji->kl", carried, carried, optimize=True)
    system = np.eye(len(plain)) - coupling * (features.weights / shrink**2) / samples
    return RidgeRisk(float(features.weights @ np.linalg.solve(system, plain)) if converged else np.nan)


def _resolvent(features: GivenFeatures, moments: Floats, samples: int, ridge: float) -> tuple[Floats, Floats, bool]:
    """1 + V on the nodes, G, and whether the iteration for them converged. It falls monotonically from above."""
    traces = np.trace(features.covariances, axis1=1, axis2=2)
    shrink = 1 + traces / (samples * ridge)
    inverse: Floats = np.eye(moments.shape[1])
    for _ in range(_MOST_STEPS):
        mixture = np.tensordot(features.weights / shrink, moments, 1)
        inverse = np.asarray(np.linalg.inv(mixture + ridge * np.eye(len(mixture))), dtype=np.float64)
        new = 1 + np.einsum("kij,ji->k", features.covariances, inverse) / samples
        moved = float(np.max(np.abs(new / shrink - 1)))
        shrink = new
        if moved < _TOLERANCE:
            return shrink, inverse, True
    return shrink, inverse, False


def _linear_vectors(labels: LabelsGivenSpike, axis: Floats, cosine: float, direction: Floats) -> Floats:
    """E[y x_perp | kappa] as columns in R^d, (d, K): its unit vectors are those of `conditional_labels`."""
    rank, spread = axis.size, float(np.sqrt(max(0.0, 1 - cosine**2)))
    others = np.zeros((direction.size, rank))
    others[:rank, 0] = axis
    others[:, 0] = (others[:, 0] - cosine * direction) / spread if spread > 0 else 0.0
    others[:rank, 1:] = complement(axis[:, None])
    return others @ labels.linear.T
