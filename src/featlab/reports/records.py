"""Plain data for JSON: the explanation of a target, with its demonstration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from featlab.gaussian.hermite import Floats
from featlab.reports.links import links_of
from featlab.reports.run_records import comparison_record
from featlab.reports.statements import inputs_text, log10_samples
from featlab.reports.verdict_sentence import verdict_sentence

if TYPE_CHECKING:
    from featlab.analysis import Analysis
    from featlab.analysis.residuals import Regime
    from featlab.analysis.sample_cost import Constant, SampleCost
    from featlab.analysis.staircase import GrandStage, Stage
    from featlab.comparison import Demonstration


def explanation_record(
    analysis: Analysis, dim: int | None, demonstration: Demonstration | None = None
) -> dict[str, Any]:
    """What `featlab explain --json` prints: the fixed keys first, then more; JSON types only, nothing infinite.

    Directions are lists of `rank` numbers. `leap` is the rotation-invariant one, `generative_exponent` the largest over
    the stages, `alpha_c` that of the first stage (0 if trivial, None if hard); an undecided number is None.
    `exhibits` has for each of these keys, and each algorithm of `sample_cost`, the ids of the exhibits that show it.
    `demonstration` is theory over simulation, None unless it was asked for.
    """
    target, energies = analysis.target, analysis.energies
    return {
        "target": target.text,
        "rank": target.rank,
        "noise": target.noise,
        "information_exponent": analysis.information_exponent,
        "leap": analysis.leap,
        "generative_exponent": analysis.generative_exponent,
        "verdict": str(analysis.verdict),
        "alpha_c": _rounded(analysis.alpha_c),
        "giant_steps": [_vectors(stage.directions) for stage in analysis.giant_steps],
        "staircase": [_stage(stage) for stage in analysis.staircase],
        "grand_staircase": [_grand_stage(stage) for stage in analysis.grand_staircase],
        "sample_cost": {name: cost.text for name, cost in analysis.sample_cost.items()},
        "verdict_sentence": verdict_sentence(analysis),
        "alpha_c_error": _rounded(analysis.alpha_c_error),
        "coordinate_leap": analysis.coordinate_leap,
        "one_giant_step_directions": _vectors(analysis.one_step),
        "mean": _rounded(energies.coefficients[0][0]),
        "variance": _rounded(energies.variance),
        "hermite_energies": [_rounded(energy) for energy in energies.per_degree[1:]],
        "residuals": [_regime(regime) for regime in analysis.regimes],
        "labels": None if analysis.labels is None else [_rounded(label) for label in analysis.labels],
        "inputs": inputs_text(target.inputs) or "isotropic inputs",
        "degree": target.degree,
        "latex": target.latex,
        "hidden_noise_variables": target.hidden,
        "shown": target.shown,
        "typed_variables": list(target.typed_variables),
        "typed_directions": _vectors(target.directions.T),
        "remarks": [*target.remarks, *analysis.remarks],
        "doubts": [*target.doubts, *analysis.doubts],
        "dim": dim,
        "sample_cost_details": {name: _cost(cost, dim) for name, cost in analysis.sample_cost.items()},
        "exhibits": {line: list(ids) for line, ids in links_of(analysis).lines.items()},
        "demonstration": None if demonstration is None else demonstration_record(demonstration),
    }


def demonstration_record(demonstration: Demonstration) -> dict[str, Any]:
    """What was run and what came of it; or why there is none."""
    recipe, run = demonstration.recipe, demonstration.run
    if recipe is None or run is None:
        return {"algorithm": recipe and recipe.algorithm, "reason": demonstration.reason}
    return {
        "algorithm": recipe.algorithm,
        "learner": repr(recipe.learner),
        "student": None if recipe.student is None else repr(recipe.student),
        "dim": recipe.dim,
        "samples": recipe.samples,
        "seeds": run.simulation.sizes["seed"],
        "time": run.prediction["time"].values.tolist(),
        "story": recipe.story,
        "staircase": [_vectors(stage) for stage in demonstration.stages],
        "command": demonstration.command,
        **comparison_record(run.comparison),
    }


def _stage(stage: Stage) -> dict[str, Any]:
    return {
        "exponent": stage.exponent,
        "directions": _vectors(stage.directions),
        "signal": _rounded(stage.signal),
        "signal_error": _rounded(stage.error),
    }


def _grand_stage(stage: GrandStage) -> dict[str, Any]:
    numbers = {"alpha": stage.alpha, "alpha_error": stage.alpha_error, "alpha_bound": stage.alpha_bound}
    return {"kind": str(stage.kind), **{name: _rounded(number) for name, number in numbers.items()}, **_stage(stage)}


def _cost(cost: SampleCost, dim: int | None) -> dict[str, Any]:
    return {
        "algorithm": cost.label,
        "samples": cost.text,
        "exponent": cost.exponent,
        "power_of_log_d": cost.logs,
        "more_than": cost.beyond,
        "log10_samples": None if dim is None else _rounded(log10_samples(cost, dim)),
        "constant": None if cost.constant is None else _constant(cost.constant),
        "status": str(cost.status),
        "meaning": cost.meaning,
        "papers": [
            {"authors": paper.authors, "year": paper.year, "title": paper.title, "arxiv": paper.arxiv}
            for paper in cost.papers
        ],
    }


def _constant(constant: Constant) -> dict[str, Any]:
    numbers = {"value": constant.value, "low": constant.low, "high": constant.high}
    said = {"at_least": constant.at_least, "source": constant.source}
    return {name: _rounded(number) for name, number in numbers.items()} | said


def _regime(regime: Regime) -> dict[str, Any]:
    return {
        "samples_power": regime.samples,
        "width_power": regime.width,
        "known_directions": regime.known_dimension,
        "residual_variance": _rounded(regime.residual),
        "status": regime_status(regime),
    }


def regime_status(regime: Regime) -> str:
    """Dandi et al. 2023 prove the residual for min(samples, width) <= 1 and conjecture the rest."""
    return "theorem" if min(regime.samples, regime.width) <= 1 else "conjecture"


def _vectors(columns: Floats) -> list[list[float]]:
    return [[round(float(entry), 9) + 0.0 for entry in column] for column in columns.T]


def _rounded(value: float | None) -> float | None:
    """Eight significant digits: more would be noise."""
    return None if value is None else float(f"{value:.8g}")
