"""To the fixed point that the slow iteration would reach, in a few steps: state evolution in logarithms, with leaps.

In L = log Qhat, Qhat = Q (I - Q)^{-1}, an iteration is L <- L + R(L) with R = log(alpha F) - L. Growth out of a weak
start and the approach of a perfect overlap are then steady (R constant), and a leap of several iterations is a longer
step. As F is monotone the iteration never passes a fixed point; a leap could, so that the way it took is looked over
afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from featlab.analysis.budget import doing
from featlab.gaussian.hermite import Floats
from featlab.gaussian.matrices import of_eigenvalues
from featlab.theory.bayes.channel import Channel

# log Qhat of an overlap that counts as none, and of one that counts as perfect.
NOTHING, PERFECT = -float(np.log(1e9)), float(np.log(1e9))
_LEAPS = (1.0, 0.25)
_LOOKS = 4


@dataclass(frozen=True)
class Climb:
    """The last L, all those visited, whether it came to rest."""

    log_odds: Floats
    visited: list[Floats]
    converged: bool


def to_overlap(log_odds: Floats) -> Floats:
    """Q = Qhat (I + Qhat)^{-1} from L = log Qhat; 0 and 1 where L is at an end of its range."""

    def overlap(values: Floats) -> Floats:
        return np.where(values <= NOTHING, 0.0, np.where(values >= PERFECT, 1.0, expit(values)))

    return of_eigenvalues(overlap, log_odds)


def to_log_odds(overlap: Floats) -> Floats:
    """L = log(Q (I - Q)^{-1}), cut off at the ends of its range."""
    return of_eigenvalues(lambda q: np.clip(logit(np.clip(q, 0, 1)), NOTHING, PERFECT), overlap)


def residual(channel: Channel, alpha: float, log_odds: Floats) -> Floats:
    """R(L) = log(alpha F(Q)) - L."""
    doing(f"state evolution at alpha = {alpha:.4g}")

    def not_quite(values: Floats) -> Floats:
        return np.where(values <= NOTHING, 0.0, np.minimum(expit(values), 1 - 1e-9))

    gain = alpha * channel.at(of_eigenvalues(not_quite, log_odds)).information
    least, most = np.exp(NOTHING), np.exp(PERFECT)
    return of_eigenvalues(lambda values: np.log(np.clip(values, least, most)), gain) - log_odds


def climb(channel: Channel, alpha: float, start: Floats, evaluations: int, tolerance: float) -> Climb:
    """From L = start to rest: first with long leaps, again with short ones if those passed a fixed point."""
    found = _run(channel, alpha, start, evaluations, tolerance, _LEAPS[0])
    if found.converged and _passed(channel, alpha, found):
        return _run(channel, alpha, start, 4 * evaluations, tolerance, _LEAPS[1])
    return found


def _run(channel: Channel, alpha: float, start: Floats, evaluations: int, tolerance: float, leap: float) -> Climb:
    here, visited = start, [start]
    step, before = np.zeros_like(start), np.zeros_like(start)
    for _ in range(evaluations):
        rest = residual(channel, alpha, here)
        if np.linalg.norm(rest) <= tolerance:
            return Climb(here, visited, True)
        step, before = _step(rest, step, before, leap), rest
        here = of_eigenvalues(lambda values: np.clip(values, NOTHING, PERFECT), here + step)
        visited.append(here)
    return Climb(here, visited, False)


def _step(rest: Floats, last: Floats, before: Floats, leap: float) -> Floats:
    """A secant step along R (Anderson 1965, one step of memory), no longer than a leap unless R itself is."""
    size = float(np.linalg.norm(rest))
    change = rest - before
    steepness = float(np.sum(change * last))
    if not last.any() or not change.any():
        return rest
    if steepness >= 0:  # R does not fall along the way: it is steady, or still growing
        return rest * max(1.0, leap / size)
    secant = rest - (float(np.sum(change * rest)) / float(np.sum(change * change))) * (last + change)
    length = float(np.linalg.norm(secant))
    if np.sum(secant * rest) <= 0:
        return rest
    return secant * min(1.0, max(leap, size) / length)


def _passed(channel: Channel, alpha: float, found: Climb) -> bool:
    """Whether between the start and the end there is a place at which the iteration would go back."""
    whole = found.log_odds - found.visited[0]
    way = np.sign(np.trace(whole))
    for part in np.linspace(0, 1, _LOOKS + 2)[1:-1]:
        here = found.visited[0] + part * whole
        rest = residual(channel, alpha, here) * way
        along = np.sum(rest * whole * way)
        if along < 0:
            return True
    return False
