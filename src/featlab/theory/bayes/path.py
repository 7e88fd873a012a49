"""State evolution iteration by iteration, as message passing takes it, and how far an inexact F leads it astray.

Statement: let F be off by a relative e. Then so is Qhat = alpha F, and U(Q) = Qhat (I + Qhat)^{-1} by e U (I - U). An
error of Q itself becomes one of U' times as much in the next Q: below 1 near a stable fixed point, above 1 on the way
out of a weak start and past a narrow place, where an error of F is an error of the time it takes. Along the path U' is
the ratio of the steps of U and of Q.

Where directions are interchangeable F(q I) = f(q) I. For three fields and more, where F takes seconds, the slow
stretches of such a path, which are most of it, are interpolated: (1 - q) f / q is an even function of the angle with
q = sin(angle)^2, and smooth (`family`); polynomials through five nodes are off by far less than F is.
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
_SPACING = 0.1  # of nodes
_STENCIL = 5
_FEW = 3  # iterations that are not worth a table
_FIRST, _LAST = 1e-4, 1 - 1e-9  # q at the nodes of the ends
_ALIKE = 1e-9  # entries of an overlap that differ by less are the same
_QUICK = 2  # fields; F of more takes seconds
_EXACT = 1e-4  # relative errors of F below which nothing is interpolated
_CLEAR = 4.0  # a step of Q tells a slope if it is so many times as large as what F's error alone may be


@dataclass(frozen=True)
class Path:
    """Q at every iteration until it rests, (T, r, r), and how far each entry may be off, (T, r, r)."""

    overlaps: Floats
    errors: Floats


def path_of(of: Target, alpha: float, start: Floats, iterations: int, damping: float = 0.0) -> Path:
    """From an overlap on; it ends early where nothing moves any more."""
    channel = channel_of(of)
    slow = of.rank + of.hidden > _QUICK and iterations > _FEW
    slow = slow and channel.relative_error(start) > _EXACT and interchangeable(of)
    updates = _Updates(channel, alpha, of.rank, slow)
    overlaps, after = [start], []
    for _ in range(iterations):
        check()
        after.append(updates.of(overlaps[-1], overlaps[-2] if len(overlaps) > 1 else None))
        new = (1 - damping) * after[-1] + damping * overlaps[-1]
        if np.linalg.norm(new - overlaps[-1]) <= _STILL:
            break
        overlaps.append(new)
    made = [channel.relative_error(one) * np.abs(two - two @ two) for one, two in zip(overlaps, after, strict=False)]
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
    """U(Q); where F is slow and F(q I) = f(q) I, by nodes at equal distances from the first Q, laid when needed."""

    channel: Channel
    alpha: float
    rank: int
    slow: bool
    _nodes: dict[int, float] = field(default_factory=dict)
    _begin: float = 0.0

    def of(self, overlap: Floats, before: Floats | None) -> Floats:
        """U at an overlap, to which state evolution came from another, None at the start."""
        angle = self._angle(overlap)
        if angle is None:
            return update(self.channel, self.alpha, overlap)
        if before is None:
            self._begin = angle
        there = angle if before is None else self._angle(before)
        inside = _SPACING < angle < 0.5 * np.pi - _SPACING
        if there is None or abs(angle - there) > _SPACING or not inside:
            return update(self.channel, self.alpha, overlap)
        gain = self.alpha * self._told(angle) * np.tan(angle) ** 2
        return gain / (1 + gain) * np.eye(self.rank)

    def _angle(self, overlap: Floats) -> float | None:
        """The angle of q I; None of any other overlap, and where F is not slow."""
        q = float(np.trace(overlap)) / self.rank
        if not self.slow or np.max(np.abs(overlap - q * np.eye(self.rank))) > _ALIKE:
            return None
        return float(np.arcsin(np.sqrt(np.clip(q, 0.0, 1.0))))

    def _told(self, angle: float) -> float:
        """(1 - q) f / q by the nodes on both sides of an angle and those known already that are next to them."""
        place = (angle - self._begin) / _SPACING
        if abs(place) < _ALIKE:
            return self._node(0)
        left = int(np.floor(place))
        way = 1 if place > 0 else -1  # where the path goes, so that what is laid beyond is needed later
        ahead, behind = (left + (one > 0) + one * np.arange(1, _STENCIL) for one in (way, -way))
        known = [node for node in self._nodes if abs(node - place) < _STENCIL]
        beside = sorted(known, key=lambda node: abs(node - place))
        # A right angle is no centre of symmetry.
        most = (0.5 * np.pi - self._begin) / _SPACING
        wanted = [node for node in dict.fromkeys([left, left + 1, *beside, *ahead, *behind]) if node < most]
        used = np.array(wanted[:_STENCIL])
        told = np.array([self._node(int(node)) for node in used])
        shares = [np.prod((place - np.delete(used, k)) / (one - np.delete(used, k))) for k, one in enumerate(used)]
        return float(np.array(shares) @ told)

    def _node(self, node: int) -> float:
        """(1 - q) f / q at a node."""
        if node not in self._nodes:
            q = float(np.clip(np.sin(self._begin + _SPACING * node) ** 2, _FIRST, _LAST))
            told = float(np.trace(self.channel.at(q * np.eye(self.rank)).information)) / self.rank
            self._nodes[node] = (1 - q) * told / q
        return self._nodes[node]
