"""Where a measured, increasing curve reaches a level: the number of samples at which an accuracy is 90%, say."""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import isotonic_regression

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats


def crossing(x: ArrayLike, y: ArrayLike, level: float) -> float:
    """The x at which y(x) reaches `level`, for a law that increases with x > 0 and is measured with errors.

    The measurements are made increasing by least squares (isotonic regression; Barlow, Bartholomew, Bremner, Brunk
    1972), so that a lucky point does not count as an early crossing, and interpolated linearly in log x.

    Returns:
        The crossing; inf, if y stays below the level at every x; 0, if it is reached at the smallest x already. Neither
        is a measurement, and `fit_power_law` refuses both.

    Raises:
        InvalidParameter: for x that are not positive, finite and distinct, y of another shape or not finite.

    Examples:
        >>> from featlab.gaussian import crossing
        >>> round(crossing([1.0, 2.0, 4.0], [0.0, 0.4, 0.8], level=0.4), 6)
        2.0
    """
    points, values = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if points.ndim != 1 or not points.size or not np.all(np.isfinite(points)) or np.any(points <= 0):
        raise InvalidParameter("x", x, "a sequence of finite numbers above 0")
    if values.shape != points.shape or not np.all(np.isfinite(values)):
        raise InvalidParameter("y", y, f"one finite measurement for each x, which has shape {points.shape}")
    order = np.argsort(points)
    points, values = points[order], values[order]
    if np.any(np.diff(points) == 0):
        raise InvalidParameter("x", x, "distinct numbers; average repeated measurements first")
    law = isotonic_regression(values).x
    if law[0] >= level:
        return 0.0
    if law[-1] < level:
        return inf
    above = int(np.argmax(law >= level))
    share = (level - law[above - 1]) / (law[above] - law[above - 1])
    return float(points[above - 1] * (points[above] / points[above - 1]) ** share)


def crossing_with_error(x: ArrayLike, samples: ArrayLike, level: float) -> tuple[float, float]:
    """The `crossing` of the mean over seeds, and its standard error.

    The error is that of log x by the jackknife (Efron and Stein 1981), times x: one seed is left out at a time, at all
    x. It is infinite if without some seed there is no crossing, and where there is none with all of them.

    Args:
        x: as in `crossing`.
        samples: measurements, seeds along the first axis, at least two, and x along the second.
        level: the level.

    Raises:
        InvalidParameter: fewer than two seeds.

    Examples:
        >>> from featlab.gaussian import crossing_with_error
        >>> seeds = [[0.0, 0.3, 0.8], [0.0, 0.5, 0.8], [0.1, 0.4, 0.9]]
        >>> x, error = crossing_with_error([1.0, 2.0, 4.0], seeds, level=0.4)
        >>> round(x, 2), error > 0
        (2.0, True)
    """
    values = np.asarray(samples, dtype=np.float64)
    if values.ndim != 2 or len(values) < 2:
        raise InvalidParameter("samples", f"shape {values.shape}", "at least two seeds along the first of two axes")
    found = crossing(x, values.mean(axis=0), level)
    count = len(values)
    without = np.array([crossing(x, np.delete(values, seed, axis=0).mean(axis=0), level) for seed in range(count)])
    if not (0 < found < inf) or not np.all((without > 0) & (without < inf)):
        return found, inf
    return found, float(found * np.sqrt((count - 1) * np.var(np.log(without))))


def hitting_times(times: ArrayLike, curves: ArrayLike, level: float) -> Floats:
    """When each curve (the last axis is time) first reaches `level`, interpolated linearly between looks.

    A look that is not a number is passed over: curves that were looked at at times of their own share an axis.

    Returns:
        Of the other axes' shape; inf for a curve that never reaches it, the first time for one that begins there.
    """
    at, values = np.asarray(times, dtype=np.float64), np.asarray(curves, dtype=np.float64)
    if at.ndim != 1 or values.shape[-1:] != at.shape or np.any(np.diff(at) <= 0):
        raise InvalidParameter("times", at.shape, f"increasing, one for each of the {values.shape[-1:]} values")
    reached = values >= level
    after = np.argmax(reached, axis=-1)
    seen = np.maximum.accumulate(
        np.where(np.isnan(values), -1, np.arange(at.size)), axis=-1
    )  # the last look until then
    last = np.take_along_axis(seen, np.expand_dims(np.maximum(after - 1, 0), -1), -1)[..., 0]
    before = np.where((after > 0) & (last >= 0), last, after)
    low, high = (np.take_along_axis(values, np.expand_dims(place, -1), -1)[..., 0] for place in (before, after))
    share = np.where(before < after, (level - low) / np.where(before < after, high - low, 1.0), 0.0)
    found = at[before] + share * (at[after] - at[before])
    return np.where(np.any(reached, axis=-1), found, inf)
