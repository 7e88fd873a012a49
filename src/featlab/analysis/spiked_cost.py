"""Powers of d under a spiked covariance x ~ N(0, I + theta mu mu^T), for a single-index target f* = g(h).

With theta = d^g2, <mu, beta> = d^-g1, k the information exponent and p the degree of the link g:

    normalised flow   n ~ d^(1 + 2 (k-1) s), d^-s its overlap at the start (Mousavi-Hosseini et al. 2023)
    one gradient step n ~ d once g2 > 1 - 1/k, perfect alignment; sufficient, not sharp (Ba et al. 2023)
    kernels           n ~ d if and only if g2 > 1 - 1/p, perfect alignment (Ba et al. 2023)
"""

from __future__ import annotations

from featlab.errors import InvalidParameter
from featlab.targets.inputs import checked_exponents


def start_exponent(overlap_exponent: float, strength_exponent: float) -> float:
    """s in delta_0 = d^-s, the overlap at random initialisation that the normalised flow starts from.

    In the normalised coordinate a random w has the overlap <w, S beta> / (|S^{1/2} w| |S^{1/2} beta|) with the target:

        s = 1/2                  for g2 <= g1       (the spike is too weak, or too far from beta)
        s = 1/2 - (g2 - g1)      for g1 <= g2 <= 2 g1
        s = (1 - g2) / 2         for 2 g1 <= g2 <= 1

    continuous across both lines. Mousavi-Hosseini et al. 2023 (arXiv 2309.03843).
    """
    g1, g2 = checked_exponents(overlap_exponent, strength_exponent)
    if g2 <= g1:
        return 0.5
    return 0.5 - (g2 - g1) if g2 <= 2 * g1 else (1 - g2) / 2


def normalised_flow_exponent(overlap_exponent: float, strength_exponent: float, information_exponent: int) -> float:
    """The power of d of the samples that suffice for the normalised flow, at a fixed accuracy.

    n >~ d (d^{2 (k-1) s} v eps^-2) with s = `start_exponent(g1, g2)`: d^k without a useful spike, d^(1 + (k-1)(1 - g2))
    with an aligned one. Mousavi-Hosseini et al. 2023 (arXiv 2309.03843), an upper bound, for links with
    zeta(w) = sum_j j c_j c*_j w^{j-1} >= c w^{k-1} on (0, 1).
    """
    if information_exponent < 1:
        raise InvalidParameter("information_exponent", information_exponent, "a whole number, at least 1")
    return 1 + 2 * (information_exponent - 1) * start_exponent(overlap_exponent, strength_exponent)
