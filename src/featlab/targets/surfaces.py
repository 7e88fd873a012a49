"""Points on a surface {K = 0}: where random lines cross it, and where |K| comes down to zero without crossing.

All points are deterministic: they come from fixed keys.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from featlab.targets.evaluate import Floats

Function = Callable[[Floats], Floats]


@cache
def gaussian_points(count: int, variables: int, key: int = 0) -> Floats:
    """Fixed standard normal points (count, variables)."""
    points = np.random.default_rng([20240, key, variables]).standard_normal((count, variables))
    points.setflags(write=False)
    return points


def unit_vectors(vectors: Floats) -> Floats:
    """The vectors along the last axis, divided by their lengths."""
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


class Crossings(NamedTuple):
    """Points (k, m) where lines cross a surface, and the unit directions (k, m) of the lines."""

    points: Floats
    directions: Floats


def crossings(function: Function, variables: int, lines: int = 32, reach: float = 6.0, key: int = 0) -> Crossings:
    """Where random lines through the bulk of the Gaussian cross {function = 0} with a change of sign.

    Each line is cut into 96 pieces out to `reach`; every piece with a change of sign is bisected to rounding error. At
    most four crossings are kept per line.
    """
    starts = gaussian_points(lines, variables, key + 1)
    directions = unit_vectors(gaussian_points(lines, variables, key + 2))
    steps = np.linspace(-reach, reach, 97) + 1e-3
    grid = starts[:, None, :] + steps[None, :, None] * directions[:, None, :]
    signs = np.sign(function(grid))
    line, piece = np.nonzero(signs[:, :-1] * signs[:, 1:] < 0)
    order = np.concatenate([np.flatnonzero(line == index)[:4] for index in range(lines)]) if len(line) else line
    line, piece = line[order], piece[order]
    low, high = steps[piece], steps[piece + 1]
    low_sign = signs[line, piece]
    for _ in range(60):
        middle = 0.5 * (low + high)
        same = np.sign(function(starts[line] + middle[:, None] * directions[line])) == low_sign
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return Crossings(starts[line] + (0.5 * (low + high))[:, None] * directions[line], directions[line])


def touching_points(function: Function, gradient: Function, variables: int, reach: float = 8.0, key: int = 0) -> Floats:
    """Points (k, m) where |function| descends to zero, such as the origin for h1**2 + h2**2.

    Newton steps x <- x - K grad K / |grad K|^2 halve the distance to a double zero, so 90 of them end at rounding
    error; points where |K| has not fallen by a factor 1e-12 are dropped.
    """
    points = np.array(gaussian_points(24, variables, key + 3))
    start = np.abs(function(points))
    for _ in range(90):
        value, slope = function(points), gradient(points)
        with np.errstate(all="ignore"):
            step = (value / np.sum(slope**2, axis=1))[:, None] * slope
        step = np.where(np.isfinite(step), step, 0.0)
        length = np.linalg.norm(step, axis=1, keepdims=True)
        points = points - step * np.minimum(1.0, 1.0 / np.maximum(length, 1e-300))
    near = np.abs(function(points)) <= 1e-12 * np.maximum(start, 1e-6)
    return points[near & (np.linalg.norm(points, axis=1) < reach)]
