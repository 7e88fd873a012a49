"""What correlational queries would have to tell apart: He_p of nearly orthogonal directions.

Sampled in d dimensions, with NumPy alone, and independent of the bound of `featlab.theory.csq`, which it is there to
test.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import factorial, sqrt

import numpy as np

from featlab.gaussian.hermite import Floats, hermite_all

_CHUNK = 10_000


def hermite_correlations(
    degrees: Sequence[int], overlaps: Sequence[float], *, dim: int, samples: int, pairs: int, seed: int
) -> Floats:
    """Means of f_u(x) f_v(x), f_u = He_p(<u, x>) / sqrt(p!), over samples and random pairs (u, v) of given overlaps.

    Returns:
        One number for each degree and overlap, (degrees, overlaps). The same pairs and samples serve all of them.
    """
    rng = np.random.default_rng(seed)
    first, other = rng.standard_normal((2, pairs, dim))
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    other -= np.sum(first * other, axis=1, keepdims=True) * first
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    sums = np.zeros((len(degrees), len(overlaps)))
    for begin in range(0, samples, _CHUNK):
        rows = min(samples - begin, _CHUNK)
        fields = rng.standard_normal((rows, dim)) @ np.concatenate([first, other]).T
        u, perpendicular = fields[:, :pairs], fields[:, pairs:]
        of_u = hermite_all(max(degrees), u)
        for column, overlap in enumerate(overlaps):
            of_v = hermite_all(max(degrees), overlap * u + sqrt(1 - overlap**2) * perpendicular)
            for row, degree in enumerate(degrees):
                sums[row, column] += np.mean(of_u[degree] * of_v[degree], axis=1).sum() / factorial(degree)
    return sums / samples


def largest_overlap(count: int, dim: int, seed: int) -> float:
    """max |<u, v>| over pairs of so many random directions of {-1, 1}^d / sqrt(d)."""
    signs = np.random.default_rng(seed).integers(0, 2, (count, dim))
    directions = (2.0 * signs - 1.0) / np.sqrt(dim)
    return float(np.max(np.abs(directions @ directions.T - np.eye(count))))


def query_game(
    degree: int, tolerance: float, *, count: int, dim: int, seed: int, norm: float = 1.0
) -> tuple[int, float]:
    """Correlational queries against an adversary that answers every one of them by zero.

    One of `count` random directions u of {-1, 1}^d / sqrt(d) is the target's, f_u = He_p(<u, x>) / sqrt(p!). A query g
    rules out the u with |E[f_u g]| > tau, of which zero would be no honest answer. The learner knows all directions
    and asks for as many as it can rule out: g is the sum of some .9/tau^2 (times norm^2) of those left, of norm `norm`
    (the rules have 1). Correlations are exact, <u, v>^p.

    Returns:
        The number of queries until one direction is left, and the largest correlation of two directions.
    """
    rng = np.random.default_rng(seed)
    signs = (2 * rng.integers(0, 2, (count, dim)) - 1).astype(np.float32)  # whole numbers to 2^24 are exact, and fast
    overlaps = (signs @ signs.T).astype(np.float64) / dim
    gram = reduce(np.multiply, [overlaps] * degree)  # a tenth of the time of **
    largest = float(np.max(np.abs(gram - np.eye(count))))
    size, left, queries = max(1, int(0.9 * (norm / tolerance) ** 2)), np.arange(count), 0
    while left.size > 1:
        asked = left[:size]
        length = sqrt(gram[np.ix_(asked, asked)].sum())
        correlations = norm * gram[np.ix_(left, asked)].sum(axis=1) / length
        kept = np.abs(correlations) <= tolerance
        size = size if not kept.all() else max(1, size // 2)  # too many: none of them correlates enough
        left, queries = left[kept], queries + 1
    return queries, largest
