"""The verdict of a target in one sentence: its critical sample ratio, and what that means."""

from __future__ import annotations

from collections.abc import Sequence

from featlab.analysis import Analysis, Verdict
from featlab.analysis.staircase import GrandStage, Kind
from featlab.figures.naming import directions_text, ratio_text


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
        names, hardest = directions_text(first.directions), max(later, key=_least_ratio)
        return (
            f"n = O(d) samples suffice to find {what}: {names} at any sample ratio n/d > 0 (critical ratio 0), the "
            f"rest only above a ratio {_at_least(hardest)}"
        )
    if first.alpha is None:
        known = "" if first.alpha_bound is None else f" (it is {ratio_text(first)})"
        return (
            f"n = O(d) samples suffice to find {what}, above a critical sample ratio n/d that was not computed{known}"
        )
    return (
        f"n = O(d) samples suffice to find {what}, but below the critical sample ratio n/d = {ratio_text(first)} "
        "message passing (AMP) sees nothing"
    )


def _at_least(stage: GrandStage) -> str:
    if stage.alpha is None and stage.alpha_bound is None:
        return "that was not computed"
    return f"of at least {ratio_text(stage).removeprefix('> ')}"


def _least_ratio(stage: GrandStage) -> float:
    """The critical ratio of a stage, or what is known to lie below it."""
    return stage.alpha or stage.alpha_bound or 0.0


def _hard(analysis: Analysis) -> str:
    open_stages = [stage for stage in analysis.grand_staircase if stage.kind is not Kind.HARD]
    hard = [stage for stage in analysis.grand_staircase if stage.kind is Kind.HARD]
    bound = f"d^{max(stage.exponent for stage in hard) / 2:g}"
    needs = f"statistical-query and low-degree methods need at least about {bound}"
    if analysis.grand_staircase[0].kind is Kind.HARD:
        return f"no known efficient method sees any direction from n = O(d) samples (no critical ratio); {needs}"
    blocked = ", ".join(directions_text(stage.directions) for stage in hard)
    return f"{_reachable(open_stages)}, but no known efficient method then finds {blocked} from so few; {needs}"


def _undecided(analysis: Analysis) -> str:
    start = f"{_reachable(analysis.grand_staircase)}, but " if analysis.grand_staircase else ""
    return f"{start}the next stage could not be decided numerically, so nothing is claimed of the whole target"


def _open(analysis: Analysis) -> str:
    words = "TRIVIAL, EASY and HARD are known for isotropic inputs only"
    flow = analysis.sample_cost.get("normalised_flow")
    if flow is None or not flow.known:
        return f"{words}, and so is what finds every direction"
    return f"{words}; under this spike n ~ {flow.text} samples suffice to find the direction (normalised gradient flow)"


def _reachable(stages: Sequence[GrandStage]) -> str:
    names = ", ".join(directions_text(stage.directions) for stage in stages)
    hardest = max(stages, key=_least_ratio)
    if hardest.kind is not Kind.EASY:
        return f"{names} can be found from n = O(d) samples at any ratio n/d > 0 (critical ratio 0)"
    sharp = len(stages) == 1 and hardest.alpha is not None
    ratio = f"of {ratio_text(hardest)}" if sharp else _at_least(hardest)
    return f"{names} can be found from n = O(d) samples above a ratio n/d {ratio}"
