"""What the labels tell about the directions at a given overlap: the one function that state evolution iterates.

Let omega ~ N(0, Q) be what message passing knows of the fields z ~ N(omega, I - Q) of a fresh sample, and
Z(y, omega) = int P(y | z) N(z; omega, I - Q) dz the law of its label. The channel of a target is the pair

    F(Q) = E[g_out g_out^T],  g_out = grad_omega log Z(y, omega),
    H(Q) = E[log Z(y, omega)]   (minus the entropy of the label given omega; densities for continuous labels),

which are tied by dH = 1/2 Tr(F dQ). Neither depends on the number of samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.targets import Target
from featlab.targets.patterns import Wrapped, wrapped


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


def build_channel(target: Target, *, generic: bool = False) -> Channel:
    """The channel of a target: a closed form where one is known, unless the generic path is asked for.

    An increasing function of a link tells what the link tells: F is that of the link, H = H_link - E[log |slope|].
    """
    from featlab.theory.bayes.closed_forms import closed_form

    outer = wrapped(target)
    if outer is not None:
        return Relabelled(build_channel(outer.inner, generic=generic), mean_log_slope(outer))
    found = None if generic else closed_form(target)
    return found or generic_channel(target)


@lru_cache(maxsize=32)
def channel_of(of: Target, generic: bool = False) -> Channel:
    """The same, kept: a target's geometry is found once."""
    return build_channel(of, generic=generic)


@dataclass(frozen=True, eq=False)
class Relabelled:
    """The channel of an increasing function of another label; `log_slope` is the mean logarithm of its slope."""

    inner: Channel
    log_slope: float

    def at(self, overlap: Floats) -> ChannelAverages:
        """F and H at Q."""
        inner = self.inner.at(overlap)
        return ChannelAverages(inner.information, inner.entropy - self.log_slope)


def mean_log_slope(outer: Wrapped) -> float:
    """E[log |dg/du|] over the law of the fields; 0 for labels with finitely many values, which have no density."""
    from featlab.analysis.label_law import label_law
    from featlab.theory.bayes.rules import average

    if label_law(outer.inner).discrete:
        return 0.0
    return average(outer.inner, lambda fields: outer.log_slope(outer.inner.link(fields)))


def generic_channel(target: Target) -> Channel:
    """Label noise: cells and a convolution; one direction: preimages; few labels: regions; else level sets."""
    from featlab.analysis.label_law import label_law
    from featlab.theory.bayes.noisy import Noisy, smooth_enough

    fields = target.rank + target.hidden
    if target.noise > 0 and fields <= 4 and smooth_enough(target):
        return Noisy(target)
    if fields == 1 and target.noise == 0:
        from featlab.theory.bayes.single_index import SingleIndex

        return SingleIndex(target)
    if target.noise == 0 and fields <= 4 and label_law(target).discrete:
        from featlab.theory.bayes.discrete import Discrete

        return Discrete(target)
    if fields + (target.noise > 0) > 3:
        expected = "at most three directions and noise variables, or four if the labels are discrete or well smoothed"
        raise InvalidParameter("target", target.text, expected + " by noise (5% of their deviation)")
    from featlab.theory.bayes.continuous import Continuous

    return Continuous(target)
