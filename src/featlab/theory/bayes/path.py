"""State evolution iteration by iteration, as message passing takes it, and how far an inexact F leads it astray.

Statement: let F be off by a relative e. Then so is Qhat = alpha F, and U(Q) = Qhat (I + Qhat)^{-1} by e U (I - U). An
error of Q itself becomes one of U' times as much in the next Q: below 1 near a stable fixed point, above 1 on the way
out of a weak start and past a narrow place, where an error of F is an error of the time it takes. Along the path U' is
the ratio of the steps of U and of Q.

Where directions are interchangeable F(q I) = f(q) I, and for three fields and more, where F takes seconds, slow stretches
of the path, which are most of it, are interpolated: (1 - q) f / q is an even function of the angle with q = sin(angle)^2,
and smooth (`family`); between nodes that are pi / 64 apart a cubic is exact to 1e-5.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.interruption import check
from featlab.targets import Target
from featlab.theory.bayes.channel import Channel
from featlab.theory.bayes.channels import channel_of
from featlab.theory.bayes.state_evolution import update
from featlab.theory.bayes.symmetry import interchangeable

_STILL = 1e-9
_NODES = 32
_SPACING = 0.5 * np.pi / _NODES
_FIRST, _LAST = 1e-4, 1 - 1e-9  # q at the nodes of the ends
_ALIKE = 1e-9  # entries of an overlap that differ by less are the same
_QUICK = 2  # fields; F of more takes seconds
_CLEAR = 4.0  # a step of Q tells a slope if it is so many times as large as what F's error alone may be


@dataclass(frozen=True)
class Path:
    """Q at every iteration until it rests, (T, r, r), and how far each entry may be off, (T, r, r)."""

    overlaps: Floats
    errors: Floats


def path_of(of: Target, alpha: float, start: Floats, iterations: int, damping: float = 0.0) -> Path:
    """From an overlap on; it ends early where nothing moves any more."""
    updates = _Updates(channel_of(of), alpha, of.rank, of.rank + of.hidden > _QUICK and interchangeable(of))
    overlaps, after = [start], []
    for _ in range(iterations):
        check()
        after.append(updates.of(overlaps[-1], overlaps[-2] if len(overlaps) > 1 else None))
        new = (1 - damping) * after[-1] + damping * overlaps[-1]
        if np.linalg.norm(new - overlaps[-1]) <= _STILL:
            break
        overlaps.append(new)
    made = [
        updates.channel.relative_error(one) * np.abs(two - two @ two) for one, two in zip(overlaps, after, strict=False)
    ]
    return Path(np.array(overlaps), _propagated(np.array(overlaps), np.array(after), np.array(made), damping))


def _propagated(overlaps: Floats, after: Floats, made: Floats, damping: float) -> Floats:
    """The errors of Q (T, r, r) from those that U makes (T - 1 or T, r, r)."""
    errors, slopes = np.zeros_like(overlaps), _slopes(overlaps, after, made)
    for step, (own, slope) in enumerate(zip(made, slopes, strict=True)):
        if step + 1 == len(overlaps):
            break
        carried = np.maximum(slope[:, None], slope) * errors[step]
        errors[step + 1] = np.minimum((1 - damping) * (own + carried) + damping * errors[step], 1.0)
    return errors


def _slopes(overlaps: Floats, after: Floats, made: Floats) -> Floats:
    """U' of each direction at every Q (T, r): the larger of the ratios of the steps before and after it.

    Steps that an error of F might have made tell nothing; what the last clear ones told holds on, 1 if there were none.
    """
    count = len(after)
    moved, answered, own = (np.diagonal(matrices, axis1=1, axis2=2) for matrices in (overlaps[:count], after, made))
    steps = np.abs(np.diff(moved, axis=0))
    clear = steps > _CLEAR * own[1:]
    ratios = np.where(clear, np.abs(np.diff(answered, axis=0)) / np.where(clear, steps, 1.0), np.nan)
    beside = np.full((2, *moved.shape), np.nan)
    beside[0, 1:], beside[1, :-1] = ratios, ratios
    found, last = np.fmax(*beside), np.ones(moved.shape[1])
    for row in found:
        last = row[:] = np.where(np.isnan(row), last, row)
    return found


@dataclass(eq=False)
class _Updates:
    """U(Q), where F(q I) = f(q) I and `slow` from a table that is made where it is needed."""

    channel: Channel
    alpha: float
    rank: int
    slow: bool
    _table: dict[int, float] = field(default_factory=dict)

    def of(self, overlap: Floats, before: Floats | None) -> Floats:
        """U at an overlap, to which state evolution came from another."""
        here = self._angle(overlap)
        there = None if before is None or here is None else self._angle(before)
        if here is None or there is None or abs(here - there) > _SPACING:
            return update(self.channel, self.alpha, overlap)
        q = float(np.sin(here) ** 2)
        gain = self.alpha * self._interpolated(here) * q / (1 - q)
        return gain / (1 + gain) * np.eye(self.rank)

    def _angle(self, overlap: Floats) -> float | None:
        """The angle of q I; None of any other overlap, at the ends, and where F is not slow."""
        q = float(np.trace(overlap)) / self.rank
        if not self.slow or not _FIRST < q < _LAST or np.max(np.abs(overlap - q * np.eye(self.rank))) > _ALIKE:
            return None
        return float(np.arcsin(np.sqrt(q)))

    def _interpolated(self, angle: float) -> float:
        """(1 - q) f / q by the cubic through the four nodes around an angle."""
        first = int(angle / _SPACING) - 1
        off = angle / _SPACING - first - np.arange(4)
        spread = np.array([np.prod(np.delete(off, node)) for node in range(4)]) / np.array([-6.0, 2.0, -2.0, 6.0])
        return float(spread @ [self._node(first + node) for node in range(4)])

    def _node(self, place: int) -> float:
        """(1 - q) f / q at a node, even about 0 and about a right angle."""
        place = abs(place) if place <= _NODES else 2 * _NODES - place
        if place not in self._table:
            q = float(np.clip(np.sin(_SPACING * place) ** 2, _FIRST, _LAST))
            told = float(np.trace(self.channel.at(q * np.eye(self.rank)).information)) / self.rank
            self._table[place] = (1 - q) * told / q
        return self._table[place]
