"""Staircases: which directions become learnable once others are known, for three kinds of learners.

Each is one recursion U -> U + (new directions at U), from U = {0} until nothing is added:

* giant steps with n = O(d): first-order correlations only, E[Y z | x] (Dandi et al. 2023);
* the leap: correlations of the lowest order that is not zero, E[Y He_k(z) | x]; its largest order is the
  rotation-invariant leap (Abbe et al. 2023, App. B.2);
* the grand staircase: any function of the label, E[He_k(z) | y, x]; order 1 is TRIVIAL, order 2 EASY with a finite
  sample ratio alpha, order k >= 3 HARD (Troiani et al. 2024; Damian et al. 2024 for a single index).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

import numpy as np

from featlab.analysis.budget import OutOfTime
from featlab.analysis.grids import GridPair
from featlab.analysis.levels import Level, find_level, level_matrices
from featlab.analysis.probes import correlation_probes, label_probes
from featlab.analysis.subspaces import complement, nothing, readable_basis
from featlab.analysis.thresholds import reducing_subspaces, second_moments
from featlab.gaussian.hermite import Floats
from featlab.targets import Target

# Blocks whose thresholds differ by less than this, or than three numerical errors, are learned together.
_TIE = 2e-3
# Labels that are not told apart may hide this part of an eigenvalue; it is then part of its error.
_MOST_LOST = 1e-2
_ROUNDING = 1e-6  # of the same eigenvalue, computed on the whole space and on a block


class Kind(StrEnum):
    TRIVIAL = "trivial"
    EASY = "easy"
    HARD = "hard"
    OPEN = "open"  # for inputs of which no threshold is known


@dataclass(frozen=True)
class Stage:
    """One step of a staircase.

    Attributes:
        exponent: the order k at which the new directions become visible.
        directions: (rank, new) orthonormal columns.
        signal: relative size of the weakest accepted direction; error: the numerical error it was compared with.
        tilt: how far the directions may be off, as an angle.
    """

    exponent: int
    directions: Floats
    signal: float
    error: float
    tilt: float


@dataclass(frozen=True)
class GrandStage(Stage):
    """A stage of the grand staircase: its kind, and for an easy one the critical sample ratio alpha = n/d.

    Where alpha of an easy stage could not be computed it is None; `alpha_bound` is a lower bound for it, if known.
    """

    kind: Kind = Kind.TRIVIAL
    alpha: float | None = None
    alpha_error: float | None = None
    alpha_bound: float | None = None


AnyStage = TypeVar("AnyStage", bound=Stage)


@dataclass(frozen=True)
class Staircase(Generic[AnyStage]):
    """Stages in order, whether they exhaust the target's directions, and every doubt met on the way.

    A staircase ends where the next level cannot be decided: what follows would rest on a guess. `unsure` says whether
    a doubt is one that finer grids could settle, `stopped` whether the time was spent.
    """

    stages: tuple[AnyStage, ...]
    complete: bool
    doubts: tuple[str, ...]
    unsure: bool
    stopped: bool = False

    @property
    def exponent(self) -> int | None:
        """The largest order met; None when the staircase could not be climbed to the end."""
        return max(stage.exponent for stage in self.stages) if self.complete else None


Look = Callable[[Floats, float], Level]
Easy = Callable[[Floats, Level], tuple[GrandStage, str | None]]


def giant_staircase(grids: GridPair) -> Staircase[Stage]:
    """U_{t+1} = U_t + span{ E[Y z | x] : x in U_t }: giant steps on n = O(d) fresh samples each."""
    return _correlation_staircase(grids, max_order=1)


def leap_staircase(grids: GridPair, max_order: int) -> Staircase[Stage]:
    """Add the directions of the lowest visible order, again and again; its exponent is the rotation-invariant leap."""
    return _correlation_staircase(grids, max_order)


def _correlation_staircase(grids: GridPair, max_order: int) -> Staircase[Stage]:
    def look(known: Floats, tilt: float) -> Level:
        return find_level(grids, correlation_probes(known.shape[1]), known, max_order, tilt)

    return climb_correlations(grids.fine.rank, look, max_order)


def climb_correlations(rank: int, look: Look, max_order: int) -> Staircase[Stage]:
    """The stages that correlations open; `look(known, tilt)` finds the level of a subspace, looking up to max_order."""
    known = nothing(rank)
    stages: list[Stage] = []
    doubts: list[str] = []
    unsure = False
    stopped = False
    while known.shape[1] < rank:
        try:
            level = look(known, _tilt(stages))
        except OutOfTime as stop:
            doubts, stopped = [*doubts, str(stop)], True
            break
        doubts += [doubt for doubt in (level.doubt, level.incomplete) if doubt]
        unsure = unsure or bool(doubts)
        if level.order is None or level.doubt:
            if max_order > 1 and not level.doubt:
                doubts.append(_nothing_found("correlation with", level))
            break
        stages.append(Stage(level.order, level.directions, level.signal, level.error, level.tilt))
        known = np.column_stack([known, level.directions])
    return Staircase(tuple(stages), known.shape[1] == rank, tuple(doubts), unsure, stopped)


def grand_staircase(target: Target, grids: GridPair, max_order: int) -> Staircase[GrandStage]:
    """Close under TRIVIAL directions, else take the EASY ones of smallest alpha, else the HARD ones of lowest order."""

    def look(known: Floats, tilt: float) -> Level:
        return find_level(grids, label_probes(grids.fine, known.shape[1]), known, max_order, tilt)

    def easy(known: Floats, level: Level) -> tuple[GrandStage, str | None]:
        return _easy_stage(target, grids, known, level)

    return climb_labels(grids.fine.rank, look, easy)


def climb_labels(rank: int, look: Look, easy: Easy) -> Staircase[GrandStage]:
    """The stages that functions of the label open.

    Args:
        look: look(known, tilt) finds the level of a subspace.
        easy: easy(known, level) is the stage that a level of order 2 opens, and a doubt about it or None.
    """
    known = nothing(rank)
    stages: list[GrandStage] = []
    doubts: list[str] = []
    unsure = False
    stopped = False
    while known.shape[1] < rank:
        try:
            level = look(known, _tilt(stages))
            if level.order is None or level.doubt:
                unsure = level.doubt is not None
                doubts.append(level.doubt or _nothing_found("function of", level))
                break
            stage, doubt = easy(known, level) if level.order == 2 else (_simple_stage(level), None)
        except OutOfTime as stop:
            doubts, stopped = [*doubts, str(stop)], True
            break
        doubts += [doubt] if doubt else []
        known = np.column_stack([known, stage.directions])
        if stages and stage.kind is stages[-1].kind is Kind.TRIVIAL:
            stage = _merge(stages.pop(), stage)
        stages.append(stage)
    return Staircase(tuple(stages), known.shape[1] == rank, tuple(doubts), unsure, stopped)


def _tilt(stages: Sequence[Stage]) -> float:
    return max((stage.tilt for stage in stages), default=0.0)


def _nothing_found(what: str, level: Level) -> str:
    return (
        f"no {what} the label sees the remaining directions up to order {level.searched} (relative numerical "
        f"error {level.error:.1e}): their exponent is larger or infinite, or what sees them is below that error"
    )


def _simple_stage(level: Level) -> GrandStage:
    """The stage that a level of order 1, or of order 3 and more, opens."""
    if level.order == 1:
        # Trivial directions are closed under anyway: take the surest and look again, rather than build on shaky ones.
        surest = (level.surest, level.signal, level.error, level.surest_tilt)
        return GrandStage(1, *surest, Kind.TRIVIAL, 0.0, 0.0)
    return GrandStage(level.order or 0, level.directions, level.signal, level.error, level.tilt, Kind.HARD)


def _easy_stage(target: Target, grids: GridPair, known: Floats, level: Level) -> tuple[GrandStage, str | None]:
    """The stage that a level of order 2 opens; a doubt if its threshold could not be computed."""
    found = (level.directions, level.signal, level.error, level.tilt)
    try:
        matrices, error = level_matrices(grids, label_probes(grids.fine, known.shape[1]), known)
        moments = second_moments(target, known)
    except OutOfTime as stop:  # which of the directions come first is then unknown, too
        return GrandStage(2, *found, Kind.EASY), str(stop)
    blocks, tilt = reducing_subspaces(matrices, error)
    strengths = np.array([moments.restricted(block) for block in blocks])
    strongest = moments.top
    if strongest <= 3 * moments.error:
        bound = 1 / (4 * moments.error)
        unresolved = GrandStage(2, *found, Kind.EASY, alpha_bound=bound)
        return unresolved, f"the critical sample ratio is too large to be resolved: above {bound:.2g}"
    if moments.lost > _MOST_LOST * strongest:
        bound = 1 / (strongest + moments.lost + moments.error)
        return GrandStage(2, *found, Kind.EASY, alpha_bound=bound), (
            f"{'the noise' if target.noise > 0 else 'double precision'} does not let all labels be told apart, and the "
            f"critical sample ratio is between {bound:.2g} and {1 / strongest:.2g}; write the target without the "
            "function that spreads them over so many powers of ten, or makes them so alike"
        )
    first = strengths >= strongest * (1 - _TIE) - 3 * moments.error
    chosen = np.column_stack([block for block, early in zip(blocks, first, strict=True) if early])
    new = readable_basis(complement(known) @ chosen, chosen.shape[1])
    alpha, alpha_error = 1 / strongest, (moments.error + moments.lost) / strongest**2
    stage = GrandStage(2, new, level.signal, level.error, tilt, Kind.EASY, alpha, alpha_error)
    of_blocks = float(strengths.max())
    if abs(of_blocks - strongest) > 3 * moments.error + _ROUNDING * strongest:
        return stage, (
            f"an internal contradiction: the whole unknown space has the critical sample ratio {alpha:.4g}, its blocks "
            f"{1 / of_blocks:.4g}; the directions of this stage are not to be trusted"
        )
    return stage, None


def _merge(before: GrandStage, after: GrandStage) -> GrandStage:
    """Two successive trivial stages are one: each costs a single sweep, and no other algorithm tells them apart."""
    directions = np.column_stack([before.directions, after.directions])
    together = readable_basis(directions, directions.shape[1])
    signal, error = min(before.signal, after.signal), max(before.error, after.error)
    return GrandStage(before.exponent, together, signal, error, _tilt([before, after]), Kind.TRIVIAL, 0.0, 0.0)
