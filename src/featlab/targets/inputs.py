"""The law of the inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, sqrt

from featlab.errors import InvalidParameter


@dataclass(frozen=True)
class Isotropic:
    """x ~ N(0, I_d): the fields h = W* x of orthonormal directions are independent standard normals."""


@dataclass(frozen=True)
class Spiked:
    """x ~ N(0, S), S = I + theta mu mu^T: one unit direction mu in which the inputs vary more (Ba et al. 2023,
    Mousavi-Hosseini et al. 2023).

    The target is normalised: its fields are h = C^{-1/2} W* x with C = W* S W*^T = I + theta m m^T, m = W* mu, so that
    h is standard normal again and every Hermite exponent of the link keeps its meaning.

    Attributes:
        strength: theta >= 0.
        overlaps: m_k = <mu, w*_k> for each direction of the target, |m| <= 1.
    """

    strength: float
    overlaps: tuple[float, ...]

    def __init__(self, strength: float, overlaps: Sequence[float] | float) -> None:
        values = (overlaps,) if isinstance(overlaps, int | float) else tuple(overlaps)
        if not isfinite(strength) or strength < 0:
            raise InvalidParameter("strength", strength, "a finite number theta >= 0")
        if not all(isfinite(m) for m in values) or sum(m * m for m in values) > 1 + 1e-12:
            raise InvalidParameter("overlaps", overlaps, "numbers <mu, w*_k> with a sum of squares of at most 1")
        object.__setattr__(self, "strength", float(strength))
        object.__setattr__(self, "overlaps", tuple(float(m) for m in values))

    @property
    def spike(self) -> tuple[float, ...]:
        """mu on the target's directions and on one more axis (none if mu lies in their span)."""
        rest = 1 - sum(m * m for m in self.overlaps)
        return (*self.overlaps, sqrt(rest)) if rest > 1e-12 else self.overlaps


Inputs = Isotropic | Spiked
