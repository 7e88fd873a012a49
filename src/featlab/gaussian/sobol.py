"""Scrambled Sobol points, uniform and normal: averages over many variables (Sobol 1967; Owen 1997).

The mean of a smooth function over n scrambled points has an error of O(n^{-3/2}) up to logarithms, where that of random
ones has n^{-1/2}; it is unbiased, so that independent scramblings tell the error.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from featlab.gaussian.hermite import Floats

_BITS = 30
_FARTHER = 2.0

Seed = int | np.random.Generator


def sobol_uniforms(dimension: int, count: int, seed: Seed) -> Floats:
    """Points (count, dimension) in (0, 1): the middles of cells of side 2^-30, so that neither 0 nor 1 occurs."""
    # With `seed` instead of `rng`, a number names the same points in every SciPy.
    return qmc.Sobol(dimension, scramble=True, bits=_BITS, seed=seed).random(count) + 0.5 ** (_BITS + 1)


def sobol_normals(dimension: int, count: int, seed: Seed) -> Floats:
    """The same points (count, dimension) taken to N(0, I); their moments are those of N(0, I) up to the error above."""
    return ndtri(sobol_uniforms(dimension, count, seed))


@lru_cache(maxsize=8)
def balanced_normals(dimension: int, log2_count: int, key: int, wide: int) -> tuple[Floats, Floats]:
    """2^log2_count weighted points (n, dimension) for N(0, I), and weights (n,) of sum 1: +- pairs, with covariance
    exactly the identity.

    Exact for polynomials of degree <= 3: odd moments vanish in pairs, second moments are whitened. Half of the points
    lie twice as far out in the first `wide` coordinates, the label's: the mean of a polynomial of degree 10, as
    (y sigma')^2 is, comes from |h| of about 3, where few plain points lie, and too few in every scrambling, so that
    two of them would not tell the error. Weights are those of a mixture, N(0, I) over its density, at most 2.
    """
    half = sobol_normals(dimension, 2 ** (log2_count - 1), np.random.default_rng([7, key]))
    half[1::2, :wide] *= _FARTHER
    points = np.concatenate([half, -half])
    outward = np.sum(points[:, :wide] ** 2, axis=1)
    weights = 2 / (1 + _FARTHER**-wide * np.exp(0.5 * (1 - _FARTHER**-2) * outward))
    weights /= weights.sum()
    return points @ np.linalg.inv(np.linalg.cholesky((points.T * weights) @ points)).T, weights
