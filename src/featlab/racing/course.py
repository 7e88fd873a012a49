"""What all entrants of a race have in common: the target, the dimension, the numbers of samples, the seeds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite, log2

import numpy as np

from featlab.analysis import Analysis
from featlab.errors import InvalidParameter

_MOST_RATIOS = 64
_EXPECTED = (
    f"2 to {_MOST_RATIOS} of them, none twice: LOW:HIGH, doubling from LOW, LOW:HIGH:COUNT, or numbers above 0 such as "
    "0.5,1,2"
)


@dataclass(frozen=True)
class Course:
    """A race before anybody runs.

    Attributes:
        analysis: of the target.
        dim: the dimension d.
        ratios: n/d, rising.
        seeds: runs of each entrant at each ratio.
        key: the root of all randomness.
    """

    analysis: Analysis
    dim: int
    ratios: tuple[float, ...]
    seeds: int
    key: int

    @property
    def label_variance(self) -> float:
        """Var y, noise of both kinds included."""
        energies = self.analysis.energies
        return float(energies.variance + energies.hidden_variance + self.analysis.target.noise)

    @property
    def second_moment(self) -> float:
        """E[y^2]."""
        return self.label_variance + float(self.analysis.energies.coefficients[0][0]) ** 2


def read_ratios(given: str | Sequence[float]) -> tuple[float, ...]:
    """The ratios n/d in a text, or as numbers; rising, none twice."""
    if isinstance(given, str):
        numbers = _from_text(given)
    else:
        try:
            numbers = [float(one) for one in given]
        except (TypeError, ValueError):
            raise InvalidParameter("ratios", given, _EXPECTED) from None
    sound = all(isfinite(one) and one > 0 for one in numbers) and len({*numbers}) == len(numbers)
    if not sound or not 2 <= len(numbers) <= _MOST_RATIOS:
        raise InvalidParameter("ratios", given, _EXPECTED)
    return tuple(sorted(numbers))


def between(ratios: Sequence[float]) -> tuple[float, ...]:
    """The geometric means of neighbours, to four digits."""
    return tuple(float(f"{(low * high) ** 0.5:.4g}") for low, high in pairwise(ratios))


def _from_text(text: str) -> list[float]:
    try:
        if ":" not in text:
            return [float(part) for part in re.split(r"[,\s]+", text.strip())]
        low, high, *count = text.split(":")
        ends = float(low), float(high)
        if not (0 < ends[0] < ends[1] < np.inf) or len(count) > 1:
            raise ValueError
        number = int(count[0]) if count else max(2, round(log2(ends[1] / ends[0])) + 1)
        if not 2 <= number <= _MOST_RATIOS:
            raise ValueError
    except ValueError:
        raise InvalidParameter("ratios", text, _EXPECTED) from None
    return [float(f"{one:.4g}") for one in np.geomspace(*ends, number)]
