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

from featlab.gaussian.hermite import Floats


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
