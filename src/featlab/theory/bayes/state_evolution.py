"""State evolution of Bayes-AMP: the overlap with the target's directions as d -> infinity at n = alpha d samples.

Statement (Troiani et al. 2024; Aubin et al. 2018 for committees): with the Gaussian prior and F of `channel`,

    Qhat = alpha F(Q),   Q <- Qhat (I + Qhat)^{-1},

is the overlap matrix M = Q of the estimate after one more iteration. F is monotone (who knows more learns more), so
from a small start the sequence climbs to the first fixed point on its way, from a nearly perfect one it descends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.gaussian.matrices import of_eigenvalues
from featlab.interruption import check
from featlab.targets import Target, target
from featlab.theory.bayes.channel import Channel
from featlab.theory.bayes.channels import channel_of
from featlab.theory.bayes.climb import climb, to_log_odds, to_overlap
from featlab.theory.bayes.family import Family
from featlab.theory.bayes.symmetry import interchangeable

STARTS = ("uninformed", "slightly informed", "informed")
SLIGHT = 1e-4
_ALMOST_PERFECT = 1 - 1e-9
_REMEDY = "raise iterations, or ask for an alpha farther from a threshold, where state evolution slows down"


@dataclass(frozen=True)
class Evolution:
    """Where state evolution went.

    Attributes:
        overlap: Q at the end, (r, r).
        path: Q at every iteration from the start on, (iterations + 1, r, r).
        converged: whether it came to rest; if not, with a remedy.
    """

    overlap: Floats
    path: Floats
    converged: bool
    remedy: str = ""


@lru_cache(maxsize=32)
def family_of(of: Target, generic: bool = False) -> Family:
    """The table along Q = q I of a target with interchangeable directions, kept."""
    return Family(channel_of(of, generic), of.rank)


def update(channel: Channel, alpha: float, overlap: Floats) -> Floats:
    """One iteration: Q <- Qhat (I + Qhat)^{-1}, Qhat = alpha F(Q)."""
    gain = alpha * channel.at(_not_quite(overlap)).information
    return of_eigenvalues(lambda values: np.maximum(values, 0.0) / (1 + np.maximum(values, 0.0)), gain)


def _not_quite(overlap: Floats) -> Floats:
    """The overlap with its eigenvalues kept from 0 to a little below 1."""
    values = np.linalg.eigvalsh(overlap)
    if values[0] >= 0 and values[-1] <= _ALMOST_PERFECT:
        return overlap
    return of_eigenvalues(lambda q: np.clip(q, 0.0, _ALMOST_PERFECT), overlap)


def start_matrix(start: str | Floats, rank: int) -> Floats:
    """The overlap at the start: a word, or a symmetric matrix with eigenvalues from 0 to 1 (kept a little below)."""
    if isinstance(start, str):
        if start not in STARTS:
            raise InvalidParameter("start", start, "one of " + ", ".join(map(repr, STARTS)) + ", or a matrix")
        return {"uninformed": 0.0, "slightly informed": SLIGHT, "informed": 1 - 1e-6}[start] * np.eye(rank)
    matrix = np.atleast_2d(np.asarray(start, dtype=float))
    square = matrix.shape == (rank, rank) and np.allclose(matrix, matrix.T, atol=1e-9)
    values = np.linalg.eigvalsh(matrix) if square else np.full(1, np.nan)
    if not (values[0] >= -1e-9 and values[-1] <= 1 + 1e-9):
        raise InvalidParameter("start", start, f"a symmetric {rank} x {rank} matrix with eigenvalues in [0, 1]")
    return _not_quite(matrix)


def check_alpha(alpha: float) -> float:
    """alpha, if it is a number above 0."""
    if not (np.isfinite(alpha) and alpha > 0):
        raise InvalidParameter("alpha", alpha, "a number of samples per dimension above 0")
    return float(alpha)


def state_evolution(
    of: Target | str,
    alpha: float,
    start: str | Floats = "slightly informed",
    *,
    damping: float = 0.0,
    iterations: int = 500,
    tolerance: float = 1e-6,
    leaps: bool = True,
    generic: bool = False,
) -> Evolution:
    """Iterate state evolution until Qhat moves by less than `tolerance` of itself.

    Args:
        of: the target or its text.
        alpha: samples per dimension.
        start: "uninformed" (Q = 0, which only directions with E[z | y] != 0 leave), "slightly informed" (1e-4 I, as a
            finite dimension always is), "informed" (almost I), or a matrix.
        damping: the weight of the old Q. It changes the path, not where it ends.
        leaps: take longer steps to the same fixed point; off for the path as message passing takes it, for which alone
            damping matters.
        generic: go the way of any link even where a closed form is known.
    """
    of, alpha = target(of), check_alpha(alpha)
    if not 0 <= damping < 1:
        raise InvalidParameter("damping", damping, "from 0 to below 1, the weight of the old overlap")
    channel, overlap = channel_of(of, generic), start_matrix(start, of.rank)
    if leaps:
        return _leaping(channel, alpha, overlap, iterations, tolerance)
    path = [overlap]
    for _ in range(iterations):
        check()
        step = (1 - damping) * (update(channel, alpha, overlap) - overlap)
        overlap = overlap + step
        path.append(overlap)
        if np.linalg.norm(step) <= tolerance * np.linalg.norm(overlap):
            return Evolution(overlap, np.array(path), True)
    return Evolution(overlap, np.array(path), False, _REMEDY)


def _leaping(channel: Channel, alpha: float, overlap: Floats, iterations: int, tolerance: float) -> Evolution:
    if not overlap.any() and not update(channel, alpha, overlap).any():
        return Evolution(overlap, overlap[None], True)
    found = climb(channel, alpha, to_log_odds(overlap), iterations, tolerance)
    path = np.array([to_overlap(visited) for visited in found.visited])
    return Evolution(path[-1], path, found.converged, "" if found.converged else _REMEDY)


@dataclass(frozen=True)
class Curve:
    """Overlaps over alpha: alphas (A,), overlaps (A, r, r), and whether state evolution came to rest at each."""

    alphas: Floats
    overlaps: Floats
    converged: tuple[bool, ...]

    @property
    def diagonal(self) -> Floats:
        """The overlap of each direction, (A, r)."""
        return np.diagonal(self.overlaps, axis1=1, axis2=2)


def overlap_curve(
    of: Target | str, alphas: Sequence[float], start: str = "slightly informed", *, generic: bool = False
) -> Curve:
    """Where state evolution ends at each alpha.

    Interchangeable directions are solved at all alphas at once (`Family`). Otherwise each alpha starts from the
    solution of its neighbour, upwards from a small start and downwards from an informed one; as F is monotone,
    this ends where the start itself would.
    """
    of = target(of)
    given = np.array([check_alpha(alpha) for alpha in alphas])
    start_matrix(start, of.rank)
    if interchangeable(of):
        return _family_curve(family_of(of, generic), given, start)
    order = np.argsort(given)[:: -1 if start == "informed" else 1]
    overlaps, converged = np.empty((given.size, of.rank, of.rank)), [False] * given.size
    begin: str | Floats = start
    for place in order:
        if start != "informed" and not isinstance(begin, str) and np.linalg.eigvalsh(begin)[0] >= 1 - 1e-6:
            overlaps[place], converged[place] = np.eye(of.rank), True  # more samples do not undo a perfect overlap
            continue
        found = state_evolution(of, given[place], begin, generic=generic)
        overlaps[place], converged[place] = found.overlap, found.converged
        begin = start if start == "uninformed" else _next_start(found.overlap, start)
    return Curve(given, overlaps, tuple(converged))


def _next_start(overlap: Floats, start: str) -> Floats:
    """The solution at one alpha as a start for the next: still a little informed everywhere, or not quite perfect."""
    least = -np.inf if start == "informed" else SLIGHT
    return of_eigenvalues(lambda q: np.clip(q, least, 1 - 1e-6), overlap)


def _family_curve(family: Family, alphas: Floats, start: str) -> Curve:
    small = {"uninformed": 0.0, "slightly informed": SLIGHT}
    if start == "uninformed" and family.threshold() > 0:
        q = np.zeros(alphas.size)
    elif start == "informed":
        q = np.array([family.from_above(alpha) for alpha in alphas])
    else:
        q = np.array([family.from_below(alpha, small[start]) for alpha in alphas])
    return Curve(alphas, q[:, None, None] * np.eye(family.rank), (True,) * alphas.size)
