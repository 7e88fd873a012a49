"""What correlational queries would have to tell apart: He_p of nearly orthogonal directions.

Sampled in d dimensions, with NumPy alone, and independent of the bound of `featlab.theory.csq`, which it is there to
test.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial, sqrt

import numpy as np

from featlab.gaussian.hermite import Floats, hermite

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
        for column, overlap in enumerate(overlaps):
            v = overlap * u + sqrt(1 - overlap**2) * perpendicular
            for row, degree in enumerate(degrees):
                sums[row, column] += np.mean(hermite(degree, u) * hermite(degree, v), axis=1).sum() / factorial(degree)
    return sums / samples


def largest_overlap(count: int, dim: int, seed: int) -> float:
    """max |<u, v>| over pairs of so many random directions of {-1, 1}^d / sqrt(d)."""
    signs = np.random.default_rng(seed).integers(0, 2, (count, dim))
    directions = (2.0 * signs - 1.0) / np.sqrt(dim)
    return float(np.max(np.abs(directions @ directions.T - np.eye(count))))
