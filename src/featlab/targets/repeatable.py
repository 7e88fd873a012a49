"""Whether a function that was given as code is a function: the same value at the same point, whoever else is asked.

A function that draws random numbers, counts its calls, or looks at its whole batch (a mean, a rank, a norm) has no
Gaussian integrals, and every number computed from it would be an accident.
"""

from __future__ import annotations

import numpy as np

from featlab.errors import InvalidTarget
from featlab.targets.evaluate import Floats
from featlab.targets.surfaces import Function, gaussian_points

_POINTS, _ALONE = 96, 6
_ROUNDING = 1e-9  # of the largest value: a sum over a batch may be rounded in another order


def check_repeatable(function: Function, rank: int) -> None:
    """Ask it twice, backwards, in parts, one by one and in another shape; refuse it if an answer differs.

    Raises:
        InvalidTarget: with the point at which it differs, and the two values.
    """
    points = np.array(gaussian_points(_POINTS, rank, 85))
    asked = points.copy()
    first = function(asked)
    if not np.array_equal(asked, points):
        raise InvalidTarget("the function changes the array it is given", suggestion="let it work on a copy of it")
    again = "the function has two values at one point when it is called twice"
    _compare(points, first, function(points.copy()), again, "no random numbers, no counters; noise= adds noise")
    shaped = function(points.reshape(4, -1, rank)).reshape(-1)
    others = {
        "backwards": function(points[::-1].copy())[::-1],
        "in parts": np.concatenate([function(part.copy()) for part in np.split(points, [7, 40])]),
        "in another shape": shaped,
    }
    alone = np.concatenate([function(points[place : place + 1].copy()) for place in range(_ALONE)])
    others["one by one"] = np.concatenate([alone, first[_ALONE:]])
    for how, values in others.items():
        words = f"the function's value at a point depends on the other points of its batch: it differs {how}"
        _compare(points, first, values, words, "compute each value from its own fields alone, along the last axis")


def _compare(points: Floats, first: Floats, second: Floats, words: str, suggestion: str) -> None:
    with np.errstate(all="ignore"):
        scale = np.max(np.abs(first), where=np.isfinite(first), initial=0.0)
        same = (first == second) | (np.isnan(first) & np.isnan(second)) | (np.abs(first - second) <= _ROUNDING * scale)
    if same.all():
        return
    place = int(np.argmin(same))
    at = ", ".join(f"{x:.4g}" for x in points[place])
    raise InvalidTarget(f"{words}, {first[place]:.6g} and {second[place]:.6g} at ({at})", suggestion=suggestion)
