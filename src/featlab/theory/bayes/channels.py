"""Which channel a target has: a closed form where one is known, else quadrature over its label's law."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from featlab.analysis.label_law import label_law
from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.targets import Target
from featlab.targets.patterns import Wrapped, polynomial_and_parity, wrapped
from featlab.theory.bayes.channel import Channel, ChannelAverages
from featlab.theory.bayes.closed_forms import PARITIES, Parity, PhaseRetrieval
from featlab.theory.bayes.continuous import Continuous
from featlab.theory.bayes.discrete import Discrete
from featlab.theory.bayes.noisy import Noisy, smooth_enough
from featlab.theory.bayes.rules import average
from featlab.theory.bayes.single_index import SingleIndex
from featlab.theory.bayes.staircase import Staircase

_MEAN_LOG_NORMAL = -0.5 * (np.euler_gamma + np.log(2))  # E[log |z|], z ~ N(0, 1)


def build_channel(target: Target, *, generic: bool = False) -> Channel:
    """The channel of a target: a closed form where one is known, unless the generic path is asked for.

    An increasing function of a link tells what the link tells: F is that of the link, H = H_link - E[log |slope|].
    """
    outer = wrapped(target)
    if outer is not None:
        return _Relabelled(build_channel(outer.inner, generic=generic), _mean_log_slope(outer))
    found = None if generic else closed_form(target)
    return found or _generic_channel(target)


@lru_cache(maxsize=32)
def channel_of(of: Target, generic: bool = False) -> Channel:
    """The same, kept: a target's geometry is found once."""
    return build_channel(of, generic=generic)


@dataclass(frozen=True, eq=False)
class _Relabelled:
    """The channel of an increasing function of another label; `log_slope` is the mean logarithm of its slope."""

    inner: Channel
    log_slope: float

    def at(self, overlap: Floats) -> ChannelAverages:
        """F and H at Q."""
        inner = self.inner.at(overlap)
        return ChannelAverages(inner.information, inner.entropy - self.log_slope)

    def relative_error(self, overlap: Floats) -> float:
        """That of the other label's F."""
        return self.inner.relative_error(overlap)


def _mean_log_slope(outer: Wrapped) -> float:
    """E[log |dg/du|] over the law of the fields; 0 for labels with finitely many values, which have no density."""
    if label_law(outer.inner).discrete:
        return 0.0
    return average(outer.inner, lambda fields: outer.log_slope(outer.inner.link(fields)))


def _generic_channel(target: Target) -> Channel:
    """Label noise: cells and a convolution; one direction: preimages; few labels: regions; else level sets."""
    fields = target.rank + target.hidden
    if target.noise > 0 and fields <= 4 and smooth_enough(target):
        return Noisy(target)
    if fields == 1 and target.noise == 0:
        return SingleIndex(target)
    if target.noise == 0 and fields <= 4 and label_law(target).discrete:
        return Discrete(target)
    if fields + (target.noise > 0) > 4:
        expected = "at most four directions and noise variables, label noise counted as one"
        raise InvalidParameter("target", target.text, expected)
    return Continuous(target)


def closed_form(target: Target) -> Channel | None:
    """The closed form for a target, if it is one of those that have one."""
    if target.noise > 0 or target.hidden:
        return None
    if target.text == "abs(h1)":
        return PhaseRetrieval()
    if target.text == "h1**2":  # the level sets are those of |h1|; H differs by E[log |dy/d|z||] = E[log 2 |z|]
        return PhaseRetrieval(shift=-float(np.log(2)) - _MEAN_LOG_NORMAL)
    for rank, text in PARITIES.items():
        if target.text == text:
            return Parity(rank)
    link = polynomial_and_parity(target)
    return None if link is None else Staircase(target, link)
