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

Seed = int | np.random.Generator


def sobol_uniforms(dimension: int, count: int, seed: Seed) -> Floats:
    """Points (count, dimension) in (0, 1): the middles of cells of side 2^-30, so that neither 0 nor 1 occurs."""
    # With `seed` instead of `rng`, a number names the same points in every SciPy.
    return qmc.Sobol(dimension, scramble=True, bits=_BITS, seed=seed).random(count) + 0.5 ** (_BITS + 1)


def sobol_normals(dimension: int, count: int, seed: Seed) -> Floats:
    """The same points (count, dimension) taken to N(0, I); their moments are those of N(0, I) up to the error above."""
    return ndtri(sobol_uniforms(dimension, count, seed))


@lru_cache(maxsize=8)
def balanced_normals(dimension: int, log2_count: int, key: int) -> Floats:
    """2^log2_count points (n, dimension) like standard normals: +- pairs, with covariance exactly the identity.

    Exact for polynomials of degree <= 3: odd moments vanish in pairs, second moments are whitened.
    """
    half = sobol_normals(dimension, 2 ** (log2_count - 1), np.random.default_rng([7, key]))
    points = np.concatenate([half, -half])
    return points @ np.linalg.inv(np.linalg.cholesky(points.T @ points / len(points))).T
