"""The free entropy of Bayes-optimal learning: which fixed point of state evolution is the best estimate's overlap.

Statement (Aubin et al. 2018; Troiani et al. 2024): as d -> infinity the log-likelihood of the labels per dimension is

    sup_M inf_Mhat { -1/2 Tr(M Mhat) - 1/2 log det(I + Mhat) + 1/2 Tr(Mhat) + alpha H(M) },

with H of `channel`. The infimum is at Mhat = (I - M)^{-1} - I, so it is the maximum over 0 <= M <= I of

    phi(M) = 1/2 Tr(M) + 1/2 log det(I - M) + alpha H(M).

As dH = 1/2 Tr(F dM), phi is stationary exactly at the fixed points of state evolution, and d phi / d alpha = H there.
The overlap of the Bayes-optimal estimate is the global maximum; message passing stops at the first one on its way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.targets import Target, target
from featlab.theory.bayes.channel import Channel
from featlab.theory.bayes.channels import channel_of
from featlab.theory.bayes.state_evolution import check_alpha, overlap_curve


def free_entropy(channel: Channel, alpha: float, overlap: Floats) -> float:
    """phi(M) = 1/2 Tr(M) + 1/2 log det(I - M) + alpha H(M), for 0 <= M < I."""
    _, log_det = np.linalg.slogdet(np.eye(len(overlap)) - overlap)
    return 0.5 * float(np.trace(overlap)) + 0.5 * float(log_det) + alpha * channel.at(overlap).entropy


def free_entropy_gradient(channel: Channel, alpha: float, overlap: Floats) -> Floats:
    """d phi / d M = 1/2 (I - (I - M)^{-1} + alpha F(M))."""
    size = len(overlap)
    return 0.5 * (np.eye(size) - np.linalg.inv(np.eye(size) - overlap) + alpha * channel.at(overlap).information)


@dataclass(frozen=True)
class Branch:
    """A fixed point of state evolution: its overlap and its free entropy (infinite where the recovery is perfect)."""

    overlap: Floats
    free_entropy: float


@dataclass(frozen=True)
class BayesOptimal:
    """Both branches at one alpha, and the overlap of the Bayes-optimal estimate.

    Attributes:
        uninformed: where message passing ends from a weak start.
        informed: where it ends from an almost perfect one.
        overlap: that of the branch with the larger free entropy.
    """

    uninformed: Branch
    informed: Branch

    @property
    def best(self) -> Branch:
        return self.informed if self.informed.free_entropy > self.uninformed.free_entropy else self.uninformed

    @property
    def overlap(self) -> Floats:
        return self.best.overlap

    @property
    def hard(self) -> bool:
        """Whether the best estimate is out of reach of message passing at this alpha."""
        return self.best is self.informed and float(np.max(np.abs(self.overlap - self.uninformed.overlap))) > 1e-3


def bayes_optimal(of: Target | str, alpha: float, *, generic: bool = False) -> BayesOptimal:
    """The Bayes-optimal estimate at n = alpha d samples: the better of the two ends of state evolution.

    Source: Aubin et al. 2018; Troiani et al. 2024.

    Args:
        of: a `Target`, or its text.
        alpha: n/d, samples per dimension.
        generic: integrate numerically also where there is a closed form.

    Examples:
        >>> from featlab.theory import bayes_optimal
        >>> bayes_optimal("abs(h1)", 2.0).overlap.round(3).tolist()
        [[1.0]]
    """
    of, alpha = target(of), check_alpha(alpha)
    channel = channel_of(of, generic)
    ends = [
        overlap_curve(of, [alpha], start, generic=generic).overlaps[0] for start in ("slightly informed", "informed")
    ]
    low, high = (Branch(overlap, _free_entropy_at(channel, alpha, overlap)) for overlap in ends)
    return BayesOptimal(low, high)


def _free_entropy_at(channel: Channel, alpha: float, overlap: Floats) -> float:
    """phi at a fixed point. A perfect overlap is one only if alpha times the label's information outweighs log det.

    Along M = (1 - v) I, phi changes by (r - alpha Tr(v F)) / 2 log v as v -> 0, and a stable perfect overlap has
    alpha v F > I: phi grows without bound.
    """
    if float(np.linalg.eigvalsh(overlap)[-1]) > 1 - 1e-8:
        return np.inf
    return free_entropy(channel, alpha, overlap)
