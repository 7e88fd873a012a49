"""What the normalised flow costs under a spike theta = d^g2 with <mu, beta> = d^-g1: the map over (g1, g2), and the
correlation that a random neuron starts from at a finite d.

All powers of d follow from one, delta_0 = d^-s, the correlation at the start: samples d delta_0^{-2(k-1)}, run time
tau_k(delta_0) (Mousavi-Hosseini et al. 2023, arXiv:2309.03843). They are upper bounds; `featlab.analysis.spiked_cost`
states s and the exponent of n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featlab.analysis.spiked_cost import normalised_flow_exponent, start_exponent
from featlab.errors import InvalidParameter
from featlab.gaussian.crossings import hitting_times
from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import gauss_pieces
from featlab.learners.checks import positive_integer
from featlab.targets.inputs import Inputs, checked_exponents
from featlab.theory.flows.averages import Averages
from featlab.theory.flows.path import Spike

_GRADIENT_NODES = 64


@dataclass(frozen=True)
class ComplexityMap:
    """Exponents over a grid of g2 (rows) and g1 (columns), for one information exponent k.

    Attributes:
        information_exponent: k.
        overlap_exponents: g1 (columns,).
        strength_exponents: g2 (rows,).
        samples: log_d n, (rows, columns).
        start: s in delta_0 = d^-s.
        time: log_d of the run time, (k - 2) s; 0 where it is a constant or a logarithm (k = 1, 2).
    """

    information_exponent: int
    overlap_exponents: Floats
    strength_exponents: Floats
    samples: Floats
    start: Floats
    time: Floats


def complexity_map(information_exponent: int, overlap_exponents: Floats, strength_exponents: Floats) -> ComplexityMap:
    """The exponents of the normalised flow at every pair of g1 and g2.

    Source: Mousavi-Hosseini et al. 2023, arXiv:2309.03843; upper bounds.

    Args:
        information_exponent: k of the link.
        overlap_exponents: values of g1.
        strength_exponents: values of g2.

    Raises:
        InvalidParameter: an exponent that is no positive whole number.

    Examples:
        >>> import numpy as np
        >>> from featlab.theory import complexity_map
        >>> complexity_map(3, np.array([0.5]), np.array([0.0])).samples.tolist()
        [[3.0]]
    """
    order = positive_integer("information_exponent", information_exponent)
    g1, g2 = (np.asarray(grid, dtype=np.float64) for grid in (overlap_exponents, strength_exponents))
    samples = np.array([[normalised_flow_exponent(x, y, order) for x in g1.tolist()] for y in g2.tolist()])
    start = np.array([[start_exponent(x, y) for x in g1.tolist()] for y in g2.tolist()])
    return ComplexityMap(order, g1, g2, samples, start, max(order - 2, 0) * start)


def kernel_exponent(strength_exponent: float, degree: int) -> float:
    """(1 - g2) p: rotation-invariant kernels need n >~ d^{Theta((1 - g2) p)} samples for a link of degree p, whatever
    the alignment (Donhauser et al. 2021, as stated by Mousavi-Hosseini et al. 2023). A lower bound, and the constant in
    Theta is not stated: a slope in g2 and p, not a sharp exponent.

    Args:
        strength_exponent: g2.
        degree: p.

    Raises:
        InvalidParameter: g2 outside [0, 1], or a degree that is no positive whole number.

    Examples:
        >>> from featlab.theory import kernel_exponent
        >>> kernel_exponent(0.5, degree=4)
        2.0
    """
    _, g2 = checked_exponents(0.0, strength_exponent)
    return (1 - g2) * positive_integer("degree", degree)


def typical_start(inputs: Inputs, dim: int) -> float:
    """delta_0 at dimension d: the root mean square, over random w, of the covariance of <w, x> with the target's field,
    over that of the standard deviation of <w, x>.

    Statement: w uniform on the sphere has E<w, S beta>^2 = |S beta|^2 / d and E<w, S w> = tr(S) / d, so that
    delta_0^2 = |S beta|^2 / (kappa tr S) with |S beta|^2 = 1 + (theta^2 + 2 theta) <mu, beta>^2, tr S = d + theta.
    """
    spike = Spike.of(inputs)
    if positive_integer("dim", dim) < spike.axis.size:
        raise InvalidParameter("dim", dim, f"at least {spike.axis.size}")
    theta, cosine = spike.strength, spike.axis[0]
    length = 1 + (theta**2 + 2 * theta) * cosine**2
    return float(np.sqrt(length / (dim + theta)) / spike.target_scale)


def gradient_samples(averages: Averages, correlation: float, dim: int) -> float:
    """n at which the gradient of a unit neuron on n fresh samples has as much signal as noise, on whitened inputs.

    Statement: of G = mean(y sigma'(u) z), u = <v, z>, with correlation rho of u and the target's field h, the part
    along the great circle from v to the target's direction is zeta(rho) sqrt(1 - rho^2) (`featlab.theory.flows.time`),
    and the d - 2 other directions across v have E[y^2 sigma'(u)^2]/n each: n = (d - 2) E[y^2 sigma'^2]/signal^2. For an
    information exponent k and a small rho it is d rho^(-2(k-1)) up to a constant: the map, with rho = delta_0.
    """
    points, weights = gauss_pieces((), _GRADIENT_NODES)
    fields = correlation * points[:, None] + np.sqrt(1 - correlation**2) * points
    squares = averages.target.link(points[:, None]) ** 2 + averages.target.noise
    noise = (weights * squares) @ averages.activation.derivative(fields) ** 2 @ weights
    return float((dim - 2) * noise / averages.slope(correlation) ** 2 / (1 - correlation**2))


def fresh_time(
    averages: Averages, start: float, dim: int, *, samples: int, rate: float, steps: int, until: float
) -> float:
    """When a unit neuron arrives that goes uphill by `rate` on n fresh samples at a time, whitened inputs: in units of
    `rate`, without fluctuations.

    Statement: a step of pull p = rate zeta(rho) sqrt(1 - rho^2) takes rho to (rho + p sqrt(1 - rho^2)) over the length
    sqrt(1 + p^2 (1 + m/n)), m = `gradient_samples`: what is noise makes the neuron longer. Infinite beyond `steps`.
    """
    path = [start]
    for _ in range(steps):
        rho = path[-1]
        pull = rate * averages.slope(rho) * np.sqrt(1 - rho**2)
        length = np.sqrt(1 + pull**2 * (1 + gradient_samples(averages, rho, dim) / samples))
        path.append((rho + pull * np.sqrt(1 - rho**2)) / length)
    return float(hitting_times(rate * np.arange(steps + 1), np.array(path), until))
