"""Ridge regression on the conditional Gaussian equivalent of `giant.features`, with n, p and d in proportion.

With a = sqrt(p) alpha the fit is min (1/n) |y - sigma alpha|^2 + p lambda |alpha|^2. Given kappa, a feature vector has
mean m(kappa), which is large (norm sqrt(p)), and covariance S(kappa) = D W W^T D + R with D and R diagonal in the
neurons. The deterministic equivalent of ridge regression with samples of different covariance (Louart, Couillet 2018;
the replica computation of Cui et al. 2024 is the case of equal neurons) is the *weighted population* problem

    min over alpha of E_kappa[ E[(y - <alpha, phi>)^2 | kappa] / (1 + V(kappa)) ] + p lambda |alpha|^2,

V(kappa) = tr[S(kappa) G]/n, G = (p lambda + E[S/(1 + V)])^{-1}, plus the spread of alpha from sample to sample, which
adds tr[S(kappa) G E[N S/(1 + V)^2] G]/n to the risk N(kappa). All traces follow from the diagonal g of G:

    g = 1/(p lambda + sum_k c_k R_k + E_b[t_b D^T Q_b D]),  Q_b = (C^{-1} + A_b)^{-1},
    (A_b)_kl = (p/d) E_neurons[g t_b D_k D_l],

with c_k = weight_k/(1 + V_k) on the nodes, C = diag(c), b the levels of the row profile and t_b the variance of W there
(rows of W are independent: a Schur complement for each neuron); derivatives by c give the traces with two G. The means
enter through the K x K matrix M_kl = m_k^T G m_l, with p kept finite: the functions of kappa that the p neurons offer
have weights that fall off exponentially, and ridge regression resolves those above p lambda.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.learners.checks import positive_number
from featlab.theory.giant.features import Features
from featlab.theory.giant.labels import LabelsGivenSpike

_INNER_STEPS = 20_000
_NEWTON_STEPS = 200
_INNER_TOLERANCE = 1e-13
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Sizes:
    """The numbers of samples n, neurons p and inputs d. Only their ratios matter, and p for the large means."""

    samples: int
    width: int
    dim: int


@dataclass(frozen=True)
class RidgeRisk:
    """E[(y - f)^2] of the fitted network, label noise included; NaN if the equations were not solved."""

    risk: float

    @property
    def converged(self) -> bool:
        """Whether they were."""
        return bool(np.isfinite(self.risk))


@dataclass(frozen=True)
class _Resolvent:
    """G at given node weights c, on types of neurons (T,) and nodes (K,)."""

    diagonal: Floats  # g (T,)
    mixing: Floats  # Y = (1 + C A)^{-1} at each level, (L, K, K)
    along: Floats  # X = A (1 + C A)^{-1}: w^T D_k G D_l w for a column w of W on directions of that level, (L, K, K)
    derivative: Floats  # dg/dc (T, K)
    converged: bool


def ridge_risk(features: Features, labels: LabelsGivenSpike, sizes: Sizes, ridge: float) -> RidgeRisk:
    """The risk at ridge lambda, in the convention of `featlab.learners.Readout`.

    V = tr[S(V) G]/n is solved by Newton's method from above, V = tr[S]/(n p lambda), where the equation is convex
    and its Jacobian an M-matrix, so that the iterates descend to the solution.
    """
    penalty = sizes.width * positive_number("ridge", ridge)
    shares, identity = features.node_weights, np.eye(features.nodes.size)
    energies = features.neuron_weights @ (features.residuals + features.slopes**2)
    leverage = sizes.width / sizes.samples * energies / penalty
    start: Floats = np.full(features.neuron_weights.shape, 1 / penalty)
    for _ in range(_NEWTON_STEPS):
        weights = shares / (1 + leverage)
        resolvent = _resolvent(features, sizes, penalty, weights, start)
        start = resolvent.diagonal
        miss = leverage - _leverage(features, sizes, resolvent)
        response = _double_traces(features, sizes, resolvent) * (shares / (1 + leverage) ** 2)
        if not resolvent.converged or np.max(np.abs(miss) / (1 + leverage)) < _TOLERANCE:
            break
        leverage = leverage - np.linalg.solve(identity - response, miss)
    else:
        resolvent = None
    if resolvent is None or not resolvent.converged:
        return RidgeRisk(np.nan)
    error = _population_fit(features, labels, sizes, resolvent, weights)
    return RidgeRisk(float(shares @ np.linalg.solve(identity - response, error)))


def _resolvent(features: Features, sizes: Sizes, penalty: float, weights: Floats, start: Floats) -> _Resolvent:
    """The fixed point g at node weights c, by iteration of a monotone map, and its derivative by c.

    With dg = -g^2 (sum_l B_l dc_l - (p/d) E'[E_b[t_b t'_b (D^T Q_b D')^2] dg']), B_l = R_l + E_b[t_b (D^T Y_b)_l^2]:
    one linear system of size T.
    """
    ratio, shares, slopes = sizes.width / sizes.dim, features.neuron_weights, features.slopes
    levels, spreads = features.profile.weights, features.spreads
    base = penalty + features.residuals @ weights
    identity, diagonal, converged = np.eye(weights.size), start, False
    for _ in range(_INNER_STEPS):
        along = ratio * (slopes.T * (shares * diagonal * spreads)[:, None, :]) @ slopes
        mixing: Floats = np.asarray(np.linalg.inv(identity + weights[:, None] * along), dtype=np.float64)
        mixed = mixing * weights
        after = 1 / (base + levels @ (spreads * np.sum((slopes @ mixed) * slopes, axis=2)))
        converged = bool(np.max(np.abs(after / diagonal - 1)) < _INNER_TOLERANCE)
        diagonal = after
        if converged:
            break
    pairs = spreads[:, :, None] * spreads[:, None, :] * (slopes @ mixed @ slopes.T) ** 2
    coupling = ratio * np.tensordot(levels, pairs, axes=1) * shares
    square = (diagonal**2)[:, None]
    source = _source(features, mixing)
    derivative: Floats = np.asarray(
        np.linalg.solve(square * coupling - np.eye(diagonal.size), square * source), dtype=np.float64
    )
    return _Resolvent(diagonal, mixing, along @ mixing, derivative, converged)


def _source(features: Features, mixing: Floats) -> Floats:
    """B_k = R_k + E_b[t_b (D^T Y_b)_k^2], (T, K)."""
    through = features.spreads[:, :, None] * (features.slopes @ mixing) ** 2
    return features.residuals + np.tensordot(features.profile.weights, through, axes=1)


def _leverage(features: Features, sizes: Sizes, resolvent: _Resolvent) -> Floats:
    """tr[S_k G]/n = (p E[g R_k] + d E_b[X_kk])/n."""
    shares = features.neuron_weights * resolvent.diagonal
    traces = features.profile.weights @ np.diagonal(resolvent.along, axis1=1, axis2=2)
    return (sizes.width * shares @ features.residuals + sizes.dim * traces) / sizes.samples


def _double_traces(features: Features, sizes: Sizes, resolvent: _Resolvent) -> Floats:
    """tr[S_k G S_l G]/n = -d tr[S_k G]/n / dc_l = (-p E[B_k dg/dc_l] + d E_b[X_kl^2])/n."""
    through = (_source(features, resolvent.mixing).T * features.neuron_weights) @ resolvent.derivative
    squares = np.tensordot(features.profile.weights, resolvent.along**2, axes=1)
    return (sizes.dim * squares - sizes.width * through) / sizes.samples


def _population_fit(
    features: Features, labels: LabelsGivenSpike, sizes: Sizes, resolvent: _Resolvent, weights: Floats
) -> Floats:
    """The risk of the weighted population fit given kappa.

    risk = E[y^2|k] - 2 f E[y|k] + f^2 - 2 <psi, E[y x_perp|k]> + alpha^T S alpha: f from the means, psi = alpha^T D W
    along the target's directions (taken to be typical ones of the profile), and alpha^T S_k alpha = -d/dc_k of the
    quadratic form of G in the fixed source.
    """
    ratio, shares = sizes.width / sizes.dim, features.neuron_weights
    weighted = shares * resolvent.diagonal
    gram = sizes.width * (features.means.T * weighted) @ features.means
    gram = gram + ratio * sum((mode.T * weighted) @ mode for mode in features.fluctuations)
    source = np.linalg.solve(np.eye(weights.size) + weights[:, None] * gram, weights * labels.mean)
    learned = gram @ source
    linear = weights[:, None] * labels.linear
    levels = features.profile.weights
    along = resolvent.along @ linear  # (L, K, r)
    reached = np.tensordot(levels, along, axes=1)
    carried = sizes.width * (features.means @ source) ** 2
    carried = carried + ratio * np.sum((features.fluctuations @ source) ** 2, axis=0)
    through = features.spreads * np.sum((features.slopes @ (resolvent.mixing @ linear)) ** 2, axis=2)
    carried = carried + ratio * levels @ through
    energy = -resolvent.derivative.T @ (shares * carried) + levels @ np.sum(along**2, axis=2)
    missed = labels.square - 2 * learned * labels.mean + learned**2
    return missed - 2 * np.sum(reached * labels.linear, axis=1) + energy
