"""Channels in closed form: real phase retrieval, parities of two and three directions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from scipy.special import erfc

from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import gaussian_panels
from featlab.targets import target
from featlab.theory.bayes.channel import CLOSED_FORM, Channel, ChannelAverages, is_diagonal
from featlab.theory.bayes.discrete import Discrete
from featlab.theory.bayes.rules import omega_given


@dataclass(frozen=True, eq=False)
class PhaseRetrieval:
    """y = |z|: E[z | y, omega] = y tanh(omega y / V), g_out = (y tanh(omega y / V) - omega) / V (Barbier et al. 2019).

    F(q) = E[g_out^2] over z ~ N(0, 1) and omega | z ~ N(q z, q (1 - q)); by symmetry z > 0.

    Attributes:
        shift: added to H, for a label that is a function of |z|.
    """

    shift: float = 0.0

    @cached_property
    def _rule(self) -> tuple[Floats, Floats]:
        edges = np.concatenate([[0.0], 2.0 ** np.arange(-13, 2), [4.0, 7.0]])
        z, weights = gaussian_panels(edges, 8)
        return z, 2 * weights

    def at(self, overlap: Floats) -> ChannelAverages:
        """F and H at q (given as a 1 x 1 matrix)."""
        q = float(np.asarray(overlap).reshape(()))
        v = 1 - q
        z, weights = self._rule
        omega, inner = omega_given(z, q)
        z = z[:, None]
        size = np.abs(omega) * z / v
        small = np.exp(-2 * size)
        gradient = (z * np.copysign((1 - small) / (1 + small), omega) - omega) / v
        # log of N(z; omega, v) + N(-z; omega, v)
        log_z = -0.5 * (z - np.abs(omega)) ** 2 / v + np.log1p(small) - 0.5 * np.log(2 * np.pi * v)
        return ChannelAverages(
            np.array([[weights @ (gradient**2 @ inner)]]), float(weights @ (log_z @ inner)) + self.shift
        )

    def relative_error(self, overlap: Floats) -> float:
        """That of a closed form."""
        return CLOSED_FORM


def parity_axis(q: float) -> tuple[Floats, Floats, Floats]:
    """Nodes omega > 0 of N(0, q) as (erfc, weights, e'), on panels that resolve both sqrt(q) and sqrt(1 - q)."""
    v = 1 - q
    if q == 0:
        return np.ones(1), np.ones(1), np.full(1, np.sqrt(2 / (np.pi * v)))
    scale = np.sqrt(v / q)
    grades = scale * np.array([0.5, 1.0, 2.0, 4.0, 8.0])
    edges = np.unique([0.0, *grades[grades < 7.5], 1.0, 2.0, 4.0, 7.5])
    s, weights = gaussian_panels(edges, 10)
    ratio = s / scale
    return erfc(ratio / np.sqrt(2)), 2 * weights, np.sqrt(2 / (np.pi * v)) * np.exp(-0.5 * ratio**2)


@dataclass(frozen=True, eq=False)
class Parity:
    """y = sign(z1 .. zr), r = 2 or 3, at a diagonal overlap: Z = (1 + y e1 .. er)/2, e_i = erf(omega_i / sqrt(2 v_i)).

    F_11 = E[(e1' e2 .. er)^2 / (1 - (e1 .. er)^2)] with e1' = sqrt(2 / (pi v1)) exp(-omega1^2 / (2 v1)) and F_12 = 0
    (Troiani et al. 2024). An overlap that is not diagonal goes the generic way.

    Attributes:
        rank: r.
    """

    rank: int

    def at(self, overlap: Floats) -> ChannelAverages:
        """F and H at Q (r, r)."""
        if not is_diagonal(overlap):
            return self._generic.at(overlap)
        tails, weights, slopes = zip(*(parity_axis(float(q)) for q in np.diag(overlap)), strict=True)
        tail, weight, slope = (np.meshgrid(*axes, indexing="ij", sparse=True) for axes in (tails, weights, slopes))
        # 1 - e1 e2 = c1 + c2 - c1 c2 with c = erfc, which does not cancel where both are close to 1.
        below = reduce(lambda one, other: one + other - one * other, tail)
        chance = reduce(np.multiply, weight)
        # Where all error functions are 1 to the last bit the label tells nothing: the slopes vanish faster than below.
        seen = below > 0
        unit = np.where(seen, chance / np.where(seen, below * (2 - below), 1.0), 0.0)
        information = [
            np.sum(unit * (slope[i] * reduce(np.multiply, (1 - tail[j] for j in range(self.rank) if j != i))) ** 2)
            for i in range(self.rank)
        ]
        agree, differ = 1 - 0.5 * below, 0.5 * below
        with np.errstate(divide="ignore", invalid="ignore"):
            surprise = agree * np.log(agree) + np.where(differ > 0, differ * np.log(differ), 0.0)
        return ChannelAverages(np.diag(information), float(np.sum(chance * surprise)))

    def relative_error(self, overlap: Floats) -> float:
        """That of a closed form, or of the generic way where the overlap is not diagonal."""
        return CLOSED_FORM if is_diagonal(overlap) else self._generic.relative_error(overlap)

    @cached_property
    def _generic(self) -> Channel:
        return Discrete(target(PARITIES[self.rank]))


PARITIES = {2: "sign(h1*h2)", 3: "sign(h1*h2*h3)"}
