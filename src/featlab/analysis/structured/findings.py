"""Everything that the structure of a target of many directions tells, in the form of its analysis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from featlab.analysis.energies import Energies, coordinate_leap
from featlab.analysis.label_law import label_law
from featlab.analysis.levels import Level
from featlab.analysis.probes import MOST_DISCRETE_LABELS
from featlab.analysis.residuals import Regime
from featlab.analysis.staircase import GrandStage, Kind, Stage, Staircase, climb_correlations, climb_labels
from featlab.analysis.structured import algebra, certificates, characters, lattices, patterns
from featlab.analysis.structured.correlations import coefficient_span, level_of
from featlab.analysis.structured.expansion import Expansion, energies_of, of_parts
from featlab.analysis.structured.parts import Parts, merged, parts_of
from featlab.analysis.structured.patterns import Patterns, patterns_of
from featlab.analysis.subspaces import aligned, complement, readable_basis
from featlab.gaussian.hermite import Floats
from featlab.targets import Target

_SEARCH = 40
_REGIMES = 3
_TIE = 2e-3
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Findings:
    """What an analysis is made of."""

    giant: Staircase[Stage]
    leap: Staircase[Stage]
    grand: Staircase[GrandStage]
    energies: Energies
    coordinate_leap: int | None
    one_step: Floats
    regimes: tuple[Regime, ...]
    labels: Floats | None


@dataclass(frozen=True)
class Structure:
    """What is known of a target's form; at least one of the three is there."""

    target: Target
    parts: Parts | None
    patterns: Patterns | None
    polynomial: Any | None

    @property
    def expansion(self) -> Expansion:
        if self.polynomial is not None:
            return algebra.expansion_of(self.polynomial)
        if self.parts is not None:
            return of_parts(self.parts)
        assert self.patterns is not None
        return patterns.expansion_of(self.patterns)


def structure_of(target: Target) -> Structure | None:
    """The structure of a target, or None if it has none that is known here."""
    found = Structure(target, parts_of(target), patterns_of(target), algebra.polynomial_of(target))
    return None if found.parts is found.patterns is found.polynomial is None else found


def findings(structure: Structure) -> Findings:
    """Staircases, energies and what follows from them."""
    target, expansion = structure.target, structure.expansion
    giant, leap = (
        climb_correlations(target.rank, lambda known, tilt, most=most: level_of(expansion, known, most, tilt), most)
        for most in (1, _SEARCH)
    )
    lowest = leap.stages[0].exponent if leap.stages else 0
    return Findings(
        giant=giant,
        leap=leap,
        grand=_grand(structure),
        energies=energies_of(expansion),
        coordinate_leap=coordinate_leap(expansion.monomials(), target.rank) if leap.complete else None,
        one_step=coefficient_span(expansion, lowest),
        regimes=_regimes(expansion) if structure.polynomial is not None else (),
        labels=_labels(structure),
    )


def _grand(structure: Structure) -> Staircase[GrandStage]:
    """The grand staircase, from the structure that tells most of the label."""
    rank, noise = structure.target.rank, structure.target.noise
    if structure.parts is not None:
        parts = structure.parts
        look = partial(characters.level_of, parts)
        return climb_labels(rank, look, lambda known, level: _easy_of_parts(parts, noise, known, level))
    if structure.patterns is not None:
        of_signs = structure.patterns
        look = partial(patterns.level_of, of_signs)
        return climb_labels(rank, look, lambda known, level: _easy_of_patterns(of_signs, noise, known, level))
    powers = certificates.label_powers(structure.polynomial)
    look = partial(certificates.level_of, structure.polynomial, powers)
    why = "the label is a polynomial that is neither a sum nor a product of functions of different directions"
    return climb_labels(rank, look, lambda known, level: _without_ratio(level, why))


def _without_ratio(level: Level, why: str) -> tuple[GrandStage, str]:
    stage = GrandStage(2, level.directions, level.signal, level.error, level.tilt, Kind.EASY)
    return stage, f"the critical sample ratio alpha of an EASY stage was not computed, because {why}"


def _easy_of_parts(parts: Parts, noise: float, known: Floats, level: Level) -> tuple[GrandStage, str | None]:
    """The directions of smallest alpha of a sum or a product, by the law of its label."""
    if parts.product and parts.split(known):
        odd = characters.odd_groups(parts, known)
        joined = merged(parts, *odd) if len(odd) == 2 else parts
        if joined is None:
            return _without_ratio(level, "two odd factors of the label have too many directions together")
        parts = joined
    why = lattices.why_not(parts, known, noise)
    if why is not None:
        return _without_ratio(level, why)
    found = lattices.strengths(parts, known, noise)
    strongest = float(found.values.max())
    if strongest <= 3 * found.error:
        stage, _ = _without_ratio(level, "")
        bound = 1 / (4 * found.error)
        return stage, f"the critical sample ratio alpha is too large to be resolved: it is above {bound:.0f}"
    first = found.values >= strongest * (1 - _TIE) - 3 * found.error
    columns = []
    for group, subspace, early in zip(parts.groups, found.subspaces, first, strict=True):
        placed = np.zeros((parts.rank, subspace.shape[1]))
        placed[list(group.axes)] = complement(group.columns(known)) @ subspace
        columns += [placed] if early else []
    return _easy(np.column_stack(columns), level, strongest, found.error), None


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


def _regimes(expansion: Expansion) -> tuple[Regime, ...]:
    """The variance left after one giant step, of a polynomial (see `residuals`); () if its directions mix axes.

    Statement: where the known subspace U is spanned by axes, P_{U,<=k} f has the terms of degree <= k outside U.
    """
    found = []
    squares = expansion.coefficients**2
    for samples in range(1, _REGIMES + 1):
        known = coefficient_span(expansion, samples)
        if not aligned(known):
            return ()
        outside = ~np.any(np.abs(known) > 0.5, axis=1)
        fresh = expansion.indices[:, outside].sum(axis=1)
        for width in range(samples + 1):
            left = float(squares[fresh > width].sum())
            found.append(Regime(samples, width, known.shape[1], left))
    return tuple(found)


def _labels(structure: Structure) -> Floats | None:
    """The values of the label if they are few."""
    if structure.patterns is not None:
        labels = structure.patterns.labels
        return labels if len(labels) <= MOST_DISCRETE_LABELS else None
    law = label_law(structure.target)
    return law.atoms if law.discrete and law.atoms.size <= MOST_DISCRETE_LABELS else None
