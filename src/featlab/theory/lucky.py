"""How near the best of many random neurons is to a direction, and how many neurons it takes to be that near.

w uniform on the sphere of R^d has <w, e>^2 ~ Beta(1/2, (d-1)/2), so that P(|<w, e>| > m) = I_(1-m^2)((d-1)/2, 1/2), I
the regularised incomplete beta function. N independent neurons have one with |<w, e>| > m with probability
1 - (1 - P)^N: one in two at N = log 2 / P for small P, which grows like (1 - m^2)^(-d/2), exponentially in d (Denny
Wu's talk on structured data: "required width may be exponential in the dimensionality").
"""

from __future__ import annotations

import numpy as np
import scipy.integrate
import scipy.special

from featlab.errors import InvalidParameter
from featlab.learners.checks import positive_integer

_LEAST_DIM = 3  # below, a neuron is a point or an angle


def log_chance(dim: int, overlap: float) -> float:
    """log P(|<w, e>| > m) of one random neuron.

    Where P is no float, by its leading order (1 - m^2)^((d-1)/2) / (a B(a, 1/2) m), a = (d-1)/2, of relative error
    (1 - m^2) / (m^2 d) at most.
    """
    if positive_integer("dim", dim) < _LEAST_DIM:
        raise InvalidParameter("dim", dim, f"at least {_LEAST_DIM}")
    if not 0 < overlap < 1:
        raise InvalidParameter("overlap", overlap, "between 0 and 1")
    a = (dim - 1) / 2
    chance = float(scipy.special.betainc(a, 0.5, 1 - overlap**2))
    if chance > np.finfo(float).tiny:
        return float(np.log(chance))
    return float(a * np.log1p(-(overlap**2)) - np.log(a * overlap) - scipy.special.betaln(a, 0.5))


def lucky_chance(dim: int, width: float, overlap: float) -> float:
    """1 - (1 - P)^N: that one of N random neurons has an overlap above m."""
    return float(-np.expm1(width * np.log1p(-np.exp(log_chance(dim, overlap)))))


def lucky_overlap(dim: int, width: int) -> float:
    """The mean of the largest |<w, e>| of N random neurons: the integral of `lucky_chance` over m."""
    positive_integer("width", width)
    value, _ = scipy.integrate.quad(lambda overlap: lucky_chance(dim, width, overlap), 1e-12, 1 - 1e-12, limit=200)
    return float(value)


def log_lucky_width(dim: int, overlap: float) -> float:
    """log N for which one network in two has a neuron with an overlap above m; N need be no whole number."""
    chance = log_chance(dim, overlap)
    # log(1 - P) is -P where P is small, and then N = log 2 / P.
    per_neuron = np.log(-np.log1p(-np.exp(chance))) if chance > np.log(1e-12) else chance
    return float(np.log(np.log(2)) - per_neuron)
