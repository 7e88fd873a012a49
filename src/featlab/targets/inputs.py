"""The law of the inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from numbers import Integral, Real

from featlab.errors import InvalidParameter


@dataclass(frozen=True)
class Isotropic:
    """x ~ N(0, I_d): the fields h = W* x of orthonormal directions are independent standard normals.

    Examples:
        >>> import featlab
        >>> featlab.target("h1").inputs
        Isotropic()
    """


@dataclass(frozen=True)
class Spiked:
    """x ~ N(0, S), S = I + theta mu mu^T: one unit direction mu in which the inputs vary more (Ba et al. 2023,
    Mousavi-Hosseini et al. 2023).

    The target is normalised: its fields are h = C^{-1/2} W* x with C = W* S W*^T = I + theta m m^T, m = W* mu, so that
    h is standard normal again and every Hermite exponent of the link keeps its meaning.

    Attributes:
        strength: theta >= 0.
        overlaps: m_k = <mu, w*_k> for each direction of the target, |m| <= 1.

    Examples:
        >>> import featlab
        >>> featlab.target("He3(h1)", inputs=featlab.Spiked(strength=10.0, overlaps=0.5)).inputs
        Spiked(strength=10.0, overlaps=(0.5,))
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


@dataclass(frozen=True)
class SpikeLaw:
    """A spike that grows with the dimension: theta = c2 d^g2 and <mu, w*_k> = c1 d^-g1 (Mousavi-Hosseini et al. 2023),
    so that one target serves every d.

    g1 = 0 with c1 = 1 is perfect alignment, mu = w* (Ba et al. 2023); g1 = 1/2 is as for independent directions.

    Attributes:
        strength_exponent: g2, from 0 to 1.
        overlap_exponents: g1, from 0 to 1/2, for each direction of the target.
        strength_scale: c2 > 0.
        overlap_scale: c1, not above 1; below it where several directions share the spike.

    Examples:
        >>> import featlab
        >>> featlab.SpikeLaw(strength_exponent=0.8, overlap_exponents=0.2)
        SpikeLaw(strength_exponent=0.8, overlap_exponents=(0.2,), strength_scale=1.0, overlap_scale=1.0)
    """

    strength_exponent: float
    overlap_exponents: tuple[float, ...]
    strength_scale: float
    overlap_scale: float

    def __init__(
        self,
        strength_exponent: float,
        overlap_exponents: Sequence[float] | float = 0.0,
        *,
        strength_scale: float = 1.0,
        overlap_scale: float = 1.0,
    ) -> None:
        given = tuple(overlap_exponents) if isinstance(overlap_exponents, Sequence) else (overlap_exponents,)
        if not given:
            raise InvalidParameter("overlap_exponents", overlap_exponents, "one exponent for each direction")
        pairs = [checked_exponents(exponent, strength_exponent) for exponent in given]
        if not _number(strength_scale) or strength_scale <= 0:
            raise InvalidParameter("strength_scale", strength_scale, "a number c2 > 0, in theta = c2 d^g2")
        if not _number(overlap_scale) or not 0 < overlap_scale <= 1:
            raise InvalidParameter("overlap_scale", overlap_scale, "a number 0 < c1 <= 1, in <mu, w*_k> = c1 d^-g1")
        object.__setattr__(self, "strength_exponent", pairs[0][1])
        object.__setattr__(self, "overlap_exponents", tuple(g1 for g1, _ in pairs))
        object.__setattr__(self, "strength_scale", float(strength_scale))
        object.__setattr__(self, "overlap_scale", float(overlap_scale))

    def at(self, dim: int) -> Spiked:
        """The inputs at dimension d.

        Raises:
            InvalidParameter: if mu would have to be longer than 1: several directions of overlap d^0, say.
        """
        if isinstance(dim, bool) or not isinstance(dim, Integral) or dim < 1:
            raise InvalidParameter("dim", dim, "a whole number, at least 1")
        overlaps = tuple(self.overlap_scale * float(dim) ** -g1 for g1 in self.overlap_exponents)
        if sum(m * m for m in overlaps) > 1 + 1e-12:
            expected = f"overlaps whose squares sum to at most 1: at d = {dim} they are {overlaps}; lower overlap_scale"
            raise InvalidParameter("inputs", self, expected)
        return Spiked(self.strength_scale * float(dim) ** self.strength_exponent, overlaps)


@dataclass(frozen=True)
class Hypercube:
    """x = A z with z uniform on {+-1/sqrt d}^d: the inputs of sparse parities (Suzuki et al. 2023; with A not the
    identity, Nitanda et al. 2024).

    The fields are the signs h_k = sqrt(d) z_k of the first r coordinates, so sign(h1*h2*..*hr) is the r-parity. A is
    diagonal: d^(alpha/2) on those r coordinates, 1 on all others, and |x|^2 = 1 + r (d^alpha - 1)/d stays of order 1.
    These inputs are not rotation invariant and the fields not Gaussian: Hermite exponents do not apply.

    Attributes:
        anisotropy: alpha, from 0 (isotropic) to 1.

    Examples:
        >>> import featlab
        >>> featlab.target("sign(h1*h2)", inputs=featlab.Hypercube(anisotropy=0.5)).inputs
        Hypercube(anisotropy=0.5)
    """

    anisotropy: float = 0.0

    def __post_init__(self) -> None:
        if not _number(self.anisotropy) or not 0 <= self.anisotropy <= 1:
            raise InvalidParameter("anisotropy", self.anisotropy, "alpha from 0 to 1, in x_k = d^(alpha/2) z_k")

    def support_scale(self, dim: int) -> float:
        """By how much the coordinates of the support are larger than the others: d^(alpha/2)."""
        return float(dim) ** (self.anisotropy / 2)


def checked_exponents(overlap_exponent: float, strength_exponent: float) -> tuple[float, float]:
    """(g1, g2), if they lie where the theorems are stated: g1 in [0, 1/2] and g2 in [0, 1]."""
    if not _number(overlap_exponent) or not 0 <= overlap_exponent <= 0.5:
        raise InvalidParameter("overlap_exponent", overlap_exponent, "g1 from 0 to 1/2, in <mu, beta> = d^-g1")
    if not _number(strength_exponent) or not 0 <= strength_exponent <= 1:
        raise InvalidParameter("strength_exponent", strength_exponent, "g2 from 0 to 1, in theta = d^g2")
    return float(overlap_exponent), float(strength_exponent)


def spike_in_words(spike: float | None, alignment: Sequence[float] | float | None) -> SpikeLaw | None:
    """The law that a command line or a study file names by `spike` (g2) and `alignment` (g1; 0 unless given)."""
    if spike is not None:
        return SpikeLaw(spike, 0.0 if alignment is None else alignment)
    if alignment is not None:
        raise InvalidParameter("alignment", alignment, "nothing, unless there is a spike to be aligned with")
    return None


def inputs_in_words(
    spike: float | None, alignment: Sequence[float] | float | None, hypercube: float | None
) -> SpikeLaw | Hypercube | None:
    """The inputs that a command line or a study file names: a spike, or the `hypercube` with its alpha, or neither."""
    law = spike_in_words(spike, alignment)
    if hypercube is None:
        return law
    if law is not None:
        raise InvalidParameter("hypercube", hypercube, "no spike beside it: the inputs have one law")
    return Hypercube(hypercube)


def _number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


Inputs = Isotropic | Spiked | SpikeLaw | Hypercube
