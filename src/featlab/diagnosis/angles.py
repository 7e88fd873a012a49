"""How far the directions found are from the truth, by searching again on halves of the rows."""

from __future__ import annotations

import numpy as np
from scipy.stats import f as variance_ratio

from featlab.diagnosis.search import Search, follow
from featlab.gaussian.hermite import Floats

CANNOT_TELL = 90.0  # degrees: no angle is larger
_ENOUGH_FREEDOM, _MOST_SPLITS = 100, 8  # degrees of freedom of the spread of halves, beyond which more tell little


def half_sample_angles(
    found: Search, inputs: Floats, responses: Floats, functions: int, draw: np.random.Generator
) -> Floats:
    """The angle of each direction to the span of the true ones (k, 2), in degrees: its median, and a bound that holds
    with 95%; 90 where nothing can be told.

    Statement: let a direction from all rows be w + e, with w in the true span and e off it, and T = |e|^2 = tan^2 of
    the angle asked for. Errors that are means over rows of influences make it w + e + v from a half of the rows and
    w + e - v from the other, with v independent of e and of the same law (the delete-half jackknife: Wu 1986, Ann.
    Statist. 14), so that tan^2 of the angle between direction and half is |v|^2 / (1 + T). For isotropic inputs the
    law of e is that of a Gaussian vector without preferred direction off the span, of nu = q - k dimensions: T over
    the mean of |v|^2 over R splits has the law F of nu and R nu degrees of freedom. With its quantile F and the mean
    r of tan^2 over halves and splits, T = F r (1 + T), so T = F r / (1 - F r); nothing can be told if F r >= 1.

    Assumed: rows are independent; inputs in these coordinates are isotropic off the true span (exact for Gaussian
    inputs); the error of twice the rows is no more than half. Near a threshold it falls faster, and the bound is too
    large; a resample with replacement, of which only 63% of the rows are different, has it too small instead.
    R is 8, or fewer where these make 100 degrees of freedom.

    Args:
        inputs: (n, q) of mean 0 and covariance I.
    """
    count, dim = inputs.shape
    freedom = dim - len(found.rows)
    if not freedom:
        return np.zeros((len(found.rows), 2))
    splits, apart = min(_MOST_SPLITS, 1 + _ENOUGH_FREEDOM // freedom), []
    for _ in range(splits):
        order = draw.permutation(count)
        for half in (np.sort(order[: count // 2]), np.sort(order[count // 2 :])):
            rows = follow(found, inputs[half], responses[half], functions)
            squares = np.sum((found.rows @ rows.T) ** 2, axis=1)
            apart.append(1 / np.clip(squares, np.finfo(float).tiny, 1) - 1)
    ratios = variance_ratio.ppf([0.5, 0.95], freedom, splits * freedom)
    share = np.outer(np.mean(apart, axis=0), ratios)
    with np.errstate(divide="ignore"):
        squared = np.where(share < 1, share / np.maximum(1 - share, 0), np.inf)
    return np.degrees(np.arctan(np.sqrt(squared)))
