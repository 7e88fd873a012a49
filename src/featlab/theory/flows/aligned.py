"""A neuron's population flow on the sphere if the spike lies along the target, mu = beta: one equation, in closed form.

Inputs x ~ N(0, I + theta beta beta^T), label h_k of the field <x, beta>/sqrt(1 + theta), neuron h_k(<w, x>), |w| = 1,
h_k = He_k/sqrt(k!). With m = <w, beta> and q = 1 + theta m^2 twice the population loss is

    R(m) = 1 - 2 (1 + theta)^(k/2) m^k + S(q),     S(q) = sum_i k!/(4^i i!^2 (k - 2i)!) q^(k-2i) (q - 1)^(2i),

by the multiplication theorem of Hermite polynomials. S grows with |m|: the force that drives w off the spike
(Mousavi-Hosseini et al. 2023, arXiv:2309.03843).
"""

from __future__ import annotations

from math import factorial

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from featlab.gaussian.hermite import Floats

_SCAN = 2000


def aligned_slope(order: int, strength: float, cosine: ArrayLike) -> Floats:
    """R'(m) = -2k (1 + theta)^(k/2) m^(k-1) + 2 theta m S'(1 + theta m^2).

    For small m it is -2k (m sqrt(1 + theta))^(k-2) (1 + theta) m + 2k theta m: where k > 2, the second wins unless
    theta is below m^(k-2), and m goes back to 0.

    Args:
        order: k.
        strength: theta.
        cosine: m, one or several.
    """
    m = np.asarray(cosine, np.float64)
    excess = strength * m**2
    variance, repulsion = 1 + excess, np.zeros_like(excess)
    for i in range(order // 2 + 1):
        factor = factorial(order) / (4**i * factorial(i) ** 2 * factorial(order - 2 * i))
        up, down = order - 2 * i, 2 * i
        growth = up * variance ** (up - 1) * excess**down if up else 0.0
        growth += down * variance**up * excess ** (down - 1) if down else 0.0
        repulsion += factor * growth
    attraction = 2 * order * (1 + strength) ** (order / 2) * m ** (order - 1)
    return np.asarray(2 * strength * m * repulsion - attraction)


def highest_cosine(order: int, strength: float, start: float) -> float:
    """sup over t of m on the way from `start` in (0, 1): the flow goes downhill, to the next zero of R' or to 1.

    Where R' > 0 it goes back towards m = 0, which it does not cross for k > 1, and the start is the highest point.
    """
    if aligned_slope(order, strength, start) >= 0:
        return start
    ahead = np.geomspace(start, 1.0, _SCAN)
    turns = np.flatnonzero(aligned_slope(order, strength, ahead) > 0)
    if not turns.size:
        return 1.0
    between = ahead[turns[0] - 1 : turns[0] + 1]
    return float(brentq(lambda m: aligned_slope(order, strength, m), *between))
