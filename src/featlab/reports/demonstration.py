"""Theory over simulation at the end of an explanation: in sentences, and as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from featlab.comparison.lines import visible_curves
from featlab.reports.comparison import comparison_record

if TYPE_CHECKING:  # they run simulations, which most explanations do not ask for
    from featlab.comparison import Both, Demonstration


def demonstration_sentences(demonstration: Demonstration) -> list[str]:
    """What was run, what became of each overlap, the verdict; or why nothing was run."""
    recipe, both = demonstration.recipe, demonstration.both
    if recipe is None or both is None:
        return [f"There is none: {demonstration.reason}."]
    found = both.comparison
    where = f"d = {recipe.dim:,}, {both.simulation.sizes['seed']} seeds."
    verdict = f"Theory and simulation: {found.verdict}. {_capital(found.reason)}"
    return [f"{recipe.story} {where}", *_overlaps(both), verdict]


def _overlaps(both: Both) -> Iterator[str]:
    """From where to where each overlap went, as predicted and as measured."""
    laid = both.comparison.quantities["overlap"]
    first, last = laid.theory.isel(time=0), {"time": -1}
    for curve in visible_curves(laid.theory):
        begin = float(first.isel(curve.place))
        parts = (laid.theory, laid.simulation, laid.error)
        theory, simulation, error = (float(part.isel({**last, **curve.place})) for part in parts)
        measured = f"{simulation:.3f} +- {error:.3f} measured"
        yield f"overlap {curve.label}: {begin:.3f} at first, then {theory:.3f} predicted, {measured}"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def demonstration_record(demonstration: Demonstration) -> dict[str, Any]:
    """What was run and what came of it; or why there is none."""
    recipe, both = demonstration.recipe, demonstration.both
    if recipe is None or both is None:
        return {"algorithm": None, "reason": demonstration.reason}
    return {
        "algorithm": recipe.algorithm,
        "learner": repr(recipe.learner),
        "student": None if recipe.student is None else repr(recipe.student),
        "dim": recipe.dim,
        "samples": recipe.samples,
        "seeds": both.simulation.sizes["seed"],
        "time": both.prediction["time"].values.tolist(),
        "story": recipe.story,
        **comparison_record(both.comparison),
    }
