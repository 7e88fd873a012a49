"""What correlational queries must cost: a lower bound (Damian, Lee, Soltanolkotabi 2022, arXiv:2206.15144).

An algorithm of correlational statistical queries (CSQ) may ask, q times, for E[y g(x)] with E[g^2] <= 1, and gets an
answer that is off by at most tau, in any way; gradient steps on the squared loss are such queries. Three facts:

1. M directions u of {-1, 1}^d / sqrt(d) exist with |<u, v>| <= eps for any two as long as M^2 exp(-d eps^2 / 2) <= 1:
   by Hoeffding's inequality and a union bound. So there are exp(d eps^2 / 4) of them.
2. f_u = He_p(<u, x>) / sqrt(p!) has E[f_u^2] = 1 and E[f_u f_v] = <u, v>^p.
3. A family of M functions of norm 1 with correlations of at most c: if every query is answered by zero, one query
   rules out 2 / (tau^2 - c) of them at most (Szorenyi 2009), since sum_A <f, g> <= |sum_A f| <= sqrt(|A| + c |A|^2). So
   q >= M (tau^2 - c) / 2 queries are needed before an f is left with an error below 2 - 2c.

Together, for every eps: tau^2 <= eps^p + 2 q exp(-d eps^2 / 4). The smallest of these bounds is computed here, with
its constants; as d grows it is log(q d)^(p/2) / d^(p/2) up to a constant, as the paper states it.

It bounds CSQ algorithms, nothing else: reused batches and other losses are no such queries. Samples enter by tau = 1 /
sqrt(n), the size of a mean's fluctuations, which is an analogy and no theorem: noise is not an adversary.
"""

from __future__ import annotations

from math import exp, floor, log

import numpy as np

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.learners.checks import positive_integer, positive_number

# Every eps gives a bound that holds: a grid loses a little, and nothing else.
_COHERENCES = np.geomspace(1e-6, 1.0, 4000)
_LARGEST_EXPONENT = 700.0


def near_orthogonal_directions(count: int, dim: int, seed: int = 0) -> Floats:
    """`count` random rows of {-1, 1}^d / sqrt(d): unit vectors whose overlaps are of order 1/sqrt(d).

    Source: Damian, Lee, Soltanolkotabi 2022, arXiv:2206.15144, who take such a family.

    Args:
        count: how many.
        dim: d.
        seed: of the draw.

    Raises:
        InvalidParameter: a count or a dimension that is no positive whole number.

    Examples:
        >>> from featlab.theory import near_orthogonal_directions
        >>> near_orthogonal_directions(3, dim=100).shape
        (3, 100)
    """
    signs = np.random.default_rng(seed).integers(0, 2, (positive_integer("count", count), positive_integer("dim", dim)))
    return (2.0 * signs - 1.0) / np.sqrt(dim)


def family_size(dim: int, coherence: float) -> float:
    """M = exp(d eps^2 / 4): so many unit vectors exist with |<u, v>| <= eps; infinite beyond 1e300.

    Source: Damian, Lee, Soltanolkotabi 2022, arXiv:2206.15144: Hoeffding's inequality and a union bound.

    Args:
        dim: d.
        coherence: eps.

    Raises:
        InvalidParameter: a coherence that is not in (0, 1].

    Examples:
        >>> from featlab.theory import family_size
        >>> family_size(dim=10_000, coherence=0.1)  # exp(25)
        72004899337.0
    """
    if positive_number("coherence", coherence) > 1:
        raise InvalidParameter("coherence", coherence, "a number above 0, at most 1")
    exponent = positive_integer("dim", dim) * coherence**2 / 4
    return float(floor(exp(exponent))) if exponent < _LARGEST_EXPONENT else float("inf")


def csq_queries(tolerance: float, dim: int, degree: int) -> float:
    """The number q of queries below which no CSQ algorithm of tolerance tau learns He_p of an unknown direction.

    The largest over eps of exp(d eps^2 / 4) (tau^2 - eps^p) / 2. Below 1 it says nothing; infinite beyond 1e300.

    Source: Damian, Lee, Soltanolkotabi 2022, arXiv:2206.15144, with the constants.

    Args:
        tolerance: tau, for labels and queries of norm 1.
        dim: d.
        degree: p.

    Raises:
        InvalidParameter: numbers that are not above 0.

    Examples:
        >>> from featlab.theory import csq_queries
        >>> csq_queries(tolerance=0.1, dim=10**6, degree=3) > 10**9
        True
    """
    square = positive_number("tolerance", tolerance) ** 2
    p, d = positive_integer("degree", degree), positive_integer("dim", dim)
    eps = _COHERENCES[square > _COHERENCES**p]
    best = float(np.max(d * eps**2 / 4 + np.log((square - eps**p) / 2), initial=-np.inf))
    return exp(best) if best < _LARGEST_EXPONENT else float("inf")


def csq_tolerance(queries: float, dim: int, degree: int) -> float:
    """tau: a CSQ algorithm with q queries needs a tolerance of at most that to learn He_p of an unknown direction.

    The root of the smallest over eps of eps^p + 2 q exp(-d eps^2 / 4).

    Source: Damian, Lee, Soltanolkotabi 2022, arXiv:2206.15144, with the constants.

    Args:
        queries: q.
        dim: d.
        degree: p.

    Raises:
        InvalidParameter: numbers that are not above 0.

    Examples:
        >>> from featlab.theory import csq_tolerance
        >>> csq_tolerance(queries=1.0, dim=10**6, degree=4) < 0.001
        True
    """
    q = positive_number("queries", queries)
    p, d = positive_integer("degree", degree), positive_integer("dim", dim)
    eps = _COHERENCES
    return float(np.sqrt(np.min(eps**p + 2 * np.exp(log(q) - d * eps**2 / 4))))


def csq_samples(queries: float, dim: int, degree: int) -> float:
    """n = 1 / tau^2: the samples at which the mean over a batch is as accurate as q queries need it, for He_p in d
    dimensions. About d^(p/2) up to logarithms. Below 1, the bound says nothing at this d.

    Source: Damian, Lee, Soltanolkotabi 2022, arXiv:2206.15144; tau = 1/sqrt(n) is an analogy.

    Args:
        queries: q.
        dim: d.
        degree: p.

    Raises:
        InvalidParameter: numbers that are not above 0.

    Examples:
        >>> from featlab.theory import csq_samples
        >>> csq_samples(queries=1.0, dim=10**6, degree=4) > 10**6
        True
    """
    return csq_tolerance(queries, dim, degree) ** -2


def csq_asymptotic_tolerance(queries: float, dim: int, degree: int) -> float:
    """tau = (log(q d) / d)^(p/4), as the paper states it for large d, up to a constant that it does not give."""
    q = positive_number("queries", queries)
    p, d = positive_integer("degree", degree), positive_integer("dim", dim)
    if q * d <= 1:
        raise InvalidParameter("queries", queries, "such that queries times dim is above 1")
    return float((log(q * d) / d) ** (p / 4))
