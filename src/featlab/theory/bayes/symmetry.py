"""Reflections and exchanges of the directions that leave a target's label law alone: what they spare state evolution.

Statement: if g(D z) = e g(z) + c for a signed permutation D and e = +-1, then the label of D z tells as much as that of
z, so that F(D Q D^T) = D F(Q) D^T, and the average over omega may be taken over one representative of each orbit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.targets import Target

_SAME = 1e-9


@lru_cache(maxsize=64)
def reflections(target: Target) -> tuple[tuple[int, ...], ...]:
    """The vectors of signs s for which z -> s z (and some reflection of the noise inside the link) is a symmetry."""
    return tuple(
        signs for signs in product((1, -1), repeat=target.rank) if _is_symmetry(target, range(target.rank), signs)
    )


@lru_cache(maxsize=64)
def invariances(target: Target) -> Fold:
    """The reflections that leave the label itself alone: its level sets are symmetric under them."""
    points, labels, scale = _seen(target)
    unseen = (1,) * target.hidden
    kept = [s for s in reflections(target) if np.max(np.abs(target.link(points * (*s, *unseen)) - labels)) <= scale]
    return _fold(kept)


@lru_cache(maxsize=64)
def interchangeable(target: Target) -> bool:
    """Whether multiples of the identity are mapped to multiples of the identity by F.

    True if all reflections of single axes are symmetries (F keeps diagonal matrices diagonal) and some symmetry
    takes each axis to the next (their entries are equal).
    """
    rank = target.rank
    if rank == 1:
        return True
    axes = [tuple(-1 if axis == flipped else 1 for axis in range(rank)) for flipped in range(rank)]
    if not all(signs in reflections(target) for signs in axes):
        return False
    reached = {0}
    for order in permutations(range(rank)):
        if _is_symmetry(target, order, (1,) * rank):
            reached.add(order[0])
    return len(reached) == rank


def _seen(target: Target) -> tuple[Floats, Floats, float]:
    """Random points, their labels, and the difference between labels that is rounding."""
    points = np.random.default_rng(2).standard_normal((400, target.rank + target.hidden))
    labels = target.link(points)
    return points, labels, _SAME * float(np.sqrt(np.mean(labels**2)))


def _is_symmetry(target: Target, order: Iterable[int], signs: tuple[int, ...]) -> bool:
    """Whether g at permuted and reflected directions is g or minus g up to a constant, on random points."""
    points, labels, scale = _seen(target)
    order = [*order, *range(target.rank, points.shape[1])]
    for inside in product((1, -1), repeat=target.hidden):
        other = target.link(points[:, order] * (*signs, *inside))
        if any(np.ptp(other - sign * labels) <= scale for sign in (1, -1)):
            return True
    return False


@dataclass(frozen=True)
class Fold:
    """A group of reflections, and the axes whose positive halves together hold one point of each of its orbits."""

    signs: Floats
    halved: tuple[int, ...]

    def average(self, matrix: Floats) -> Floats:
        """The mean of D M D over the group."""
        return matrix * np.mean(self.signs[:, :, None] * self.signs[:, None, :], axis=0)

    def fixing(self, axes: Sequence[int]) -> Fold:
        """The subgroup that reflects none of these axes."""
        return _fold(self.signs[np.all(self.signs[:, list(axes)] > 0, axis=1)].tolist())

    def representative(self, points: Floats) -> Floats:
        """The image of each point (N, r) that is positive on the halved axes."""
        points = points.copy()
        for place, axis in enumerate(self.halved):
            fixed = np.all(self.signs[:, list(self.halved[:place])] > 0, axis=1)
            signs = self.signs[fixed & (self.signs[:, axis] < 0)][0]
            points[points[:, axis] < 0] *= signs
        return points


def _fold(group: Sequence[Sequence[float]]) -> Fold:
    rank = len(group[0])
    halved: list[int] = []
    rest = list(group)
    for axis in range(rank):
        if any(signs[axis] < 0 for signs in rest):
            halved.append(axis)
            rest = [signs for signs in rest if signs[axis] > 0]
    return Fold(np.array(group, dtype=float), tuple(halved))


def fold(target: Target, overlap: Floats) -> Fold:
    """The reflections that are symmetries of the target and of the overlap matrix Q."""
    return _fold([s for s in reflections(target) if np.allclose(np.outer(s, s) * overlap, overlap, rtol=0, atol=1e-12)])
