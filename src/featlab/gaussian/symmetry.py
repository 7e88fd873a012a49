"""Reflections and exchanges of the coordinates that leave a function alone, or reflect its values.

Statement: if g(D z) = g(z) for a signed permutation D, then E[psi(z) | g(z) = y] = E[psi(D z) | g(z) = y]; if
g(D z) = 2c - g(z), the same with 2c - y on the right. What is averaged over all directions may then be averaged over
one of every orbit: as many points lie denser by the order of the group, up to 2^D D!.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations, product
from math import factorial

import numpy as np

from featlab.gaussian.hermite import Floats, Integers

_SAME = 1e-9
_UNTURNED = 1e-12  # of a matrix that a symmetry keeps
# Random points of both sizes: the first few sort out almost every candidate, all of them confirm the rest.
_POINTS, _FEW, _FAR = 400, 8, 2.5


@dataclass(frozen=True, eq=False)
class Symmetries:
    """A group of signed permutations D, z -> (sign_i z_order_i)_i, and what each does to the values of a function.

    Attributes:
        orders, signs: (g, D); the identity is the first.
        reversing: (g,) whether g(D z) = 2 centre - g(z) instead of g(z).
        centre: of that reflection of the values.
    """

    orders: Integers
    signs: Floats
    reversing: np.ndarray[tuple[int], np.dtype[np.bool_]]
    centre: float

    @property
    def dimension(self) -> int:
        return self.orders.shape[1]

    def __len__(self) -> int:
        return len(self.orders)

    @cached_property
    def reflections(self) -> Floats:
        """The signs (f, D) of the elements that exchange nothing."""
        return self.signs[np.all(self.orders == np.arange(self.dimension), axis=1)]

    @cached_property
    def halved(self) -> tuple[int, ...]:
        """Axes whose positive halves together hold one point of every orbit of the reflections."""
        found: list[int] = []
        rest = self.reflections
        for axis in range(self.dimension):
            if np.any(rest[:, axis] < 0):
                found.append(axis)
                rest = rest[rest[:, axis] > 0]
        return tuple(found)

    @property
    def exchanges_all(self) -> bool:
        """Whether every permutation of the coordinates is an element, with some signs."""
        return len(self) == len(self.reflections) * factorial(self.dimension)

    def mirror(self, points: Floats) -> Floats | None:
        """The points (N, D) under some element that reverses the values; None if there is none."""
        found = np.flatnonzero(self.reversing)
        return points[:, self.orders[found[0]]] * self.signs[found[0]] if found.size else None

    def average(self, moments: Floats) -> Floats:
        """The mean of D M D^T over the elements that keep the values, for M (N, q, q) in the first q coordinates."""
        size = moments.shape[-1]
        kept = ~self.reversing
        turned = np.zeros((size * size, size * size))
        for order, signs in zip(self.orders[kept, :size], self.signs[kept, :size], strict=True):
            matrix = np.zeros((size, size))
            matrix[np.arange(size), order] = signs
            turned += np.kron(matrix, matrix)
        return (moments.reshape(-1, size * size) @ (turned.T / np.count_nonzero(kept))).reshape(moments.shape)

    def first(self, count: int) -> Symmetries:
        """What the elements do to the first coordinates, a whole number of blocks."""
        return replace(self, orders=self.orders[:, :count], signs=self.signs[:, :count])

    def fixing(self, matrix: Floats) -> Symmetries:
        """The elements that keep the values and a matrix M (q, q), D M D^T = M, in the first q coordinates alone."""
        size = len(matrix)
        orders, signs = self.orders[:, :size], self.signs[:, :size]
        turned = matrix[orders[:, :, None], orders[:, None, :]] * signs[:, :, None] * signs[:, None, :]
        kept = ~self.reversing & np.all(np.abs(turned - matrix) <= _UNTURNED, axis=(1, 2))
        return Symmetries(orders[kept], signs[kept], self.reversing[kept], self.centre)

    def folded(self, points: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """One point of each orbit of weighted points (N, D), with the weight of the orbit."""
        if not self.dimension:
            return points, weights
        largest = points.copy()
        for order, signs in zip(self.orders, self.signs, strict=True):
            image = points[:, order] * signs
            differs = np.abs(image - largest) > _SAME
            first = np.argmax(differs, axis=1)[:, None]
            ahead = np.take_along_axis(image - largest, first, axis=1) > _SAME  # in lexicographic order
            largest = np.where(ahead, image, largest)
        _, chosen, orbit = np.unique(np.round(largest / _SAME), axis=0, return_index=True, return_inverse=True)
        return largest[chosen], np.bincount(orbit.ravel(), weights).astype(float)


def symmetries(function: Callable[[Floats], Floats], blocks: Sequence[int]) -> Symmetries:
    """The signed permutations within blocks of coordinates under which a function of points (N, D) is symmetric.

    They are found by trial, on random points: a feature that none of 400 points sees, half of them up to 2.5 times as
    far out as Gaussian ones, is missed.

    Args:
        blocks: how many coordinates each block has; coordinates of different blocks are not exchanged.
    """
    points = np.random.default_rng(2).standard_normal((_POINTS, sum(blocks)))
    points[1::2] *= _FAR
    values = function(points)
    middle = float(np.median(values))
    yardstick = _SAME * float(np.median(np.abs(values - middle)))
    orders, signs = _candidates(blocks)
    centres = np.full(len(orders), np.nan)
    kept = reversing = np.zeros(len(orders), dtype=bool)
    for rows in (slice(0, _FEW), slice(0, _POINTS)):
        here, before = points[rows], values[rows]
        moved = np.swapaxes(here[:, orders], 0, 1) * signs[:, None, :]
        after = function(moved.reshape(-1, here.shape[1])).reshape(len(orders), -1)
        room = yardstick + _SAME * (np.abs(after) + np.abs(before))
        kept = np.all(np.abs(after - before) <= room, axis=1)
        centres = 0.5 * np.median(after + before, axis=1)
        reversing = ~kept & np.all(np.abs(after + before - 2 * centres[:, None]) <= room, axis=1)
        found = np.flatnonzero(kept | reversing)
        orders, signs, centres, reversing = orders[found], signs[found], centres[found], reversing[found]
    centre = float(centres[reversing][0]) if reversing.any() else 0.0
    return Symmetries(orders, signs, reversing, centre)


def no_symmetries(dimension: int) -> Symmetries:
    """The identity alone."""
    return Symmetries(np.arange(dimension)[None], np.ones((1, dimension)), np.zeros(1, dtype=bool), 0.0)


def _candidates(blocks: Sequence[int]) -> tuple[Integers, Floats]:
    """All signed permutations within the blocks, the identity first."""
    starts = np.concatenate([[0], np.cumsum(blocks)])
    within = [
        [tuple(start + place for place in order) for order in permutations(range(size))]
        for start, size in zip(starts[:-1].tolist(), blocks, strict=True)
    ]
    orders = [sum(choice, ()) for choice in product(*within)]
    signs = list(product((1.0, -1.0), repeat=sum(blocks)))
    return np.repeat(np.array(orders, dtype=np.intp), len(signs), axis=0), np.tile(np.array(signs), (len(orders), 1))
