"""Everything that the structure of a target of many directions tells, in the form of its analysis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from featlab.analysis.energies import Energies, coordinate_leap
from featlab.analysis.label_law import label_law
from featlab.analysis.levels import Level
from featlab.analysis.probes import MOST_DISCRETE_LABELS
from featlab.analysis.residuals import Regime
from featlab.analysis.staircase import GrandStage, Stage, Staircase, climb_correlations
from featlab.analysis.structured.correlations import coefficient_span, level_of
from featlab.analysis.structured.expansion import Expansion, energies_of
from featlab.analysis.structured.grand import grand_of
from featlab.analysis.structured.structure import Structure, structure_of
from featlab.analysis.subspaces import aligned, settled
from featlab.gaussian.hermite import Floats
from featlab.targets.relabelling import informative

_SEARCH = 40
_REGIMES = 3


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
    doubts: tuple[str, ...] = ()


def findings(structure: Structure) -> Findings:
    """Staircases, energies and what follows from them."""
    target, expansion = structure.target, structure.expansion
    giant, leap = (correlation_stairs(expansion, most) for most in (1, _SEARCH))
    lowest = leap.stages[0].exponent if leap.stages else 0
    return Findings(
        giant=giant,
        leap=leap,
        grand=grand_of(structure_of(informative(target)) or structure),
        energies=energies_of(expansion),
        coordinate_leap=coordinate_leap(expansion.monomials(), target.rank) if leap.complete else None,
        one_step=coefficient_span(expansion, lowest),
        regimes=_regimes(expansion) if structure.polynomial is not None else (),
        labels=_labels(structure),
    )


def correlation_stairs(expansion: Expansion, max_order: int) -> Staircase[Stage]:
    """The stages that correlations open, looking up to an order: 1 is what giant steps see, many are the leap."""
    return climb_correlations(expansion.rank, partial(_look, expansion, max_order), max_order)


def _look(expansion: Expansion, most: int, known: Floats, tilt: float) -> Level:
    tidy, tilt = settled(known, tilt)
    return level_of(expansion, tidy, most, tilt)


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
