"""What an explanation says, line by line, for whatever shows it: the screen and the page only lay it out.

Conjectures are called conjectures, lower bounds lower bounds, doubts doubts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor, log, log10
from typing import TYPE_CHECKING

import numpy as np

from featlab.analysis import Analysis, Verdict
from featlab.analysis.sample_cost import Constant, SampleCost
from featlab.analysis.staircase import GrandStage, Kind, Stage
from featlab.citations import Citation, cite
from featlab.comparison.curves import visible_curves
from featlab.figures.naming import direction_texts, directions_text, ratio_relation, ratio_text
from featlab.gaussian.hermite import Floats
from featlab.outcome import Outcome
from featlab.reports.verdict_sentence import verdict_sentence
from featlab.targets import Target
from featlab.targets.inputs import Inputs, Isotropic, Spiked, SpikeLaw

if TYPE_CHECKING:  # it runs simulations, which most explanations do not ask for
    import xarray as xr

    from featlab.comparison import ComparedRun, Demonstration
    from featlab.comparison.demonstration import Recipe

_MOVES = 0.05
_UNITS = {"one-pass": "d steps", "steps": "steps", "iterations": "iterations"}
_WEAK_SIGNAL = 1e-2
_CLIMBED_BY = {"giant_steps": "dandi2023", "staircase": "abbe2023", "grand_staircase": "troiani2024"}
_CONDITIONAL = "Later ratios take earlier directions as exactly known: lower bounds for AMP."


@dataclass(frozen=True)
class Exponent:
    """A named number of the target: its key in the record, its value as text, what it means, where it is defined."""

    line: str
    symbol: str
    value: str
    meaning: str
    papers: tuple[Citation, ...]

    @property
    def name(self) -> str:
        return "critical ratio" if self.line == "alpha_c" else self.line.replace("_", " ")


@dataclass(frozen=True)
class Climb:
    """A staircase as rows of text: (what opens the stage, the directions it opens), how it ends, its papers."""

    line: str
    learner: str
    rows: tuple[tuple[str, str], ...]
    kinds: tuple[str | None, ...]
    papers: tuple[Citation, ...]


@dataclass(frozen=True)
class Cost:
    """What an algorithm needs: its key in the record, its name beside its group's heading, its samples as text.

    `at_dim` is the power of d as a number at the dimension asked for; nothing without one.
    """

    line: str
    name: str
    samples: str
    at_dim: str
    status: str
    bound: bool
    meaning: str
    papers: tuple[Citation, ...]


@dataclass(frozen=True)
class Statements:
    """An explanation in words.

    Attributes:
        setting: directions, noise and inputs of the target.
        verdict, reason: the word, and what follows it.
        notices: (kind, text): notes, then doubts.
        condition: what the ratios of later stages take for granted; nothing without such stages.
        costs: what the algorithms need, by what it buys.
        papers: every paper that a statement rests on, oldest first.
    """

    target: str
    latex: str
    setting: str
    verdict: str
    reason: str
    notices: tuple[tuple[str, str], ...]
    exponents: tuple[Exponent, ...]
    climbs: tuple[Climb, ...]
    condition: str
    costs: Mapping[str, tuple[Cost, ...]]
    papers: tuple[Citation, ...]


def state(analysis: Analysis, dim: int | None = None) -> Statements:
    """All that is said of an analysed target; with a dimension, costs also as numbers of samples."""
    verdict, _, reason = verdict_sentence(analysis).partition(": ")
    notes = [("Note", remark) for remark in (*analysis.target.remarks, *analysis.remarks)]
    return Statements(
        target=analysis.target.shown,
        latex=analysis.target.latex,
        setting=setting(analysis.target),
        verdict=verdict,
        reason=reason,
        notices=(*notes, *(("Doubt", doubt) for doubt in (*analysis.target.doubts, *analysis.doubts))),
        exponents=exponents(analysis, dim),
        climbs=climbs(analysis),
        condition=_CONDITIONAL if any(stage.alpha for stage in analysis.grand_staircase[1:]) else "",
        costs=costs(analysis.sample_cost, dim),
        papers=papers_of(analysis),
    )


def climbs(analysis: Analysis) -> tuple[Climb, ...]:
    """The staircases. One that stops short says why: undecided, or nothing more to be found this way."""
    giant = _climb("giant_steps", "giant steps, n = O(d)", "giant steps", analysis.giant_steps, analysis)
    return (
        *(() if analysis.verdict is Verdict.OPEN else (giant,)),
        _climb("staircase", "correlations only (leap)", "leap", analysis.staircase, analysis),
        _climb("grand_staircase", "any function of the label", "grand staircase", analysis.grand_staircase, analysis),
    )


def _climb(line: str, learner: str, name: str, stages: Sequence[Stage], analysis: Analysis) -> Climb:
    rows = [(_stage_text(stage, place), directions_text(stage.directions)) for place, stage in enumerate(stages)]
    kinds = [str(stage.kind) if isinstance(stage, GrandStage) else None for stage in stages]
    short = sum(stage.directions.shape[1] for stage in stages) < analysis.target.rank
    if short and any(doubt.startswith(f"{name}: ") for doubt in analysis.doubts):
        rows.append(("undecided", "see the doubt"))
        kinds.append("undecided")
    elif short:
        rows.append(("nothing more is found" if stages else "nothing is found", ""))
        kinds.append(None)
    return Climb(line, learner, tuple(rows), tuple(kinds), cite(_CLIMBED_BY[line]))


def _stage_text(stage: Stage, place: int) -> str:
    """What opens the stage: its order, and for the grand staircase its kind and sample ratio."""
    weak = f" (weak: relative size {stage.signal:.1e})" if stage.signal < _WEAK_SIGNAL else ""
    if not isinstance(stage, GrandStage) or stage.kind is Kind.OPEN:
        return f"order {stage.exponent}{weak}"
    if stage.kind is Kind.EASY:
        sign = "=" if place == 0 else ">="
        return f"EASY above n/d {ratio_relation(stage, sign)}{weak}"
    if stage.kind is Kind.HARD:
        return f"HARD, order {stage.exponent}{weak}"
    return f"TRIVIAL at any n/d{weak}"


def exponents(analysis: Analysis, dim: int | None = None) -> tuple[Exponent, ...]:
    """The exponents of the target with their meanings; with a dimension, the critical ratio as a number of samples."""
    leap_meaning = "highest order met on the way"
    if analysis.leap is not None and analysis.coordinate_leap not in (None, analysis.leap):
        leap_meaning += f" ({analysis.coordinate_leap} in h1..h{analysis.target.rank})"
    information, leap, generative = (
        "?" if value is None else str(value)
        for value in (analysis.information_exponent, analysis.leap, analysis.generative_exponent)
    )
    ratio, where = critical_ratio(analysis), "n/d where AMP starts"
    if dim is not None and analysis.alpha_c:
        where += f" (n = {_short(float(ratio) * dim)})"
    same, newer = "the same for functions of the label", cite("damian2024", "troiani2024", "damian2025")
    every = (
        Exponent("information_exponent", "l", information, "lowest Hermite degree", cite("benarous2021")),
        Exponent("leap", "L", leap, leap_meaning, cite("abbe2023")),
        Exponent("generative_exponent", "k*", generative, same, newer),
        Exponent("alpha_c", "alpha_c", ratio, where, cite("troiani2024", "defilippis2025")),
    )
    return every[:-1] if analysis.verdict is Verdict.OPEN else every


def critical_ratio(analysis: Analysis) -> str:
    """alpha_c as text: 0, a number or a bound, "none" if the first stage is hard, "?" if it is undecided."""
    if not analysis.grand_staircase:
        return "?"
    first = analysis.grand_staircase[0]
    return {Kind.TRIVIAL: "0", Kind.HARD: "none", Kind.OPEN: "?"}.get(first.kind) or ratio_text(first)


_GROUPS = {
    "To find every direction": ("amp", "batch_reuse", "one_pass_sgd", "normalised_flow", "one_gradient_step"),
    "To find the directions of the lowest degree": ("one_giant_step",),
    "To fit the target without finding directions": ("random_features_99", "random_features", "kernels_linear"),
    "Lower bounds: no method of the kind does with less": ("sq_bound", "csq_bound", "kernels_bound"),
}
# Names without what the heading of their group already says.
_SHORT_NAMES = {
    "batch_reuse": "batch reuse, extragradient",
    "csq_bound": "correlational queries",
    "sq_bound": "statistical queries, low degree",
    "random_features_99": "kernels, random features, to 99%",
    "random_features": "kernels, random features, exactly",
    "kernels_linear": "kernels, random features, exactly",
    "kernels_bound": "kernels, rotation-invariant",
}


def costs(sample_cost: Mapping[str, SampleCost], dim: int | None = None) -> dict[str, tuple[Cost, ...]]:
    """Heading -> the algorithms whose numbers of samples buy the same thing. A cost that an undecided exponent leaves
    open has no status."""
    groups = {
        heading: tuple(_cost(sample_cost[name], dim) for name in names if name in sample_cost)
        for heading, names in _GROUPS.items()
    }
    return {heading: members for heading, members in groups.items() if members}


def _cost(cost: SampleCost, dim: int | None) -> Cost:
    return Cost(
        line=cost.name,
        name=_SHORT_NAMES.get(cost.name, cost.label),
        samples=cost.text,
        at_dim="" if dim is None else samples_text(cost, dim),
        status=str(cost.status) if cost.known else "-",
        bound=cost.known and cost.name.endswith("bound"),
        meaning=cost.meaning,
        papers=cost.papers,
    )


def log10_samples(cost: SampleCost, dim: int) -> float | None:
    """log10 of d^exponent (log d)^logs, without the unknown constant; None where there is no such number."""
    if cost.exponent is None or cost.loose:
        return None
    return cost.exponent * log10(dim) + cost.logs * log10(log(dim))


def samples_text(cost: SampleCost, dim: int) -> str:
    """The power of d as a number with one or two digits, such as 6.9e3; "-" where there is none.

    With a known constant it is the number itself: "= 500", "= 2.1e3 (1.4e3 to 2.9e3)", ">= 2467" for a lower bound.
    """
    size = log10_samples(cost, dim)
    if size is None:
        return "-"
    if cost.constant is not None:
        return constant_text(cost.constant, 10**size)
    decade = floor(size + 1e-9)
    digits = f"{10 ** (size - decade):.2g}"
    if digits == "10":
        digits, decade = "1", decade + 1
    return ("> " if cost.beyond else "") + f"{digits}e{decade}"


def constant_text(constant: Constant, power: float) -> str:
    """The number of samples with its interval, where that is wider than the digits shown."""
    value, low, high = (_short(part * power) for part in (constant.value, constant.low, constant.high))
    if constant.at_least:
        return f">= {value}"
    return f"= {value}" if low == high else f"= {_short(constant.value * power, 2)} ({low} to {high})"


def _short(value: float, digits: int = 4) -> str:
    """A number of samples in as few letters as its digits need: 2467, 2.565e5."""
    mantissa, _, decade = f"{value:.{digits}g}".partition("e")
    return f"{mantissa}e{int(decade)}" if decade else mantissa


def setting(target: Target) -> str:
    """Directions, noise and inputs of a target, as they stand beside it in brackets."""
    directions = "1 direction" if target.rank == 1 else f"{target.rank} directions"
    noise = f"label noise of variance {target.noise:g}" if target.noise else ""
    return ", ".join(part for part in (directions, noise, inputs_text(target.inputs)) if part)


def inputs_text(inputs: Inputs) -> str:
    """The law of the inputs in a few words; nothing for isotropic ones."""
    if isinstance(inputs, Spiked):
        overlaps = ", ".join(f"{m:g}" for m in inputs.overlaps)
        return f"inputs with a spike: theta = {inputs.strength:g}, overlap {overlaps}"
    if not isinstance(inputs, SpikeLaw):
        return "" if isinstance(inputs, Isotropic) else f"inputs {inputs!r}"
    strength = _power(inputs.strength_scale, inputs.strength_exponent)
    overlaps = ", ".join(_power(inputs.overlap_scale, -g1) for g1 in inputs.overlap_exponents)
    return f"inputs with a spike: theta = {strength}, overlap {overlaps}"


def _power(scale: float, exponent: float) -> str:
    factor = "" if scale == 1 else f"{scale:g} "
    return f"{factor}d^{exponent:g}" if exponent else f"{scale:g}"


def papers_of(analysis: Analysis) -> tuple[Citation, ...]:
    """Every paper that a statement of the explanation rests on, oldest first."""
    from_costs = [paper for cost in analysis.sample_cost.values() for paper in cost.papers]
    from_exponents = [paper for exponent in exponents(analysis) for paper in exponent.papers]
    from_climbs = [paper for climb in climbs(analysis) for paper in climb.papers]
    return tuple(sorted({*from_costs, *from_exponents, *from_climbs}, key=lambda paper: (paper.year, paper.authors)))


def demonstration_sentences(demonstration: Demonstration | None) -> list[str]:
    """What was run, what became of each overlap, the verdict; or why nothing was run. Nothing if it was not asked."""
    if demonstration is None:
        return []
    recipe, run = demonstration.recipe, demonstration.run
    if recipe is None:
        return [f"There is none: {demonstration.reason}."]
    if run is None:
        return [f"{recipe.words[:1].upper()}{recipe.words[1:]}: {demonstration.reason}."]
    reason = run.comparison.reason
    verdict = f"Theory and simulation: {run.comparison.verdict}. {reason[:1].upper()}{reason[1:]}"
    return [
        f"{recipe.story} d = {recipe.dim:,}, {_reached(recipe, run.simulation)}.",
        *_overlaps(demonstration, run),
        verdict,
    ]


def command_words(demonstration: Demonstration) -> str:
    """What its command does."""
    if demonstration.recipe is None:
        return "With more time:"
    return "The same again, or larger (--seeds, --dim; at three sizes without --sizes):"


def _reached(recipe: Recipe, simulation: xr.Dataset) -> str:
    """How many seeds there are, or how far they came in the time that they had."""
    seeds = simulation.sizes["seed"]
    if Outcome.INTERRUPTED in simulation["outcome"].values:
        return f"{seeds} seeds, as far as they came before the time was over"
    return f"{seeds} seeds" if seeds >= recipe.seeds else f"{seeds} of {recipe.seeds} seeds before the time was over"


def _overlaps(demonstration: Demonstration, run: ComparedRun) -> Iterator[str]:
    """From where to where the overlap with each direction of the staircase went, predicted and measured, and when."""
    overlap, stages = run.comparison.quantities["overlap"], demonstration.stages
    rank = overlap.theory.sizes["direction"]
    basis = completed(stages, rank)
    # The rows of an estimate stand for directions, and are turned with them; neurons stay what they are.
    rows = demonstration.recipe is not None and demonstration.recipe.student is None
    theory, measured = (turned(part, basis, rows) for part in (overlap.theory, overlap.simulation))
    error = turned(overlap.scatter**2, basis**2, rows) ** 0.5  # as if independent, where a direction is no axis
    names, numbers = direction_texts(basis), [place for place, stage in enumerate(stages, 1) for _ in stage.T]
    unit = "" if demonstration.recipe is None or len(stages) < 2 else _UNITS[demonstration.recipe.learner.clock]
    for curve in visible_curves(theory):
        which = curve.place["direction"]
        label = names[which] + curve.label.removeprefix(f"h{which + 1}")
        place = f"stage {numbers[which]}, " if unit and which < len(numbers) else ""
        course = _course(theory.isel(curve.place), measured.isel(curve.place), error.isel(curve.place), unit)
        yield f"{place}overlap {label}: {course}"


def _course(theory: xr.DataArray, measured: xr.DataArray, error: xr.DataArray, unit: str) -> str:
    """From where to where, at the last time that was reached; if there is a unit, when half of the way was made."""
    known = np.flatnonzero(np.isfinite(measured.values))
    if not known.size:
        return f"{float(theory[0]):.3f} at first, then {float(theory[-1]):.3f} predicted, nothing measured"
    last = int(known[-1])
    begin, predicted, found, wide = (
        float(part[place]) for part, place in ((theory, 0), (theory, last), (measured, last), (error, last))
    )
    spread = "" if np.isnan(wide) else f" +- {wide:.3f}"
    words = f"{begin:.3f} at first, then {predicted:.3f} predicted, {found:.3f}{spread} measured"
    times = theory["time"].values[: last + 1]
    halves = [halfway(times, part.values[: last + 1]) for part in (theory, measured)]
    if not unit or None in halves:
        return words
    return f"{words}; half of the way after {halves[0]:.1f} {unit} predicted, {halves[1]:.1f} measured"


def halfway(times: Floats, values: Floats) -> float | None:
    """When a curve has made half of its way, on straight lines between the times; None if it hardly moves."""
    made = (values - values[0]) / (values[-1] - values[0]) if abs(values[-1] - values[0]) > _MOVES else values * np.nan
    beyond = np.flatnonzero(made >= 0.5)
    if not beyond.size:
        return None
    after = int(beyond[0])
    return float(np.interp(0.5, made[after - 1 : after + 1], times[after - 1 : after + 1]))


def completed(stages: Sequence[Floats], rank: int) -> Floats:
    """The directions of all stages, then as many others as there are, orthonormal: (rank, rank)."""
    found = np.hstack([np.zeros((rank, 0)), *stages])
    return np.hstack([found, np.linalg.svd(found)[0][:, found.shape[1] :]])


def turned(overlaps: xr.DataArray, basis: Floats, rows: bool) -> xr.DataArray:
    """The overlaps M of every time with other directions, the columns of a basis B: M B, of an estimate B^T M B."""
    ordered = overlaps.transpose(..., "neuron", "direction")
    values = ordered.values @ basis
    return ordered.copy(data=basis.T @ values if rows else values)
