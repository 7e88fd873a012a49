"""The approach to the limit: what is left of a difference as the size s (the dimension, or the samples) grows.

At each point the mean difference of measurement and prediction is known at two or three sizes, with standard errors.
If it is delta + c s^(-e), then for a given e every unbiased linear combination sum_i a_i D_i with sum a_i = 1 and
sum a_i s_i^(-e) = 0 estimates delta; here that of least squares with weights (number of runs) s_i, since fluctuations
of order parameters fall as 1/sqrt(s). The weights are known beforehand and not estimated, so that the combination has
the variance sum a_i^2 E_i^2 and the degrees of freedom of Welch and Satterthwaite, however few the seeds.

e is 1 for smooth functions of averages, E f(mean) - f(E) ~ f'' var / 2 ~ 1/s, and 1/2 for those with a kink at zero.
Which one a quantity has is known by its nature; three sizes test it: one combination has the mean zero if the law
holds. Where the test does not reject the other law, its delta counts as possible, too: two laws that both fit leave
the limit between them. Where neither fits, the sizes are too small for either, and every pair of sizes by every law
counts, as does the largest size itself, and of three sizes the power of s that does fit (Aitken 1926): labels with
heavy tails approach the limit more slowly than by either law at the sizes that are run. The same where a law has the
smallest size off by more than half of the value: a leading term is no law there, and three points of a curve that
saturates may lie on it by accident. The next term, estimated by the square of the first, is part of the error of
whatever is extrapolated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.stats

from featlab.gaussian.hermite import Floats

EXPONENTS = (1.0, 0.5)
# Two laws, or, if neither fits: three pairs by two laws, the largest size, and the power that fits.
_MOST = 8
# A correction at the smallest size beyond this share of the value is no leading term.
_FAR = 0.5
_EQUAL = 0.02  # ratios of sizes, which are whole numbers


@dataclass(frozen=True)
class Differences:
    """Measured less predicted at several sizes; the sizes are along the first axis of the arrays.

    Attributes:
        sizes: s, ascending or not.
        seeds: how many runs each mean is of.
        value: mean difference.
        scatter: its standard error from the scatter of runs.
        predicted: the error of the prediction, which is the same mistake at every size.
        freedom: degrees of freedom of the scatter.
    """

    sizes: Floats
    seeds: Floats
    value: Floats
    scatter: Floats
    predicted: Floats
    freedom: Floats

    @property
    def known(self) -> np.ndarray:
        """Where there is a difference with an error."""
        return np.isfinite(self.value) & np.isfinite(self.scatter) & np.isfinite(self.predicted)

    def at(self, rungs: Sequence[int], where: np.ndarray) -> Differences:
        """Some of the sizes, at some of the points."""
        parts = (part[list(rungs)][:, where] for part in (self.value, self.scatter, self.predicted, self.freedom))
        return Differences(self.sizes[list(rungs)], self.seeds[list(rungs)], *parts)


@dataclass(frozen=True)
class Estimates:
    """What the difference may be in the limit: possible values along the first axis, NaN where there are fewer.

    Attributes:
        value, error, freedom: of each; the first is the one that is reported.
        exponent: e of the one that is reported; NaN where no law fits, and where nothing was extrapolated.
    """

    value: Floats
    error: Floats
    freedom: Floats
    exponent: Floats


def at_one_size(value: Floats, error: Floats, freedom: Floats) -> Estimates:
    """No extrapolation: the difference as it is."""
    return Estimates(value[None], error[None], freedom[None], np.full(value.shape, np.nan))


def in_the_limit(differences: Differences, smooth: bool, chance: float, *, scale: Floats | float = np.inf) -> Estimates:
    """The difference as the size goes to infinity, at every point that has a value at two sizes or more.

    Args:
        smooth: whether the quantity is a smooth function of averages, so that e = 1 is expected; else 1/2 is.
        chance: of rejecting a right law, at one point.
        scale: the size of the value itself at each point, next to which a correction must be small.
    """
    count, *shape = differences.value.shape
    flat = Differences(
        differences.sizes,
        differences.seeds,
        *(
            part.reshape(count, -1)
            for part in (differences.value, differences.scatter, differences.predicted, differences.freedom)
        ),
    )
    points = flat.value.shape[1]
    found = np.full((3, _MOST, points), np.nan)
    exponent = np.full(points, np.nan)
    known, sizes_of_values = flat.known, np.broadcast_to(scale, shape).reshape(-1)
    for pattern in np.unique(known, axis=1).T:
        rungs = [int(rung) for rung in np.flatnonzero(pattern)]
        where = np.flatnonzero(np.all(known == pattern[:, None], axis=0))
        if len(rungs) >= 2:
            found[:, :, where], exponent[where] = _possible(
                flat.at(rungs, where), smooth, chance, sizes_of_values[where]
            )
    value, error, freedom = (part.reshape(_MOST, *shape) for part in found)
    return Estimates(value, error, freedom, exponent.reshape(shape))


def _possible(given: Differences, smooth: bool, chance: float, scale: Floats) -> tuple[Floats, Floats]:
    """Every possible limit (value, error, freedom) of these points, and the exponent of the first."""
    laws = EXPONENTS if smooth else EXPONENTS[::-1]
    count, points = given.value.shape
    found = np.full((3, _MOST, points), np.nan)
    expected, other = (_with_next_term(_combined(given, _limit_weights(given, law)), given, scale) for law in laws)
    smallest = given.value[int(np.argmin(given.sizes))]
    near = np.array([np.abs(smallest - found[0]) <= _FAR * scale for found in (expected, other)])
    fits = near & [_fits(given, law, chance) for law in laws]
    first = np.where(fits[0] | ~fits[1], expected, other)
    second = np.where(fits[0] & fits[1], other, np.nan)
    found[:, 0], found[:, 1] = first, second
    exponent = np.where(fits[0], laws[0], np.where(fits[1], laws[1], np.nan))
    neither = np.flatnonzero(~fits.any(axis=0))
    if neither.size:
        found[:, :, neither] = _by_pairs(given.at(range(count), neither), laws, scale[neither])
    return found, exponent


def _with_next_term(limit: Floats, given: Differences, scale: Floats) -> Floats:
    """A limit (value, error, freedom) whose error counts what a law of one term leaves out: of c s^-e (1 + c' s^-e),
    with c' as large as c is next to the value, the product of the corrections at the smallest and the largest size."""
    value, error, freedom = limit
    corrections = [np.abs(given.value[int(place(given.sizes))] - value) for place in (np.argmin, np.argmax)]
    squared = corrections[0] * corrections[1]
    term = np.divide(squared, scale, out=np.zeros_like(squared), where=squared > 0)  # a value that is zero has none
    return np.stack([value, np.hypot(error, term), freedom])


def _by_pairs(given: Differences, laws: Sequence[float], scale: Floats) -> Floats:
    """The largest size itself, then every pair of sizes by every law."""
    count, points = given.value.shape
    last, every = int(np.argmax(given.sizes)), np.arange(points)
    found = [_combined(given, np.eye(count)[last])]
    for pair in combinations(range(count), 2):
        some = given.at(pair, every)
        found += [_with_next_term(_combined(some, _limit_weights(some, law)), some, scale) for law in laws]
    if count == 3:
        found.append(_with_next_term(_by_any_power(given), given, scale))
    padded = np.full((3, _MOST, points), np.nan)
    padded[:, : len(found)] = np.stack(found, axis=1)[:, :_MOST]
    return padded


def _by_any_power(given: Differences) -> Floats:
    """(value, error, freedom) of the limit of D_i = delta + c rho^i, 0 < rho < 1: any power of sizes in equal ratios.

    With t = (D_3 - D_2) / (D_1 + D_3 - 2 D_2), delta = D_3 - (D_3 - D_2) t has the derivatives t^2, 2 t - 2 t^2 and
    (1 - t)^2, by which errors are multiplied. NaN where the differences do not shrink, or the ratios are not equal.
    """
    order = np.argsort(given.sizes)
    ratios = given.sizes[order][1:] / given.sizes[order][:-1]
    first, second, third = given.value[order]
    with np.errstate(divide="ignore", invalid="ignore"):
        shrinks = (third - second) / (second - first)
        t = np.where((shrinks > 0) & (shrinks < 1), (third - second) / (first + third - 2 * second), np.nan)
    if abs(ratios[1] / ratios[0] - 1) > _EQUAL:
        t = np.full_like(t, np.nan)
    factors = np.empty(given.value.shape)
    factors[order] = t**2, 2 * t - 2 * t**2, (1 - t) ** 2
    shares = (factors * given.scatter) ** 2
    error = np.sum(shares, axis=0) + np.sum(factors * given.predicted, axis=0) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = error**2 / np.sum(shares**2 / given.freedom, axis=0)
    return np.stack([third - (third - second) * t, np.sqrt(error), freedom])


def _limit_weights(given: Differences, exponent: float) -> Floats:
    """a of least squares for the constant of a line in s^(-e), with the weights (runs) s."""
    x, weights = given.sizes**-exponent, given.seeds * given.sizes
    columns = np.stack([np.ones_like(x), x / np.max(x)])
    normal = (columns * weights) @ columns.T
    return np.asarray(np.linalg.solve(normal, columns * weights)[0])


def _fits(given: Differences, exponent: float, chance: float) -> np.ndarray:
    """Whether the points lie on a line in s^(-e) within their errors; two points always do.

    Of three points, b with sum b_i = 0 and sum b_i x_i = 0 is (x_2 - x_3, x_3 - x_1, x_1 - x_2).
    """
    if len(given.sizes) != 3:
        return np.ones(given.value.shape[1], dtype=bool)
    x = given.sizes**-exponent
    value, error, freedom = _combined(given, np.roll(x, -1) - np.roll(x, -2))
    return np.abs(value) <= scipy.stats.t.isf(chance / 2, freedom) * error


def _combined(given: Differences, weights: Floats) -> Floats:
    """(value, error, freedom) of sum_i a_i D_i."""
    shares = (weights[:, None] * given.scatter) ** 2
    scatter = np.sum(shares, axis=0)
    error = scatter + (weights @ given.predicted) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = error**2 / np.sum(shares**2 / given.freedom, axis=0)
    return np.stack([weights @ given.value, np.sqrt(error), np.where(np.isnan(freedom), np.inf, freedom)])
