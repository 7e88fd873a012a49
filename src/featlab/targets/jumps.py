"""Jumps of a function that nothing is known of but its values.

Random lines are cut into short pieces, and each piece is halved again and again, always keeping the half across which
the function changes more. A continuous function ends with no change; a jump keeps its size. Through the points found
this way planes are laid: the normal at a point follows from where the jump lies on lines close by. Jumps on planes
become kinks; a jump on no plane (a curved surface, or too far out) becomes a doubt that asks for `kinks=`. A jump that
is smaller than the slope times the length of a piece, 1/80, may be missed: it is a small part of what is integrated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from featlab.gaussian.hermite import Integers
from featlab.targets.evaluate import Floats
from featlab.targets.surfaces import Function, gaussian_points, unit_vectors

Truths = NDArray[np.bool_]

_LINES = 40
_REACH = 6.0
_PIECES = 960
_WIDE, _NARROW = 1e-5, 1e-11  # a jump is as large across the second as across the first
_LEAST = 1e-6  # of the function's spread
_SIDESTEP = 1e-3
_ON_PLANE = 1e-9
_LEAST_SUPPORT = 3
_MAX_POINTS = 400
_MAX_PLANES = 64


class Plane(NamedTuple):
    """The points h with normal . h = offset; the first large entry of the unit normal is positive."""

    normal: Floats
    offset: float


class Jumps(NamedTuple):
    """Planes on which a function jumps, and points (k, rank) of jumps that lie on none of them."""

    planes: tuple[Plane, ...]
    stray: Floats


def find_jumps(function: Function, rank: int, kinks: Sequence[Function]) -> Jumps:
    """The jumps within six standard deviations that lie on no declared kink."""
    points, directions = _jump_points(function, rank)
    for kink in kinks:
        undeclared = ~_crossed(kink, points, directions)
        points, directions = points[undeclared], directions[undeclared]
    left, planes = np.ones(len(points), dtype=bool), list[Plane]()
    for index in range(len(points)):
        if not left[index] or len(planes) == _MAX_PLANES:
            continue
        plane = _plane_at(function, points[index], directions[index])
        if plane is None:
            continue
        near = np.abs(points @ plane.normal - plane.offset) < 1e3 * _ON_PLANE
        if near.sum() >= (1 if rank == 1 else _LEAST_SUPPORT):
            plane = _through(points[near], plane)
            on = np.abs(points @ plane.normal - plane.offset) < _ON_PLANE
            if on.sum() == near.sum():
                planes.append(plane)
                left &= ~on
    return Jumps(tuple(planes), points[left])


def _jump_points(function: Function, rank: int) -> tuple[Floats, Floats]:
    """Points where the function jumps along a line, each with the direction of its line."""
    starts = gaussian_points(_LINES, rank, 90)
    lines = unit_vectors(np.concatenate([gaussian_points(_LINES - rank, rank, 91), np.eye(rank)]))
    edges = np.linspace(-_REACH, _REACH, _PIECES + 1) + 1e-3 * np.sqrt(2)
    at = np.repeat(starts, _PIECES, axis=0)
    along = np.repeat(lines, _PIECES, axis=0)
    low, high = np.tile(edges[:-1], _LINES), np.tile(edges[1:], _LINES)
    spread = np.nanstd(function(np.array(gaussian_points(400, rank, 92))))
    keep, place = _located(lambda t, rows: function(at[rows] + t[:, None] * along[rows]), low, high, float(spread))
    found = np.flatnonzero(keep)[:_MAX_POINTS]
    return at[found] + place[found][:, None] * along[found], along[found]


def _located(
    values: Callable[[Floats, Integers], Floats], low: Floats, high: Floats, spread: float
) -> tuple[Truths, Floats]:
    """Which intervals [low, high] hold a jump of values(position, interval numbers), and where it is."""
    rows: Integers = np.arange(len(low), dtype=np.intp)
    below, above = values(low, rows), values(high, rows)
    wide = np.zeros(len(low))
    while (high - low).max() > _NARROW:
        middle = 0.5 * (low + high)
        between = values(middle, rows)
        with np.errstate(all="ignore"):
            right = np.abs(above - between) > np.abs(between - below)
        low, below = np.where(right, middle, low), np.where(right, between, below)
        high, above = np.where(right, high, middle), np.where(right, above, between)
        if (high - low).max() > _WIDE / 2:
            wide = _change(below, above)
    change = _change(below, above)
    return (change > 0.5 * wide) & (change > _LEAST * spread), 0.5 * (low + high)


def _change(below: Floats, above: Floats) -> Floats:
    with np.errstate(all="ignore"):  # between two poles it is not a number, and no jump
        return np.abs(above - below)


def _crossed(kink: Function, points: Floats, directions: Floats) -> Truths:
    """Whether a declared kink changes sign, or vanishes, at the points."""
    before, after = (np.asarray(kink(points + side * _WIDE * directions)) for side in (-1.0, 1.0))
    return np.sign(before) * np.sign(after) <= 0


def _plane_at(function: Function, point: Floats, direction: Floats) -> Plane | None:
    """The plane that the jump surface touches at a point; None if the jump is lost on a line close by.

    On the line through point + s e_j the jump lies tau_j further along u; the normal n with n . u = 1 is then
    n_j = -tau_j / s.
    """
    rank = len(point)
    starts = point + _SIDESTEP * np.eye(rank)
    reach = np.full(rank, 20 * _SIDESTEP)

    def values(t: Floats, rows: Integers) -> Floats:
        return function(starts[rows] + t[:, None] * direction)

    spread = float(np.abs(np.diff(function(point + np.outer([-_WIDE, _WIDE], direction))))[0])
    found, shift = _located(values, -reach, reach, spread)
    if not found.all():
        return None
    normal = -shift / _SIDESTEP
    normal = normal / np.linalg.norm(normal)
    normal = np.where(np.abs(normal) < 1e-4, 0.0, normal) if rank > 1 else np.ones(1)
    normal = normal * np.sign(normal[np.argmax(np.abs(normal) > 1e-3)])
    return Plane(normal, float(normal @ point))


def _through(points: Floats, plane: Plane) -> Plane:
    """The plane of least squares through points, in the coordinates that the first guess depends on."""
    used = plane.normal != 0
    centre = points[:, used].mean(axis=0)
    if len(points) < used.sum():
        return plane
    inner = np.ones(1) if used.sum() == 1 else np.linalg.svd(points[:, used] - centre)[2][-1]
    inner = inner * np.sign(inner[0])
    normal = np.zeros(len(used))
    normal[used] = inner
    offset = float(inner @ centre)
    return Plane(normal, offset if abs(offset) > _ON_PLANE else 0.0)
