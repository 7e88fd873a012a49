"""The features sigma(W x) after a step of order one per neuron, given the input's coordinate along the spike.

After one step w_i = u_i v + r_i g_i/sqrt(d): the spike u_i = gamma a_i E[sigma'] theta along the common gradient v,
and a Gaussian rest whose size r_i^2 = norm^2 + gamma^2 a_i^2 Var(sigma') E[eps^2] d/n counts what each neuron's own
gradient adds (Ba et al. 2022; Cui et al. 2024, arXiv:2402.04980; Dandi et al. 2024, arXiv:2410.18938). Given kappa =
<x, v>, the field of neuron i is Gaussian around u_i kappa and its feature is equivalent to

    m_i(kappa) + D_i(kappa) <g_i, x_perp>/sqrt(d) + R_i(kappa)^{1/2} xi_i,

m = E sigma(u kappa + r z), D = E[sigma z], R = E[sigma^2] - m^2 - D^2: a Gaussian equivalent for each value of kappa.

Between neurons of the same a, u_i and r_i^2 differ by order 1/sqrt(d), which moves m_i by as much: too little for one
neuron, but p of them together offer the readout new functions of kappa with a weight of order one. Cui et al. keep
the part of it that comes from <w_i, v> at the start, kappa m'(kappa). The step also changes the *norm* of a neuron by
2 gamma a_i theta E[sigma' (z^2 - 1)] <w_i, v>, because sigma' (z^2 - 1) correlates with the labels through the start,
and each neuron's own noise moves both: `fluctuations` has them all.

The batch is common to all neurons, so that the rest is not isotropic: beyond the common spike neuron i adds (gamma
a_i/n) sum_j eps_j s_ij x_j with s_ij = sigma'(w_i x_j) - E[sigma']. Over neurons this is Gaussian with covariance
proportional to B = (1/n) sum_j eps_j^2 x_j x_j^T / E[eps^2], the *same* for all of them: some directions get more than
others unless n >> d. Its eigenvalues follow a compound free Poisson law (Marchenko, Pastur 1967).

Needs E[sigma' z] = 0 (an odd activation): otherwise the step also turns W0 by (1/n) sum eps x x^T, which is not a
spike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featlab.gaussian.activations import Activation
from featlab.gaussian.activations_integrals import field_moments
from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import gauss_pieces
from featlab.targets import Target
from featlab.theory.spikes import GradientSpike, label_grid, slope_moments

NODES = 48
_LEVELS = 3


@dataclass(frozen=True)
class Neurons:
    """The law of a neuron's second-layer weight and of the bias of its feature, as a rule with weights.

    Attributes:
        second: a (T,), in the scale of the student (1/p) sum a_i sigma.
        biases: b (T,).
        weights: (T,), summing to one.
    """

    second: Floats
    biases: Floats
    weights: Floats


@dataclass(frozen=True)
class RowProfile:
    """The law of the eigenvalues of B, of mean one, as a rule: levels (L,) with weights (L,)."""

    levels: Floats
    weights: Floats


EVEN = RowProfile(np.ones(1), np.ones(1))


@dataclass(frozen=True)
class FirstStep:
    """One full-batch step per neuron of size gamma, and the spike that its batch had."""

    size: float
    gradient: GradientSpike
    profile: RowProfile = EVEN
    bias: float = 0.0  # of the neurons while they are trained


@dataclass(frozen=True)
class Features:
    """The conditional Gaussian equivalent on nodes: types of neurons (T,) times coordinates along the spike (K,).

    Attributes:
        nodes, node_weights: a rule for kappa ~ N(0, 1).
        neuron_weights: the share of each type of neuron.
        means: m (T, K). slopes: D (T, K). residuals: R (T, K).
        fluctuations: (modes, T, K): the independent parts of sqrt(d) (m_i - m), each of unit-variance neurons.
        profile: the law of what each neuron's own gradient adds, over the directions of R^d.
        spreads: (L, T): the variance of W on directions of each level of the profile, over its mean.
    """

    nodes: Floats
    node_weights: Floats
    neuron_weights: Floats
    means: Floats
    slopes: Floats
    residuals: Floats
    fluctuations: Floats
    profile: RowProfile
    spreads: Floats

    @property
    def mean_square(self) -> float:
        """E[sigma^2] over neurons and inputs."""
        squares = self.means**2 + self.slopes**2 + self.residuals
        return float(self.neuron_weights @ squares @ self.node_weights)


def untrained_features(activation: Activation, neurons: Neurons, norm: float, *, varying_norm: bool) -> Features:
    """The features of the start: no spike, so that one node (kappa = 0) is exact.

    Args:
        varying_norm: whether |w_i|^2 fluctuates by 2 norm^4/d (Gaussian rows) or not (rows on the sphere).
    """
    nothing = FirstStep(0.0, GradientSpike(0.0, 0.0, 0.0))
    return _features(activation, neurons, norm, nothing, (np.zeros(1), np.ones(1)), 1.0, varying_norm)


def trained_features(
    activation: Activation,
    neurons: Neurons,
    norm: float,
    first: FirstStep,
    *,
    varying_norm: bool,
    label_square: Floats | None = None,
) -> Features:
    """The features after one step.

    Args:
        label_square: E[eps^2 | kappa] on the nodes of `spike_rule`; None, independent of kappa.
    """
    nodes, weights = spike_rule()
    squares = np.ones_like(nodes) if label_square is None else label_square
    tilted = float(weights @ (squares * nodes**2) / (weights @ squares))
    return _features(activation, neurons, norm, first, (nodes, weights), tilted, varying_norm)


def _features(
    activation: Activation,
    neurons: Neurons,
    norm: float,
    first: FirstStep,
    rule: tuple[Floats, Floats],
    tilted: float,
    varying_norm: bool,
) -> Features:
    """On a rule for kappa, with tilted = E[eps^2 kappa^2]/E[eps^2]."""
    moments = slope_moments(activation, norm, first.bias)
    moved = first.size * neurons.second
    added = moved**2 * moments.spread * first.gradient.noise
    scales = np.sqrt(norm**2 + added)
    spikes = moved * moments.slope * first.gradient.strength
    shifts = spikes[:, None] * rule[0] + neurons.biases[:, None]
    mean, slope, bend, square = field_moments(activation.value, activation.kinks, shifts, scales[:, None])
    along, across = rule[0] * slope / scales[:, None], bend / (2 * scales[:, None] ** 2)
    # Independent standard normal modes: what each adds to sqrt(d) u_i and to sqrt(d) r_i^2.
    # 1. <w_i, v> at the start: norm to u_i, and 2 gamma a_i theta norm E[sigma' (z^2 - 1)] to r_i^2.
    # 2. The neuron's own gradient along v: variance `added` E[eps^2 kappa^2]/E[eps^2] in u_i.
    # 3. In r_i^2: the own gradient along w_i (He_1 of sigma' z is part of mode 1), its length, and the length of w_i.
    along_own = moments.square_along - (moments.slope + moments.bend) ** 2
    own = (2 * norm * moved) ** 2 * along_own * first.gradient.noise + 2 * added**2 + 2 * varying_norm * norm**4
    start = norm * along + (2 * moved * first.gradient.strength * norm * moments.bend)[:, None] * across
    modes = [start, np.sqrt(added * tilted)[:, None] * along, np.sqrt(own)[:, None] * across]
    residual = square - mean**2 - slope**2
    spreads = (norm**2 + added * first.profile.levels[:, None]) / scales**2
    return Features(*rule, neurons.weights, mean, slope, residual, np.array(modes), first.profile, spreads)


def spike_rule() -> tuple[Floats, Floats]:
    """The nodes and weights of kappa ~ N(0, 1)."""
    return gauss_pieces((), NODES)


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
    """E[(y - offset)^{2m}] for m = 0..count, over the additive noise by a Gauss rule that is exact for them."""
    grid, (z, shares) = label_grid(target), gauss_pieces((), count + 1)
    residuals = grid.labels[:, None] - offset + np.sqrt(target.noise) * z
    return np.array([grid.weights @ residuals ** (2 * m) @ shares for m in range(count + 1)])
