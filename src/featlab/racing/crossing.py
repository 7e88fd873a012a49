"""From how many samples on a curve lies above a level: an estimate, and an interval that owns up to the grid.

Of measured values v (n x seeds), the crossing of their mean is interpolated linearly in log n, within the first pair of
neighbours between which the mean rises above the level. How it runs between two neighbours nobody has seen: so the
interval reaches from the lower neighbour to the upper one, of every bootstrap sample of the seeds but the outer 5%. It
covers the crossing of a rising curve with 95% at least, up to the bootstrap's own error with few seeds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featlab.gaussian.hermite import Floats

_SAMPLES, _CONFIDENCE = 2000, 0.95


@dataclass(frozen=True)
class Crossing:
    """Where a curve rises above a level.

    Attributes:
        at: the ratio n/d; 0 if the curve is above it from the smallest ratio on, infinity if it nowhere is.
        low, high: the ends of its interval; 0 is below all ratios, infinity beyond them.
        first, last: the ratios between which was looked.
    """

    at: float
    low: float
    high: float
    first: float
    last: float

    @property
    def text(self) -> str:
        """The ratio with its interval, "below 0.5", "not up to 16"."""
        if np.isinf(self.at):
            earlier = f", perhaps from {max(self.low, self.first):.3g}" if self.low < self.last else ""
            return f"not up to {self.last:.3g}{earlier}"
        if self.at == 0:
            return f"below {self.high:.3g}"
        low = f"{self.low:.3g}" if self.low else f"<{self.first:.3g}"
        high = f">{self.last:.3g}" if np.isinf(self.high) else f"{self.high:.3g}"
        return f"{self.at:.2g} ({low} to {high})"

    def samples(self, dim: int) -> str:
        """The same in samples at a dimension; empty where there is no number."""
        if not 0 < self.at < np.inf:
            return ""
        high = "?" if np.isinf(self.high) else f"{self.high * dim:,.0f}"
        return f"{float(f'{self.at * dim:.2g}'):,.0f} ({self.low * dim:,.0f} to {high})"


def crossing(ratios: Floats, values: Floats, level: float = 0.5, *, paired: bool = False) -> Crossing | None:
    """Of values (ratio, seed) at rising ratios; None if there are fewer than two ratios without a NaN in all seeds.

    Args:
        paired: whether a seed is the same run at every ratio, and is drawn as a whole.
    """
    known = np.isfinite(values).any(axis=1)
    if known.sum() < 2:
        return None
    ratios, values = ratios[known], values[known]
    bins, seeds = values.shape
    random = np.random.default_rng(0)
    drawn = random.integers(seeds, size=(_SAMPLES, 1 if paired else bins, seeds))
    means = np.nanmean(np.take_along_axis(np.broadcast_to(values, (_SAMPLES, bins, seeds)), drawn, axis=2), axis=2)
    at, low, high = _brackets(ratios, np.nanmean(values, axis=1)[None], level)
    _, lows, highs = _brackets(ratios, means, level)
    tail = (1 - _CONFIDENCE) / 2
    ends = (
        float(np.quantile(lows, tail, method="lower")),
        float(np.quantile(highs, 1 - tail, method="higher")),
    )
    return Crossing(
        float(at[0]), min(ends[0], float(low[0])), max(ends[1], float(high[0])), *map(float, ratios[[0, -1]])
    )


def _brackets(ratios: Floats, curves: Floats, level: float) -> tuple[Floats, Floats, Floats]:
    """Where each of the curves (curve, ratio) crosses, and the neighbours on both sides."""
    above = curves > level
    place = np.where(above.any(axis=1), above.argmax(axis=1), len(ratios))
    low = np.concatenate([[0.0], ratios])[place]
    high = np.concatenate([ratios, [np.inf]])[place]
    inner = (place > 0) & (place < len(ratios))
    at = np.where(place == 0, 0.0, np.inf)
    rows, upper = np.flatnonzero(inner), place[inner]
    before, after = curves[rows, upper - 1], curves[rows, upper]
    share = (level - before) / (after - before)
    at[inner] = np.exp((1 - share) * np.log(ratios[upper - 1]) + share * np.log(ratios[upper]))
    low = np.where(place == len(ratios), ratios[-1], low)
    return at, low, high
