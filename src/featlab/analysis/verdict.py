"""The analysis of a target: everything that can be known of it before any data is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf
from typing import ClassVar, NamedTuple

import numpy as np

from featlab.analysis.budget import DEFAULT_BUDGET, Tell, time_budget
from featlab.analysis.energies import Energies, coordinate_leap, hermite_energies
from featlab.analysis.grids import Grid, GridPair, build_grids
from featlab.analysis.levels import DOUBT, RESOLUTION, ROUNDING
from featlab.analysis.probes import MOST_DISCRETE_LABELS, discrete_levels
from featlab.analysis.residuals import Regime, giant_step_subspace, learnable_variance, regimes
from featlab.analysis.sample_cost import SampleCost, critical_constant, sample_costs
from featlab.analysis.spiked_cost import kernel_reach, law_of, spiked_costs
from featlab.analysis.staircase import (
    AnyStage,
    GrandStage,
    Kind,
    Stage,
    Staircase,
    giant_staircase,
    grand_staircase,
    leap_staircase,
)
from featlab.analysis.structured.algebra import polynomial_expansion
from featlab.analysis.structured.expansion import Expansion, dense_energies
from featlab.analysis.structured.findings import Findings, correlation_stairs, findings
from featlab.analysis.structured.patterns import MOST_SIGNS
from featlab.analysis.structured.structure import structure_of
from featlab.errors import InvalidParameter, InvalidTarget
from featlab.gaussian.hermite import Floats
from featlab.shown import Shown, written
from featlab.targets import Isotropic, Spiked, SpikeLaw, Target, TreeTarget
from featlab.targets import target as as_target
from featlab.targets.relabelling import informative

# What is integrated over: directions, and directions with the noise variables inside the link. With a structure that is
# known (see `structured`) there may be more directions.
MOST_DIRECTIONS, MOST_FIELDS = 4, 5
MOST_STRUCTURED = 32
_MOST_REFINEMENTS = 1
# By rank: the highest order at which a tensor is looked for, the highest degree whose energy is computed, and the
# largest power of d for which residuals are given.
_SEARCH = {1: 40, 2: 16, 3: 12, 4: 12}
_DEGREES = {1: 40, 2: 12, 3: 8, 4: 8}
_REGIMES = {1: 4, 2: 4, 3: 3, 4: 3}
# A share of the variance that is rounding.
_NOTHING = 1e-9


class Verdict(StrEnum):
    """Of the whole target: its hardest stage."""

    TRIVIAL = "TRIVIAL"
    EASY = "EASY"
    HARD = "HARD"
    UNDECIDED = "UNDECIDED"
    OPEN = "OPEN"  # no such verdict is known for these inputs


@dataclass(frozen=True, repr=False)
class Analysis(Shown):
    """What a shallow network, and any other method, can learn of a target.

    Attributes:
        information_exponent: the lowest degree of the target's Hermite expansion; None if undecided.
        leap: the rotation-invariant leap; coordinate_leap: the leap in the basis h1..hr as given.
        generative_exponent: the largest order of the grand staircase.
        alpha_c: weak-recovery sample ratio n/d of the first stage: 0 if trivial, None if hard or undecided;
            alpha_c_error is its numerical error.
        giant_steps: directions found by giant steps on n = O(d) samples; one_step: those of one step on n ~ d^l.
        staircase, grand_staircase: the leap's stages and the grand staircase's.
        regimes: the variance left after one giant step for each regime of samples and width.
        sample_cost: by algorithm.
        labels: the values the label takes if they are few, else None.
        doubts: what could not be decided, with the numbers.
        remarks: what these inputs change.

    With spiked inputs the exponents and the staircases' orders are those of the link in the normalised coordinates.
    What is only known for isotropic inputs is left out: the verdict is OPEN, thresholds are None, there are no giant
    steps and no regimes; and the costs are those of a spike.

    Examples:
        >>> import featlab
        >>> featlab.analyse(featlab.target("He3(h1)")).sample_cost["one_pass_sgd"].text
        'd^2'
    """

    target: Target
    energies: Energies
    information_exponent: int | None
    leap: int | None
    coordinate_leap: int | None
    generative_exponent: int | None
    verdict: Verdict
    alpha_c: float | None
    alpha_c_error: float | None
    giant_steps: tuple[Stage, ...]
    one_step: Floats
    staircase: tuple[Stage, ...]
    grand_staircase: tuple[GrandStage, ...]
    regimes: tuple[Regime, ...]
    sample_cost: dict[str, SampleCost]
    labels: Floats | None
    doubts: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    _picture: ClassVar[str] = "featlab.reports.notebook:analysis_picture"
    _page: ClassVar[str] = "featlab.reports.notebook:analysis_page"

    def __repr__(self) -> str:
        exponents = f"information {self.information_exponent}, generative {self.generative_exponent}"
        return f"<Analysis of {self.target.shown!r}: {self.verdict}; exponents: {exponents}>"

    def to_latex(self) -> str:
        """A table of exponents and sample costs for a paper; it needs the package booktabs."""
        return written("featlab.reports.papers:analysis_latex", self)

    def to_bibtex(self) -> str:
        """The papers that it rests on."""
        return written("featlab.reports.papers:analysis_bibtex", self)


def analyse(target: Target | str, budget: float = DEFAULT_BUDGET, tell: Tell | None = None) -> Analysis:
    """Exponents, staircases, thresholds, residuals and costs of a target, or of the one that a text describes.

    It may have four directions, or up to 32 if it is a polynomial, a function of signs, or a sum or a product of
    functions of at most four different directions each.

    Args:
        budget: seconds of processor time. What is not decided by then stays undecided, with a doubt that says so; what
            was decided holds.
        tell: is called with a few words whenever a step begins.

    Examples:
        >>> import featlab
        >>> analysis = featlab.analyse("h1 + abs(h2)")
        >>> analysis.leap, str(analysis.verdict), analysis.alpha_c
        (2, 'EASY', 0.0)
    """
    described = as_target(target)
    with time_budget(budget, tell):
        return _analysed(described)


def _analysed(target: Target) -> Analysis:
    if not isinstance(target.inputs, Isotropic | Spiked | SpikeLaw):
        raise InvalidParameter("inputs", target.inputs, "Isotropic(), Spiked(...) or SpikeLaw(...) for the analysis")
    found = _by_quadrature(target) if _fits(target) else _by_structure(target)
    giant, leap, grand, energies = found.giant, found.leap, found.grand, found.energies
    information_exponent = leap.stages[0].exponent if leap.stages else None
    analysis = Analysis(
        target=target,
        energies=energies,
        information_exponent=information_exponent,
        leap=leap.exponent,
        coordinate_leap=found.coordinate_leap,
        generative_exponent=grand.exponent,
        verdict=_verdict(grand),
        alpha_c=grand.stages[0].alpha if grand.stages else None,
        alpha_c_error=grand.stages[0].alpha_error if grand.stages else None,
        giant_steps=giant.stages,
        one_step=found.one_step,
        staircase=leap.stages,
        grand_staircase=grand.stages,
        regimes=found.regimes,
        sample_cost=sample_costs(
            rank=target.rank,
            information_exponent=information_exponent,
            leap=leap.exponent,
            generative_exponent=grand.exponent,
            degree=_degree_to_fit(target, energies),
            degree_for_most=energies.degree_explaining(0.99),
            searched_degree=len(energies.coefficients) - 1,
            amp_constant=critical_constant([_ratio(stage) for stage in grand.stages]) if grand.complete else None,
        ),
        labels=found.labels,
        doubts=(*_doubts(giant, leap, grand), *found.doubts),
    )
    return analysis if isinstance(target.inputs, Isotropic) else _under_a_spike(analysis, target.inputs)


def _ratio(stage: GrandStage) -> tuple[float | None, float | None]:
    """The critical ratio of a stage and its error; a trivial one needs none."""
    return (0.0, 0.0) if stage.kind is Kind.TRIVIAL else (stage.alpha, stage.alpha_error)


def _by_quadrature(target: Target) -> Findings:
    """The findings on a target of few directions, from integrals with their errors."""
    search = max(_SEARCH[target.rank], min(target.degree or 0, 40))
    told, expansion = informative(target), polynomial_expansion(target)
    grids, told_grids = _grids(target, told)
    stairs = _climb(grids, told, told_grids, search, expansion)
    while stairs.unsure and not stairs.stopped and grids.refinement < _MOST_REFINEMENTS:
        grids, told_grids = _grids(target, told, grids.refinement + 1)
        stairs = _climb(grids, told, told_grids, search, expansion, stairs)
    lowest = stairs.leap.stages[0].exponent if stairs.leap.stages else 0
    degrees = max(_DEGREES[target.rank], lowest, min(target.degree or 0, 12))
    energies = hermite_energies(grids, degrees) if expansion is None else dense_energies(expansion, degrees)
    energies = energies.without_noise(learnable_variance(target, energies))
    left, cut_short = regimes(target, energies, _REGIMES[target.rank])
    return Findings(
        *stairs,
        energies=energies,
        coordinate_leap=coordinate_leap(energies.monomials(), target.rank) if stairs.leap.complete else None,
        one_step=giant_step_subspace(energies, lowest),
        regimes=left,
        labels=discrete_levels(grids.fine),
        doubts=(*_unseen(grids.fine, expansion, stairs.leap), *([f"residuals: {cut_short}"] if cut_short else [])),
    )


def _by_structure(target: Target) -> Findings:
    """The findings on a target of many directions, if its structure tells them."""
    structure = structure_of(target) if target.rank <= MOST_STRUCTURED else None
    if structure is None:
        _check_rank(target)
        raise AssertionError("a target that fits is analysed by quadrature")
    return findings(structure)


def _under_a_spike(found: Analysis, inputs: Spiked | SpikeLaw) -> Analysis:
    """The analysis of the link, without what holds for isotropic inputs only, and with the costs under a spike."""
    target, energies = found.target, found.energies
    law, degree = law_of(inputs), _degree_to_fit(target, energies)
    order = found.information_exponent
    return replace(
        found,
        verdict=Verdict.OPEN,
        alpha_c=None,
        alpha_c_error=None,
        giant_steps=(),
        one_step=found.one_step[:, :0],
        grand_staircase=tuple(
            replace(stage, kind=Kind.OPEN, alpha=None, alpha_error=None) for stage in found.grand_staircase
        ),
        regimes=(),
        sample_cost=spiked_costs(law, rank=target.rank, information_exponent=order, degree=degree),
        remarks=tuple(_spike_remarks(inputs, target.rank, energies)),
    )


def _spike_remarks(inputs: Spiked | SpikeLaw, rank: int, energies: Energies) -> Iterator[str]:
    yield (
        "the exponents are those of the link and keep their meaning: under a spike its fields are normalised, and "
        "standard normal again. The verdict and the critical ratio of isotropic inputs do not carry over"
    )
    if isinstance(inputs, Spiked):
        yield "the spike is given as numbers, which change no power of d; a SpikeLaw lets it grow with d"
    if rank > 1:
        yield "sample costs under a spike are proven for one direction only: none are given"
        return
    reach = kernel_reach(law_of(inputs))
    if reach < inf:
        left = 1 - float(energies.per_degree[1 : int(reach) + 1].sum()) / energies.variance
        share = f"{100 * left:.3g}% of the variance" if left > _NOTHING else "nothing"
        yield f"from n ~ d samples a kernel learns the degrees up to {reach:g} and leaves {share}"


class _Stairs(NamedTuple):
    giant: Staircase[Stage]
    leap: Staircase[Stage]
    grand: Staircase[GrandStage]

    @property
    def unsure(self) -> bool:
        return self.giant.unsure or self.leap.unsure or self.grand.unsure

    @property
    def stopped(self) -> bool:
        return self.giant.stopped or self.leap.stopped or self.grand.stopped


def _grids(target: Target, told: Target, refinement: int = 0) -> tuple[GridPair, GridPair]:
    """Those of the target, for correlations, and of what its label tells, for any function of the label."""
    grids = build_grids(target, refinement)
    return grids, grids if told is target else build_grids(told, refinement)


def _climb(
    grids: GridPair,
    told: Target,
    told_grids: GridPair,
    search: int,
    expansion: Expansion | None,
    before: _Stairs | None = None,
) -> _Stairs:
    """The three staircases; of those climbed before on a coarser grid only the unsure ones are climbed again.

    What correlations see of a polynomial is read off its expansion, where h1^20 does not hide 0.1 h1.
    """

    def correlations(max_order: int) -> Staircase[Stage]:
        if expansion is not None:
            return correlation_stairs(expansion, max_order)
        return giant_staircase(grids) if max_order == 1 else leap_staircase(grids, max_order)

    return _Stairs(
        _better(before and before.giant, lambda: correlations(1)),
        _better(before and before.leap, lambda: correlations(search)),
        _better(before and before.grand, lambda: grand_staircase(told, told_grids, search)),
    )


def _unseen(grid: Grid, expansion: Expansion | None, leap: Staircase[Stage]) -> Iterator[str]:
    """A doubt if a part of the typical label is too small for correlations, whose rounding is that of the rms."""
    if leap.exponent == 1 or (expansion is not None and expansion.exact and expansion.rank == 1):
        return  # nothing is lower, or hidden
    if np.unique(grid.labels).size <= MOST_DISCRETE_LABELS:
        return  # all labels are as large
    order = np.argsort(grid.labels)
    ranks = np.cumsum(grid.weights[order])
    low, high = grid.labels[order][np.searchsorted(ranks, [0.25, 0.75])]
    least = DOUBT * ROUNDING * float(np.sqrt(grid.variance))
    if RESOLUTION * (high - low) < least:
        yield (
            f"leap: correlations below {least:.1e} are lost in the rounding of the largest labels, while half of the "
            f"labels lie between {low:.3g} and {high:.3g}; a part of that size may have a lower exponent than is said"
        )


def _better(before: Staircase[AnyStage] | None, climb: Callable[[], Staircase[AnyStage]]) -> Staircase[AnyStage]:
    """The staircase climbed before, if it is sure or the new one came less far before the time was spent."""
    if before is None:
        return climb()
    if not before.unsure:
        return before
    after = climb()
    if after.stopped and len(after.stages) < len(before.stages):
        return replace(before, doubts=(*before.doubts, *after.doubts), stopped=True)
    return after


def _doubts(giant: Staircase[Stage], leap: Staircase[Stage], grand: Staircase[GrandStage]) -> tuple[str, ...]:
    by_name = {"giant steps": giant.doubts, "leap": leap.doubts, "grand staircase": grand.doubts}
    return tuple(f"{name}: {doubt}" for name, doubts in by_name.items() for doubt in dict.fromkeys(doubts))


def _verdict(grand: Staircase[GrandStage]) -> Verdict:
    kinds = {stage.kind for stage in grand.stages}
    if Kind.HARD in kinds:
        return Verdict.HARD
    if not grand.complete:
        return Verdict.UNDECIDED
    return Verdict.EASY if Kind.EASY in kinds else Verdict.TRIVIAL


def _degree_to_fit(target: Target, energies: Energies) -> int | None:
    """The degree of E[Y | h] if it is a polynomial: noise inside the link is averaged out before anything is fitted."""
    if target.degree is None or not target.hidden:
        return target.degree
    return max((sum(monomial) for monomial in energies.monomials()), default=0)


def check_size(target: Target) -> None:
    """Refuse a target with more directions or noise variables than can be integrated over, or with other inputs."""
    if not isinstance(target.inputs, Isotropic):
        raise InvalidParameter("inputs", target.inputs, "Isotropic(): this is known for isotropic inputs only")
    _check_rank(target)


def _fits(target: Target) -> bool:
    return target.rank <= MOST_DIRECTIONS and target.rank + target.hidden <= MOST_FIELDS


def _check_rank(target: Target) -> None:
    if target.rank > MOST_DIRECTIONS:
        raise InvalidTarget(
            f"the target has {target.rank} directions, and at most {MOST_DIRECTIONS} can be integrated over",
            text=target.text,
            suggestion="the limits and thresholds of trees are in featlab.theory.depth"
            if isinstance(target, TreeTarget)
            else f"drop terms, or analyse parts of it; `explain` takes up to {MOST_STRUCTURED} directions of a "
            f"polynomial, of a function of up to {MOST_SIGNS} signs, and of a sum or a product of functions of at most "
            f"{MOST_DIRECTIONS} different directions each",
        )
    if target.rank + target.hidden > MOST_FIELDS:
        raise InvalidTarget(
            f"{target.rank} directions and {target.hidden} noise variables are more than the {MOST_FIELDS} that the "
            "analysis integrates over",
            text=target.text,
            suggestion="noise added to the label costs nothing: give it as `noise` instead of an xi",
        )
