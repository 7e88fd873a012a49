"""What the labels tell about the directions at a given overlap: the one function that state evolution iterates.

Let omega ~ N(0, Q) be what message passing knows of the fields z ~ N(omega, I - Q) of a fresh sample, and
Z(y, omega) = int P(y | z) N(z; omega, I - Q) dz the law of its label. The channel of a target is the pair

    F(Q) = E[g_out g_out^T],  g_out = grad_omega log Z(y, omega),
    H(Q) = E[log Z(y, omega)]   (minus the entropy of the label given omega; densities for continuous labels),

which are tied by dH = 1/2 Tr(F dQ). Neither depends on the number of samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from featlab.gaussian.hermite import Floats

CLOSED_FORM = 1e-6  # the relative error of one-dimensional integrals of smooth functions


def is_diagonal(overlap: Floats) -> bool:
    """Whether Q is diagonal but for rounding."""
    return bool(np.max(np.abs(overlap - np.diag(np.diag(overlap)))) <= 1e-12)


@dataclass(frozen=True)
class ChannelAverages:
    """F(Q), (r, r), and H(Q)."""

    information: Floats
    entropy: float


class Channel(Protocol):
    """A target's channel, by quadrature or in closed form."""

    def at(self, overlap: Floats) -> ChannelAverages:
        """F and H at the overlap matrix Q, 0 <= Q < I."""
        ...

    def relative_error(self, overlap: Floats) -> float:
        """By what part F may be off: the largest that was found of links whose F is known otherwise, rounded up."""
        ...
