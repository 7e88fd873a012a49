"""Poles of a function that nothing is known of but its values.

On lines cut into short pieces, every highest point of |f| is climbed to rounding error. There |f| ~ distance^(-s) is
fitted at distances down to 1e-9: a smooth maximum, however narrow, has s = 0 by then. Beside the lines the pole is
looked for again: if it is there too it lies on a surface, and E f^2 is infinite from its s = 1/2 on; what is stronger
than beside it, or not there, may lie at a point, and E f^2 is infinite from s = rank/2 on at the latest.

A pole that is lower, 1/160 from its centre, than what surrounds it may be missed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from featlab.gaussian.hermite import Integers
from featlab.targets.evaluate import Floats
from featlab.targets.surfaces import Function, gaussian_points, unit_vectors

_LINES, _PIECES, _REACH = 24, 960, 6.0
_CENTRAL = 8  # further lines, through the origin
_MOST = 48
_CLIMBS = 90
_GOLDEN = 0.381966
_NEAR = np.array([1e-5, 1e-7, 1e-9])
_LEAST_STRENGTH = 0.02  # log|h| has the strength 1/|log distance|, 0.05 here
_SIDESTEP = 1e-3


class Pole(NamedTuple):
    """Where |f| grows without bound, like distance^(-strength), on something of that codimension at most."""

    point: Floats
    strength: float
    codimension: int

    @property
    def too_strong(self) -> bool:
        """Whether E f^2 is infinite: twice the strength reaches the codimension (up to the error of a fit)."""
        return 2.0 * self.strength > self.codimension - 0.02


def find_poles(function: Function, rank: int) -> list[Pole]:
    """Those that lines through the bulk of the Gaussian meet, the strongest first."""
    lines = unit_vectors(gaussian_points(_LINES + _CENTRAL, rank, 95))
    starts = np.concatenate([gaussian_points(_LINES, rank, 94), np.zeros((_CENTRAL, rank))])
    steps = np.linspace(-_REACH, _REACH, _PIECES + 1) + 1e-3 * np.sqrt(2)
    heights = _height(function, starts[:, None, :] + steps[:, None] * lines[:, None, :])
    line, piece = np.nonzero((heights[:, 1:-1] >= heights[:, :-2]) & (heights[:, 1:-1] >= heights[:, 2:]))
    highest = np.argsort(-heights[line, piece + 1])[:_MOST]
    line, piece = line[highest], piece[highest]
    place = _climbed(function, starts[line], lines[line], steps[piece], steps[piece + 2])
    points = starts[line] + place[:, None] * lines[line]
    strength = _strength(function, points, lines[line])
    found = []
    for k in np.flatnonzero(strength > _LEAST_STRENGTH):
        beside = float(strength[k]) if rank == 1 else _strength_beside(function, points[k], lines[line[k]])
        found += [Pole(points[k], beside, 1)] if beside > _LEAST_STRENGTH else []
        found += [Pole(points[k], float(strength[k]), rank)] if strength[k] > beside + _LEAST_STRENGTH else []
    return sorted(found, key=lambda pole: 2.0 * pole.strength - pole.codimension, reverse=True)


def _height(function: Function, points: Floats) -> Floats:
    value = np.abs(function(points))
    return np.where(np.isnan(value), 0.0, value)


def _climbed(function: Function, starts: Floats, lines: Floats, low: Floats, high: Floats) -> Floats:
    """The highest points of |f| on pieces of lines, by golden section."""

    def at(place: Floats) -> Floats:
        return _height(function, starts + place[:, None] * lines)

    for _ in range(_CLIMBS):
        left, right = low + _GOLDEN * (high - low), high - _GOLDEN * (high - low)
        up = at(left) < at(right)
        low, high = np.where(up, left, low), np.where(up, high, right)
    return 0.5 * (low + high)


def _strength(function: Function, points: Floats, lines: Floats) -> Floats:
    """s of |f| ~ distance^(-s), on the side on which it is less; 0 where it does not grow all the way."""
    sides = []
    for side in (1.0, -1.0):
        near = _height(function, points[:, None, :] + side * _NEAR[:, None] * lines[:, None, :])
        with np.errstate(all="ignore"):
            slopes = np.diff(np.log(near), axis=1) / -np.diff(np.log(_NEAR))
        sides.append(np.where(np.isfinite(slopes).all(axis=1), slopes.min(axis=1), 0.0))
    return np.minimum(*sides)


def _strength_beside(function: Function, point: Floats, line: Floats) -> float:
    """The strength of what is met on lines close by: that of a surface, or 0 beside a point."""
    starts = point + _SIDESTEP * gaussian_points(4, len(point), 96)
    steps = np.linspace(-20 * _SIDESTEP, 20 * _SIDESTEP, 401)
    heights = _height(function, starts[:, None, :] + steps[:, None] * line)
    top: Integers = np.clip(np.argmax(heights, axis=1), 1, len(steps) - 2)
    lines = np.broadcast_to(line, starts.shape)
    place = _climbed(function, starts, lines, steps[top - 1], steps[top + 1])
    return float(np.median(_strength(function, starts + place[:, None] * lines, lines)))
