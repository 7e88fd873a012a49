"""The grand staircase of a target of many directions, from the structure that tells most of its label."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from featlab.analysis.budget import OutOfTime
from featlab.analysis.grids import build_grids
from featlab.analysis.levels import Level
from featlab.analysis.staircase import Easy, GrandStage, Kind, Look, Staircase, climb_labels, grand_staircase
from featlab.analysis.structured import certificates, characters, committees, lattices, patterns
from featlab.analysis.structured.parts import MOST_OF_A_GROUP, Parts, merged
from featlab.analysis.structured.patterns import Patterns
from featlab.analysis.structured.quadratics import as_a_sum
from featlab.analysis.structured.remainders import remainder_of
from featlab.analysis.structured.structure import Structure, structure_of
from featlab.analysis.subspaces import complement, readable_basis, settled
from featlab.gaussian.hermite import Floats
from featlab.targets import Target

_TIE = 2e-3
_ROUNDING = 1e-12
_SEARCH = 12


def grand_of(structure: Structure) -> Staircase[GrandStage]:
    """Close under TRIVIAL directions, else take the EASY ones of smallest alpha, else the HARD ones of lowest order.

    Where alpha is not computed, an EASY stage has all directions that are visible at order 2, and a doubt says why.
    """
    rank, noise = structure.target.rank, structure.target.noise
    turned = None if structure.polynomial is None else as_a_sum(structure.polynomial)
    if turned is not None:
        return _turned(_climbed(rank, *_of_parts(turned[0], noise)), turned[1])
    if structure.parts is not None:
        return _climbed(rank, *_of_parts(structure.parts, noise))
    if structure.patterns is not None:
        of_signs = structure.patterns
        return _climbed(rank, partial(patterns.level_of, of_signs), partial(_easy_of_patterns, of_signs, noise))
    powers = certificates.label_powers(structure.polynomial)
    look = partial(certificates.level_of, structure.polynomial, powers)
    return _climbed(rank, look, partial(_easy_of_polynomial, structure))


def _of_parts(parts: Parts, noise: float) -> tuple[Look, Easy]:
    return partial(characters.level_of, parts), partial(_easy_of_parts, parts, noise)


def _climbed(rank: int, look: Look, easy: Easy) -> Staircase[GrandStage]:
    def in_time(known: Floats, level: Level) -> tuple[GrandStage, str | None]:
        try:
            return easy(settled(known, 0.0)[0], level)
        except OutOfTime as stop:  # which of the directions come first is then unknown, too
            return _without_ratio(level, "")[0], str(stop)

    return climb_labels(rank, lambda known, tilt: look(*settled(known, tilt)), in_time)


def _turned(stairs: Staircase[GrandStage], turn: Floats) -> Staircase[GrandStage]:
    """The staircase in the directions of the target, from one in other orthonormal directions (columns)."""
    stages = [
        replace(stage, directions=readable_basis(turn @ stage.directions, stage.directions.shape[1]))
        for stage in stairs.stages
    ]
    return replace(stairs, stages=tuple(stages))


def _without_ratio(level: Level, why: str) -> tuple[GrandStage, str]:
    stage = GrandStage(2, level.directions, level.signal, level.error, level.tilt, Kind.EASY)
    return stage, f"the critical sample ratio alpha of an EASY stage was not computed, because {why}"


def _easy_of_polynomial(structure: Structure, known: Floats, level: Level) -> tuple[GrandStage, str | None]:
    """The stage by the law of what is left of the label, where that is a function of the unknown directions alone."""
    rest = None if structure.target.noise else remainder_of(structure.polynomial, known)
    first = None if rest is None else _first_stage(rest[0])
    if rest is None or first is None or first.alpha is None or first.alpha_error is None:
        why = "the label is a polynomial that is neither a sum nor a product of functions of different directions"
        return _without_ratio(level, why)
    columns = np.zeros((len(known), first.directions.shape[1]))
    columns[rest[1]] = first.directions
    return _easy(columns, level, 1 / first.alpha, first.alpha_error / first.alpha**2), None


def _first_stage(target: Target) -> GrandStage | None:
    """The first stage of the grand staircase of a target; None if it is not easy, or if nothing is known of it."""
    structure = structure_of(target)
    if structure is not None and structure.parts is not None:
        stages = grand_of(structure).stages
    elif target.rank <= MOST_OF_A_GROUP:
        stages = grand_staircase(target, build_grids(target), _SEARCH).stages
    else:
        return None
    return stages[0] if stages and stages[0].kind is Kind.EASY else None


def _easy_of_parts(parts: Parts, noise: float, known: Floats, level: Level) -> tuple[GrandStage, str | None]:
    """The directions of smallest alpha of a sum or a product, by the law of its label."""
    if parts.product and parts.split(known):
        odd = characters.odd_groups(parts, known)
        joined = merged(parts, *odd) if len(odd) == 2 else parts
        if joined is None:
            return _without_ratio(level, "two odd factors of the label have too many directions together")
        parts = joined
    neuron = committees.neuron_of(parts, known)
    if neuron is not None:
        strength, error = committees.strength(neuron, parts.rank, noise / parts.scale**2)
        return _unresolved(level, strength, error) or (_easy(complement(known), level, strength, error), None)
    why = lattices.why_not(parts, known, noise)
    if why is not None:
        return _without_ratio(level, why)
    found = lattices.strengths(parts, known, noise)
    strongest = float(found.values.max())
    unresolved = _unresolved(level, strongest, found.error)
    if unresolved:
        return unresolved
    first = found.values >= strongest * (1 - _TIE) - 3 * found.error
    columns = []
    for group, subspace, early in zip(parts.groups, found.subspaces, first, strict=True):
        placed = np.zeros((parts.rank, subspace.shape[1]))
        placed[list(group.axes)] = complement(group.columns(known)) @ subspace
        columns += [placed] if early else []
    return _easy(np.column_stack(columns), level, strongest, found.error), None


def _unresolved(level: Level, strength: float, error: float) -> tuple[GrandStage, str] | None:
    """The stage without its ratio if the strength is not told from zero."""
    if strength > 3 * error:
        return None
    bound = 1 / (4 * error)
    stage = replace(_without_ratio(level, "")[0], alpha_bound=bound)
    return stage, f"the critical sample ratio alpha is too large to be resolved: it is above {bound:.2g}"


def _easy(columns: Floats, level: Level, strength: float, error: float) -> GrandStage:
    directions = readable_basis(columns, columns.shape[1])
    alpha, alpha_error = 1 / strength, error / strength**2
    return GrandStage(2, directions, level.signal, level.error, level.tilt, Kind.EASY, alpha, alpha_error)


def _easy_of_patterns(of_signs: Patterns, noise: float, known: Floats, level: Level) -> tuple[GrandStage, str | None]:
    if noise > 0:
        return _without_ratio(level, "noise is added to a function of signs that is neither a sum nor a product")
    found = patterns.strength(of_signs, known)
    if found is None:
        return _without_ratio(level, "the signs and labels have too many combinations")
    strength, subspace = found
    return _easy(complement(known) @ subspace, level, strength, _ROUNDING * strength), None
