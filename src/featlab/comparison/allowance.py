"""What a finite size is allowed to change, where one size is all that there is.

Where runs at several sizes exist, the approach to the limit is measured (`approach`) and nothing is allowed. Of a
prediction for n to infinity at the given d, what is finite is n: it neglects the noise of a batch, of order sqrt(d/n)
in the gradient, and d changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

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
    """The law that was asked for: 1/sqrt(d) of each value unless given, or a fraction of it."""
    if allowance is None:
        return FiniteSize()
    if isinstance(allowance, FiniteSize):
        return allowance
    if not isinstance(allowance, Real) or not (np.isfinite(allowance) and allowance >= 0):
        raise InvalidParameter("allowance", allowance, "a fraction of at least 0, or FiniteSize(scale, power)")
    return FiniteSize(float(allowance), 0.0)


def allowed(
    allowance: FiniteSize | float | None, prediction: xr.Dataset, measurement: xr.Dataset
) -> tuple[FiniteSize, float, str]:
    """The law, the fraction of a value's scale that the size of a measurement may change by it, and how it reads."""
    law = finite_size(allowance)
    if law.scale == 0:
        return law, 0.0, "none"
    if law.power == 0:
        return law, law.at(1), law.text(1)
    dim, samples = (measurement.attrs.get(name) for name in ("dim", "samples"))
    if dim is None:
        raise InvalidParameter("measurement", "no attribute 'dim'", "one, or an allowance as a plain number")
    if allowance is None and prediction.attrs.get("limit") == "samples" and samples is not None:
        fraction = float(np.sqrt(dim / samples))
        return law, fraction, f"sqrt(d/n) = {fraction:.2g} of {_WORDS[law.of]}"
    return law, law.at(int(dim)), law.text(int(dim))
