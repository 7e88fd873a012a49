"""Points that look for something: where a function is lowest, and a surface {K = 0}.

A surface is found where random lines cross it, and where |K| comes down to zero without crossing.

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


def within(points: Floats, reach: float) -> Floats:
    """The points, those further out than `reach` moved in to that distance."""
    length = np.linalg.norm(points, axis=-1, keepdims=True)
    return points * np.minimum(1.0, reach / np.maximum(length, 1e-12))


def spread_points(variables: int, reach: float, count: int = 400) -> Floats:
    """Gaussian points stretched by 1, 2, 4 and 8, none further out than `reach`."""
    points = np.concatenate([scale * gaussian_points(count, variables, 7) for scale in (1.0, 2.0, 4.0, 8.0)])
    return within(points, reach)


def low_points(function: Function, variables: int, reach: float) -> Floats:
    """Spread points, and points found by moving those with the lowest values of the function further down."""
    points = spread_points(variables, reach)
    best = points
    for round_number, scale in enumerate((2.0, 1.0, 0.5, 0.2, 0.05)):
        height = function(best)
        lowest = best[np.argsort(np.where(np.isnan(height), np.inf, height))[:8]]
        moves = scale * gaussian_points(8 * 24, variables, 30 + round_number)
        best = np.concatenate([lowest, within(np.repeat(lowest, 24, axis=0) + moves, reach)])
    return np.concatenate([points, best])


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
