"""State evolution along Q = q I, where the directions are interchangeable: every fixed point at every alpha at once.

F(q I) = f(q) I does not depend on alpha, so q is a fixed point at alpha(q) = q / ((1 - q) f(q)). The reciprocal
a(q) = (1 - q) f(q) / q is tabulated once, over the angle with q = sin(angle)^2: functions of q and of sqrt(1 - q), the
scale on which a nearly perfect overlap changes F, are both smooth in it. The state grows while a(q) > 1 / alpha.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq

from featlab.gaussian.hermite import Floats
from featlab.theory.bayes.channel import Channel

_ANGLES = 33
_MARGIN = 0.01
_MIRRORED = 4
_DENSE = 4001
_SMALL_JUMP = 1e-3
# E[z | y] = 0 by symmetry leaves a rounding error here; a trivial direction leaves a number.
_TRIVIAL = 1e-10


@dataclass(frozen=True, eq=False)
class Family:
    """The channel along Q = q I for a target whose directions are interchangeable."""

    channel: Channel
    rank: int

    @cached_property
    def _table(self) -> tuple[Floats, Floats, bool]:
        angles = np.linspace(_MARGIN, 0.5 * np.pi - _MARGIN, _ANGLES)
        q = np.sin(angles) ** 2
        gains = np.array([self._gain(one) for one in q])
        trivial = self._gain(0.0) > _TRIVIAL
        values = (1 - q) * gains
        return angles, values if trivial else values / q, trivial

    def _gain(self, q: float) -> float:
        """f(q)."""
        return float(np.trace(self.channel.at(q * np.eye(self.rank)).information)) / self.rank

    @cached_property
    def _spline(self) -> CubicSpline:
        angles, values, _ = self._table
        # A function of q = sin(angle)^2 is even in the angle: mirrored nodes make the spline so.
        few = slice(_MIRRORED - 1, None, -1)
        return CubicSpline(np.append(-angles[few], angles), np.append(values[few], values))

    def reciprocal(self, angle: Floats) -> Floats:
        """a = (1 - q) f(q) / q = 1 / alpha(q) at q = sin(angle)^2."""
        value = self._spline(angle)
        return value / np.sin(angle) ** 2 if self._table[2] else value

    @cached_property
    def _dense(self) -> tuple[Floats, Floats]:
        angles = np.linspace(1e-4, 0.5 * np.pi, _DENSE)
        return angles, self.reciprocal(angles)

    def threshold(self) -> float:
        """The smallest alpha at which q = 0 is unstable: 0 for trivial directions, infinite if nothing is seen."""
        if self._table[2]:
            return 0.0
        value = float(self._spline(0.0))
        return 1 / value if value > 1e-6 else np.inf

    def jumps(self) -> list[tuple[float, float, float]]:
        """First-order jumps as alpha grows, from a small overlap: (alpha, overlap before, overlap after)."""
        angles, values = self._dense
        lowest = np.minimum.accumulate(values)
        # The climbing state rests where a(q) reaches a new minimum; between two such stretches it jumps.
        resting = values <= lowest
        found = []
        for place in np.nonzero(resting[:-1] & ~resting[1:])[0]:
            later = np.nonzero(resting[place + 1 :])[0]
            after = angles[place + 1 + later[0]] if later.size else 0.5 * np.pi
            low, high = float(np.sin(angles[place]) ** 2), float(np.sin(after) ** 2)
            if values[place] > 0 and high - low > _SMALL_JUMP:
                found.append((float(1 / values[place]), low, high))
        return found

    def from_below(self, alpha: float, start: float) -> float:
        """Where state evolution goes from a small overlap."""
        angles, values = self._dense
        begin = int(np.searchsorted(angles, np.arcsin(np.sqrt(start))))
        if values[min(begin, _DENSE - 1)] * alpha > 1:
            return self._first(alpha, np.arange(begin, _DENSE))
        return self._first(alpha, np.arange(begin, -1, -1))

    def from_above(self, alpha: float) -> float:
        """Where state evolution goes from a nearly perfect overlap."""
        if self._dense[1][-1] * alpha > 1:
            return 1.0
        return self._first(alpha, np.arange(_DENSE - 1, -1, -1))

    def _first(self, alpha: float, order: NDArray[np.intp]) -> float:
        """The first crossing of a = 1 / alpha met on the way; the end of the way if there is none."""
        angles, values = self._dense
        excess = values[order] * alpha - 1
        crossed = np.nonzero(excess[1:] * excess[0] <= 0)[0]
        if crossed.size == 0:
            return 1.0 if order[-1] > 0 else 0.0
        ends = sorted((angles[order[crossed[0]]], angles[order[crossed[0] + 1]]))
        root = brentq(lambda angle: float(self.reciprocal(angle)) * alpha - 1, *ends)
        return float(np.sin(root) ** 2)
