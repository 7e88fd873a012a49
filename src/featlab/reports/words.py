"""The analysis in sentences. Conjectures are called conjectures, lower bounds lower bounds, doubts doubts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, log, log10

from featlab.analysis import Analysis, Verdict
from featlab.analysis.sample_cost import SampleCost
from featlab.analysis.staircase import GrandStage, Kind, Stage
from featlab.citations import Citation, cite
from featlab.figures.naming import direction_texts, ratio_text
from featlab.targets import Target
from featlab.targets.inputs import Inputs, Isotropic, Spiked, SpikeLaw

WEAK_SIGNAL = 1e-2
CONDITIONAL = "Later ratios take earlier directions as exactly known: lower bounds for AMP."


@dataclass(frozen=True)
class Exponent:
    """A named number of the target: its key in the record, its value as text, what it means, where it is defined."""

    line: str
    name: str
    symbol: str
    value: str
    meaning: str
    papers: tuple[Citation, ...]


@dataclass(frozen=True)
class CostGroup:
    """Algorithms whose numbers of samples buy the same thing."""

    heading: str
    costs: tuple[SampleCost, ...]


def verdict_sentence(analysis: Analysis) -> str:
    """One sentence: the verdict of the whole target, its critical sample ratio, and what that means."""
    bodies = {
        Verdict.TRIVIAL: _trivial,
        Verdict.EASY: _easy,
        Verdict.HARD: _hard,
        Verdict.UNDECIDED: _undecided,
        Verdict.OPEN: _open,
    }
    return f"{analysis.verdict}: {bodies[analysis.verdict](analysis)}."


def _trivial(analysis: Analysis) -> str:
    what = "the direction" if analysis.target.rank == 1 else "every direction"
    return f"n = O(d) samples suffice to find {what}, at any sample ratio n/d > 0 (critical ratio 0)"


def _easy(analysis: Analysis) -> str:
    first, *later = analysis.grand_staircase
    what = "the direction" if analysis.target.rank == 1 else "every direction"
    if first.kind is Kind.TRIVIAL:
        hardest = max(later, key=lambda stage: stage.alpha or 0.0)
        return (
            f"n = O(d) samples suffice to find {what}: {stage_directions(first)} at any sample ratio n/d > 0 (critical "
            f"ratio 0), the rest only above a ratio of at least {ratio_text(hardest)}"
        )
    return (
        f"n = O(d) samples suffice to find {what}, but below the critical sample ratio n/d = {ratio_text(first)} "
        "message passing (AMP) sees nothing"
    )


def _hard(analysis: Analysis) -> str:
    found = [stage for stage in analysis.grand_staircase if stage.kind is not Kind.HARD]
    hard = [stage for stage in analysis.grand_staircase if stage.kind is Kind.HARD]
    bound = f"d^{max(stage.exponent for stage in hard) / 2:g}"
    needs = f"statistical-query and low-degree methods need at least about {bound}"
    if analysis.grand_staircase[0].kind is Kind.HARD:
        return f"no known efficient method sees any direction from n = O(d) samples (no critical ratio); {needs}"
    blocked = ", ".join(stage_directions(stage) for stage in hard)
    return f"{_reachable(found)}, but no known efficient method then finds {blocked} from so few; {needs}"


def _undecided(analysis: Analysis) -> str:
    found = analysis.grand_staircase
    start = f"{_reachable(found)}, but " if found else ""
    return f"{start}the next stage could not be decided numerically, so nothing is claimed of the whole target"


def _open(analysis: Analysis) -> str:
    words = "TRIVIAL, EASY and HARD are known for isotropic inputs only"
    flow = analysis.sample_cost.get("normalised_flow")
    if flow is None or not flow.known:
        return f"{words}, and so is what finds every direction"
    return f"{words}; under this spike n ~ {flow.text} samples suffice to find the direction (normalised gradient flow)"


def _reachable(stages: Sequence[GrandStage]) -> str:
    names = ", ".join(stage_directions(stage) for stage in stages)
    hardest = max(stages, key=lambda stage: stage.alpha or 0.0)
    if not hardest.alpha:
        return f"{names} can be found from n = O(d) samples at any ratio n/d > 0 (critical ratio 0)"
    bound = "" if len(stages) == 1 else "at least "
    return f"{names} can be found from n = O(d) samples above a ratio n/d of {bound}{ratio_text(hardest)}"


@dataclass(frozen=True)
class Climb:
    """A staircase as rows of text: (what opens the stage, the directions it opens), and how it ends."""

    line: str
    learner: str
    rows: tuple[tuple[str, str], ...]
    kinds: tuple[str | None, ...]


def climbs(analysis: Analysis) -> tuple[Climb, ...]:
    """The staircases. One that stops short says why: undecided, or nothing more to be found this way."""
    giant = _climb("giant_steps", "giant steps, n = O(d)", "giant steps", analysis.giant_steps, analysis)
    return (
        *(() if analysis.verdict is Verdict.OPEN else (giant,)),
        _climb("staircase", "correlations only (leap)", "leap", analysis.staircase, analysis),
        _climb("grand_staircase", "any function of the label", "grand staircase", analysis.grand_staircase, analysis),
    )


def _climb(line: str, learner: str, name: str, stages: Sequence[Stage], analysis: Analysis) -> Climb:
    rows = [(stage_text(stage, place), stage_directions(stage)) for place, stage in enumerate(stages)]
    kinds = [str(stage.kind) if isinstance(stage, GrandStage) else None for stage in stages]
    short = sum(stage.directions.shape[1] for stage in stages) < analysis.target.rank
    if short and any(doubt.startswith(f"{name}: ") for doubt in analysis.doubts):
        rows.append(("undecided", "see the doubt"))
        kinds.append("undecided")
    elif short:
        rows.append(("nothing more is found" if stages else "nothing is found", ""))
        kinds.append(None)
    return Climb(line, learner, tuple(rows), tuple(kinds))


def status_text(cost: SampleCost) -> str:
    """Theorem, conjecture or heuristic; nothing for a cost that an undecided exponent leaves open."""
    return str(cost.status) if cost.known else "-"


def stage_directions(stage: Stage) -> str:
    """The directions a stage opens, as one text."""
    return ", ".join(direction_texts(stage.directions))


def stage_text(stage: Stage, place: int) -> str:
    """What opens the stage: its order, and for the grand staircase its kind and sample ratio."""
    weak = f" (weak: relative size {stage.signal:.1e})" if stage.signal < WEAK_SIGNAL else ""
    if not isinstance(stage, GrandStage) or stage.kind is Kind.OPEN:
        return f"order {stage.exponent}{weak}"
    if stage.kind is Kind.EASY:
        sign = "=" if place == 0 else ">="
        return f"EASY above n/d {sign} {ratio_text(stage)}{weak}"
    if stage.kind is Kind.HARD:
        return f"HARD, order {stage.exponent}{weak}"
    return f"TRIVIAL at any n/d{weak}"


def exponents(analysis: Analysis, dim: int | None = None) -> tuple[Exponent, ...]:
    """The exponents of the target with their meanings; with a dimension, the critical ratio as a number of samples."""
    leap_meaning = "highest order met on the way"
    if analysis.leap is not None and analysis.coordinate_leap not in (None, analysis.leap):
        leap_meaning += f" ({analysis.coordinate_leap} in h1..h{analysis.target.rank})"
    ratio = Exponent(
        "alpha_c",
        "critical ratio",
        "alpha_c",
        critical_ratio(analysis),
        f"n/d where AMP starts{_at_dim(analysis, dim)}",
        cite("troiani2024", "defilippis2025"),
    )
    return (
        Exponent(
            "information_exponent",
            "information exponent",
            "l",
            _number(analysis.information_exponent),
            "lowest Hermite degree",
            cite("benarous2021"),
        ),
        Exponent("leap", "leap", "L", _number(analysis.leap), leap_meaning, cite("abbe2023")),
        Exponent(
            "generative_exponent",
            "generative exponent",
            "k*",
            _number(analysis.generative_exponent),
            "the same for functions of the label",
            cite("damian2024", "troiani2024", "damian2025"),
        ),
        *(() if analysis.verdict is Verdict.OPEN else (ratio,)),
    )


def _at_dim(analysis: Analysis, dim: int | None) -> str:
    if dim is None or not analysis.alpha_c:
        return ""
    return f" (n = {float(critical_ratio(analysis)) * dim:.4g})"


def _number(value: int | None) -> str:
    return "?" if value is None else str(value)


def critical_ratio(analysis: Analysis) -> str:
    """alpha_c as text: 0, a number, "none" if the first stage is hard, "?" if it is undecided."""
    if not analysis.grand_staircase:
        return "?"
    first = analysis.grand_staircase[0]
    return {Kind.TRIVIAL: "0", Kind.HARD: "none", Kind.OPEN: "?"}.get(first.kind) or ratio_text(first)


def cost_groups(costs: Mapping[str, SampleCost]) -> tuple[CostGroup, ...]:
    """The costs by what they buy."""
    names = {
        "To find every direction": ("amp", "batch_reuse", "one_pass_sgd", "normalised_flow", "one_gradient_step"),
        "To find the directions of the lowest degree": ("one_giant_step",),
        "To fit the target without finding directions": ("random_features_99", "random_features", "kernels_linear"),
        "Lower bounds: no method of the kind does with less": ("sq_bound", "csq_bound", "kernels_bound"),
    }
    shown = {heading: tuple(costs[name] for name in members if name in costs) for heading, members in names.items()}
    return tuple(CostGroup(heading, members) for heading, members in shown.items() if members)


def cost_name(cost: SampleCost) -> str:
    """The algorithm without what its group's heading already says."""
    short = {
        "batch_reuse": "batch reuse, extragradient",
        "csq_bound": "correlational queries",
        "sq_bound": "statistical queries, low degree",
        "random_features_99": "kernels, random features, to 99%",
        "random_features": "kernels, random features, exactly",
        "kernels_linear": "kernels, random features, exactly",
        "kernels_bound": "kernels, rotation-invariant",
    }
    return short.get(cost.name, cost.label)


def log10_samples(cost: SampleCost, dim: int) -> float | None:
    """log10 of d^exponent (log d)^logs, without the unknown constant; None where there is no such number."""
    if cost.exponent is None or cost.loose:
        return None
    return cost.exponent * log10(dim) + cost.logs * log10(log(dim))


def samples_text(cost: SampleCost, dim: int) -> str:
    """The power of d as a number with one or two digits, such as 6.9e3; "-" where there is none."""
    size = log10_samples(cost, dim)
    if size is None:
        return "-"
    decade = floor(size + 1e-9)
    digits = f"{10 ** (size - decade):.2g}"
    if digits == "10":
        digits, decade = "1", decade + 1
    return ("> " if cost.beyond else "") + f"{digits}e{decade}"


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
    return tuple(sorted({*from_costs, *from_exponents}, key=lambda paper: (paper.year, paper.authors)))
