"""What accuracy costs once the direction of a single-index target is nearly known: samples, neurons, time.

Mousavi-Hosseini et al. 2023 (arXiv:2309.03843) prove that of the order of d/epsilon^2 samples, 1/epsilon neurons and a
time ln(1/epsilon) more suffice for an accuracy epsilon. Here are the laws behind such bounds where they can be had,
for links g that are polynomials: how far the direction that minimises a batch's loss is from the target's, how far a
network with drawn biases and the second layer of an integral representation is from g, and how fast the flow ends.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import HermiteE
from scipy.stats import norm

from featlab.gaussian.activations import Activation
from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import gauss_pieces

_NODES = 64


def direction_error(link: HermiteE, activation: Activation, noise: float) -> float:
    """C of 1 - m^2 = C d/n, n >> d, where a batch's squared loss of sigma(<w, x> / |S^{1/2} w|), S = X^T X/n, is least.

    At w = beta + delta, delta across, the population's loss is zeta |delta|^2 / 2 above that at beta, zeta =
    E[g' sigma']. The batch's slope there is the mean of -((y - sigma) sigma' - B z) x, B = E[(y - sigma) sigma' z]; the
    second term comes from the norm, which is by the batch's own covariance. So C = E[((y - sigma) sigma' - B z)^2] /
    zeta^2, the usual expansion of a minimum.

    Args:
        link: g, y = g(z) + N(0, noise).
        noise: the variance of the labels' noise.
    """
    points, weights = gauss_pieces(activation.kinks, _NODES)
    value, slope = activation.value(points), activation.derivative(points)
    slopes = (link(points) - value) * slope
    drift = float(slopes * points @ weights)
    scatter = (slopes - drift * points) ** 2 + noise * slope**2
    return float(scatter @ weights) / _end_slope(link, activation) ** 2


def ending_rate(link: HermiteE, activation: Activation) -> float:
    """2 zeta(1) = 2 E[g' sigma']: how fast 1 - m falls in the end, dm/dt = (1 - m^2) zeta(m).

    The flow is that of the correlation E[y sigma] on the sphere; the time to 1 - m = epsilon is ln(1/epsilon) over
    this, and a constant.
    """
    return 2 * _end_slope(link, activation)


def sampled_network(link: HermiteE, reach: float, points: Floats, biases: Floats) -> Floats:
    """g(0) + g'(0) z + (2L/N) sum_i g''(t_i) (z - t_i)_+ at points z, t_i = -b_i uniform on (-L, L): Taylor's integral
    by N draws. For t_i < 0 it has (t_i - z)_+ in the place of (z - t_i)_+, the same up to a linear function."""
    kinks = -biases
    second = 2 * reach * link.deriv(2)(kinks) / len(biases)
    ahead = np.where(kinks > 0, 1.0, -1.0) * (points[:, None] - kinks)
    return np.asarray(link(0.0) + link.deriv()(0.0) * points + np.maximum(ahead, 0) @ second)


def sampled_network_error(link: HermiteE, reach: float) -> tuple[float, float]:
    """(floor, C) of E|f_N - g|^2 = floor + C/N for `sampled_network`, over z and biases: the variance of one term.

    C = 2L int_{-L}^{L} g''(t)^2 E[(z - |t|)_+^2] dt - E[(g_L(z) - g(0) - g'(0) z)^2], since terms are independent;
    g_L is g continued straight beyond +-L, and the floor is E[(g_L - g)^2].
    """
    nodes, weights = np.polynomial.legendre.leggauss(2 * _NODES)
    t = reach * nodes
    tail = (1 + t**2) * norm.sf(np.abs(t)) - np.abs(t) * norm.pdf(t)  # E[(z - |t|)_+^2]
    squares = 2 * reach**2 * float(link.deriv(2)(t) ** 2 * tail @ weights)
    points, chances = gauss_pieces((-reach, reach), _NODES)
    inner = np.clip(points, -reach, reach)
    straight = link(inner) + link.deriv()(inner) * (points - inner)
    lifted = straight - link(0.0) - link.deriv()(0.0) * points
    return float((straight - link(points)) ** 2 @ chances), squares - float(lifted**2 @ chances)


def _end_slope(link: HermiteE, activation: Activation) -> float:
    """zeta(1) = E[g' sigma']."""
    points, weights = gauss_pieces(activation.kinks, _NODES)
    return float(link.deriv()(points) * activation.derivative(points) @ weights)
