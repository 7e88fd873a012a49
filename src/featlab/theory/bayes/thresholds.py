"""What happens to message passing as alpha grows: directions found at once, found gradually, found with a jump.

At a fixed point Q some directions may be unknown altogether. They stay so while the linearised iteration shrinks them;
the alpha at which it stops doing so depends on how well the others are known by then, so that it lies above the
threshold that takes them for granted (`analysis.thresholds`).

While nothing is known, Q = 0, the linearised iteration is Q <- alpha E[G Q G]: the operator of the analysis, whose
largest eigenvalue is known far more precisely than averages at a small overlap. What happens first is taken from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from featlab.analysis.budget import OutOfTime, time_budget
from featlab.analysis.subspaces import nothing
from featlab.analysis.thresholds import second_moments
from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.targets import Target, target
from featlab.targets.relabelling import informative
from featlab.theory.bayes.channel import Channel
from featlab.theory.bayes.channels import channel_of
from featlab.theory.bayes.family import Family
from featlab.theory.bayes.state_evolution import (
    SLIGHT,
    family_of,
    overlap_curve,
    state_evolution,
    update,
)
from featlab.theory.bayes.symmetry import interchangeable

_UNKNOWN = 1e-6
_GRID = 20
_LOWEST = 0.05
_HALVINGS = 13
_PRECISION = 3e-5
_JUMP = 0.05
_PROBE = 1e-6


@dataclass(frozen=True)
class Event:
    """Something happens at `alpha`: the overlap of state evolution, from a weak start, just before and just after.

    Attributes:
        kind: "trivial" (known from alpha = 0 on), "continuous" (weak recovery), "jump", or "perfect" (q reaches 1).
    """

    alpha: float
    kind: str
    before: Floats
    after: Floats


def threshold_sequence(of: Target | str, highest: float = 4.0, budget: float = 300.0) -> tuple[Event, ...]:
    """All that happens to the overlap of message passing for alpha up to `highest`, in order.

    Source: state evolution of Aubin et al. 2018 and Troiani et al. 2024.

    Args:
        of: a `Target`, or its text.
        highest: the largest alpha = n/d.
        budget: seconds of processor time. Two directions without a closed form take minutes: a look at an overlap takes
            a third of a second, and close to a threshold state evolution takes a hundred of them.

    Raises:
        InvalidParameter: a `highest` that is too low, or a budget that was not enough.

    Examples:
        >>> from featlab.theory import threshold_sequence
        >>> [event.kind for event in threshold_sequence("abs(h1)", highest=2.0)]
        ['continuous', 'jump']
    """
    of = target(of)
    if not highest > _LOWEST:
        raise InvalidParameter("highest", highest, f"a number of samples per dimension above {_LOWEST}")
    if interchangeable(of):
        return tuple(event for event in _of_family(of, family_of(of)) if event.alpha <= highest)
    try:
        with time_budget(budget):
            return _of_curve(of, highest)
    except OutOfTime as stop:
        raise InvalidParameter("budget", budget, f"more, or a smaller `highest`: {stop}") from stop


def weak_recovery(of: Target) -> float:
    """The alpha at which Q = 0 becomes unstable, if it is a fixed point: 1 / the largest eigenvalue of E[G M G]."""
    told = informative(of)
    return 1 / second_moments(told, nothing(told.rank)).top


def _of_family(of: Target, family: Family) -> list[Event]:
    eye = np.eye(family.rank)
    events = []
    threshold, jumps = family.threshold(), family.jumps()
    if 0 < threshold < np.inf:
        threshold = weak_recovery(of)
    from_nothing = bool(jumps) and jumps[0][1] < SLIGHT
    if from_nothing and threshold > 0:
        jumps[0] = (threshold, *jumps[0][1:])
    if threshold == 0:
        events.append(Event(0.0, "trivial", 0 * eye, 0 * eye))
    elif np.isfinite(threshold) and not from_nothing:
        events.append(Event(threshold, "continuous", 0 * eye, 0 * eye))
    events += [Event(alpha, "jump", low * eye, high * eye) for alpha, low, high in jumps]
    last = float(family.reciprocal(np.array(0.5 * np.pi)))
    begins = bool(jumps) or np.isfinite(threshold)  # else no small overlap grows, and the perfect one is never reached
    if begins and last > 1e-3 and not (jumps and jumps[-1][2] == 1.0):
        events.append(Event(1 / last, "perfect", eye, eye))
    return events


def _of_curve(of: Target, highest: float) -> tuple[Event, ...]:
    channel = channel_of(of)
    alphas = np.geomspace(_LOWEST, highest, _GRID)
    overlaps = overlap_curve(of, alphas.tolist()).overlaps
    start = channel.at(np.zeros((of.rank, of.rank))).information
    events = []
    if np.linalg.eigvalsh(start)[-1] > _UNKNOWN:
        zero = np.zeros_like(start)
        events.append(Event(0.0, "trivial", zero, update(channel, _LOWEST, zero)))
    for place in range(_GRID - 1):
        ends = (float(alphas[place]), float(alphas[place + 1]))
        low, high = overlaps[place], overlaps[place + 1]
        if _unknown(high).shape[1] < _unknown(low).shape[1]:
            events += _recovery(of, channel, ends, low, high)
        elif np.max(np.abs(high - low)) > _JUMP:
            events += _jump(of, ends, low, high)
    return tuple(events)


def _unknown(overlap: Floats) -> Floats:
    """The directions of which nothing is known: orthonormal columns."""
    values, vectors = np.linalg.eigh(overlap)
    return vectors[:, values < _UNKNOWN]


def _without(overlap: Floats, unknown: Floats) -> Floats:
    keep = np.eye(len(overlap)) - unknown @ unknown.T
    return keep @ overlap @ keep


def _recovery(of: Target, channel: Channel, ends: tuple[float, float], low: Floats, high: Floats) -> list[Event]:
    """The alpha at which unknown directions begin to grow: the root of the growth of a small one in one iteration.

    Directions that are found though a small overlap does not grow are found with a jump.
    """
    unknown = _unknown(low)
    known = _without(low, unknown)

    def growth(alpha: float) -> float:
        overlap = _without(state_evolution(of, alpha, known).overlap, unknown)
        grown = unknown.T @ update(channel, alpha, overlap + _PROBE * unknown @ unknown.T) @ unknown
        return float(np.linalg.eigvalsh(grown)[-1]) / _PROBE - 1

    if unknown.shape[1] == of.rank:
        alpha = weak_recovery(of)
    elif not growth(ends[0]) < 0 < growth(ends[1]):
        return _jump(of, ends, low, high)
    else:
        alpha = float(brentq(growth, *ends, xtol=_PRECISION * ends[1]))
    before = _without(state_evolution(of, alpha, known).overlap, unknown)
    after = state_evolution(of, 1.002 * alpha, before + SLIGHT * unknown @ unknown.T).overlap
    found = np.linalg.eigvalsh(unknown.T @ after @ unknown)[-1]
    return [Event(alpha, "jump" if found > _JUMP else "continuous", before, after)]


def _jump(of: Target, ends: tuple[float, float], low: Floats, high: Floats) -> list[Event]:
    """A discontinuity between two alphas, by bisection; none if the overlap only grows fast."""
    below, above = ends
    for _ in range(_HALVINGS):
        middle = 0.5 * (below + above)
        between = state_evolution(of, middle, low).overlap
        if np.linalg.norm(between - low) < np.linalg.norm(between - high):
            below, low = middle, between
        else:
            above, high = middle, between
        if np.max(np.abs(high - low)) < _JUMP:
            return []
    return [Event(0.5 * (below + above), "jump", low, high)]
