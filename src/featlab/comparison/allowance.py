"""What a finite dimension is allowed to change, where one dimension is all that there is.

Where runs at several dimensions exist, the approach to the limit is measured (`approach`) and nothing is allowed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from featlab.errors import InvalidParameter

SCALES = ("point", "largest")
_WORDS = {"point": "each predicted value", "largest": "the largest predicted value"}


@dataclass(frozen=True)
class FiniteSize:
    """How far a finite dimension may be from its limit: c d^(-e) times the scale of a value.

    Fluctuations are no part of it, the seeds show them; it is for the mean, whose distance from the limit vanishes as
    1/d for smooth functions of averages and as 1/sqrt(d) for those with a kink at zero, such as |overlap|.

    Attributes:
        scale, power: c and e.
        of: the scale of a value: "point", what is predicted at that point (1 for overlaps of a curve that vanishes);
            "largest", the largest of the whole quantity, which leaves small values unjudged.
    """

    scale: float = 1.0
    power: float = 0.5
    of: str = "point"

    def __post_init__(self) -> None:
        if self.of not in SCALES:
            raise InvalidParameter("of", self.of, "one of " + ", ".join(map(repr, SCALES)))

    def at(self, dim: int) -> float:
        """As a fraction of the scale, at dimension `dim`."""
        return self.scale * float(dim) ** -self.power

    def text(self, dim: int) -> str:
        """How it reads: "1/sqrt(d) = 0.022 of each predicted value"."""
        below = {0.0: "", 0.5: "/sqrt(d)", 1.0: "/d"}.get(self.power, f"/d^{self.power:g}")
        law = f"{self.scale:g}{below} = {self.at(dim):.2g}" if below else f"{self.scale:g}"
        return f"{law} of {_WORDS[self.of]}"


def finite_size(allowance: FiniteSize | float | None) -> FiniteSize:
    """The allowance that was asked for: 1/sqrt(d) of each value unless given, or a fraction of it."""
    if allowance is None:
        return FiniteSize()
    if isinstance(allowance, FiniteSize):
        return allowance
    if not (np.isfinite(allowance) and allowance >= 0):
        raise InvalidParameter("allowance", allowance, "a fraction of at least 0, or FiniteSize(scale, power)")
    return FiniteSize(float(allowance), 0.0)


def allowed_fraction(allowance: FiniteSize, measurement: xr.Dataset) -> tuple[float, str]:
    """The fraction of a value's scale that the dimension of a measurement may change, and how it reads."""
    if allowance.scale == 0:
        return 0.0, "none"
    if allowance.power == 0:
        return allowance.at(1), allowance.text(1)
    if "dim" not in measurement.attrs:
        raise InvalidParameter("measurement", "no attribute 'dim'", "one, or an allowance as a plain number")
    dim = int(measurement.attrs["dim"])
    return allowance.at(dim), allowance.text(dim)
