"""Comparisons on the screen and as data: the numbers shown are those that were compared."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
import xarray as xr
from rich.console import Console

from featlab.comparison import ComparedRun, Demonstration, compare
from featlab.comparison.demonstration import Recipe
from featlab.figures.naming import direction_texts
from featlab.learners import GiantSteps, TwoLayer
from featlab.reports.comparison import comparison_text, prediction_text
from featlab.reports.records import demonstration_record
from featlab.reports.run_records import comparison_record, full_record
from featlab.reports.statements import completed, demonstration_sentences, halfway, turned
from tests.comparison.synthetic import measurement, prediction, truth

TRUTH = truth()


def both(noise: float = 0.02, factor: float = 1.0, neurons: int = 2) -> ComparedRun:
    values = truth(neurons=neurons)
    theory = prediction(factor * values, words="A toy.", target="h1", dim=10_000)
    theory["outcome"] = ((), "ok")
    run = measurement(values, noise=noise).assign_attrs(target="h1")
    run["outcome"] = ("seed", ["ok"] * 11 + ["diverged"])
    return ComparedRun(theory, run, compare(theory, run))


def shown(renderable: object, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


def test_numbers_of_the_table() -> None:
    given = both(neurons=1)
    text = " ".join(shown(comparison_text(given, GiantSteps(), TwoLayer())).split())
    values = given.simulation["overlap"].values[:, 2, 0, 0]
    error = values.std(ddof=1) / np.sqrt(12)
    assert f"2 {TRUTH[2, 0, 0]:.4f} {values.mean():.4f} +- {error:.4f}" in text
    assert "Agrees: largest |z|" in text
    assert "Of the simulation, 1 of 12 diverged." in text
    assert "Theory: A toy." in text
    assert "h1 (d = 10,000, 12 seeds)" in text


def test_lines_fit_on_a_screen_and_the_worst_curves_are_shown() -> None:
    given = both(neurons=2)
    lines = shown(comparison_text(given, GiantSteps(), TwoLayer())).splitlines()
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    assert sum("overlap h1, neuron" in line for line in lines) == 2


def test_disagreement_is_told() -> None:
    text = shown(comparison_text(both(factor=1.2), GiantSteps(), TwoLayer()))
    assert "Disagrees: overlap at time" in text


def test_record_is_plain_data() -> None:
    given = both()
    record = full_record(given)
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    laid = record["quantities"]["overlap"]
    assert laid["axes"] == ["time", "neuron", "direction"]
    np.testing.assert_allclose(laid["theory"], TRUTH)
    np.testing.assert_allclose(laid["z"], given.comparison.quantities["overlap"].z.values)
    assert record["verdict"] == "agrees"
    assert record["simulation"]["dim"] == 10_000
    assert comparison_record(given.comparison)["points"] == 12


def test_a_prediction_on_the_screen() -> None:
    theory = both(neurons=1).prediction
    theory["cosine"], theory["risk"] = theory["overlap"] / 2, ("time", np.linspace(2, 1, 6))
    theory.attrs |= {"limit": "dimension", "outcome": "diverged", "remedy": "take smaller steps, or leap=1"}
    text = " ".join(shown(prediction_text(theory, GiantSteps(), TwoLayer())).split())
    assert "step |cos| h1 overlap h1 risk" in text
    assert "5 0.4500 0.9000 1 Outcome" in text
    assert "Outcome: diverged; take smaller steps, or --leap 1." in text


def test_a_prediction_of_the_risk_alone() -> None:
    theory = both(neurons=1).prediction.drop_vars("overlap")
    theory["risk"] = ("time", np.linspace(2, 1, 6))
    theory.attrs |= {"limit": "dimension", "outcome": "ok", "remedy": ""}
    assert "step risk 0 2 1 1.8" in " ".join(shown(prediction_text(theory, GiantSteps(), None)).split())


def test_a_demonstration_in_sentences_and_as_data() -> None:
    given = both(neurons=1)
    recipe = Recipe("giant steps", GiantSteps(), TwoLayer(), 10_000, 5, None, "A story.", seeds=12)
    story, overlap, verdict = demonstration_sentences(Demonstration(recipe, given))
    values = given.simulation["overlap"].values[:, -1, 0, 0]
    measured = f"{values.mean():.3f} +- {values.std(ddof=1) / np.sqrt(12):.3f} measured"
    assert story == "A story. d = 10,000, 12 seeds."
    assert overlap == f"overlap h1: 0.100 at first, then 0.900 predicted, {measured}"
    assert verdict.startswith("Theory and simulation: agrees. Largest |z|")
    record = demonstration_record(Demonstration(recipe, given))
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert (record["algorithm"], record["samples"], record["verdict"]) == ("giant steps", 5, "agrees")


def test_overlaps_are_those_with_the_directions_of_the_staircase() -> None:
    """An estimate of both directions that knows only their sum: stage 1 rises, and nothing of stage 2."""
    grown = np.array([0.1, 0.4, 0.8])
    overlap = xr.DataArray(
        0.5 * grown[:, None, None] * np.ones((2, 2)), dims=("time", "neuron", "direction"), coords={"time": [0, 1, 2]}
    )
    together = np.array([[1.0], [1.0]]) / np.sqrt(2)
    basis = completed([together], 2)
    np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-12)
    estimate = turned(overlap, basis, rows=True)
    np.testing.assert_allclose(estimate[:, 0, 0], grown)
    np.testing.assert_allclose(estimate[:, 1:, 1:], 0, atol=1e-12)
    neurons = turned(overlap, basis, rows=False)
    np.testing.assert_allclose(neurons[:, :, 0], grown[:, None] / np.sqrt(2) * np.ones(2))
    assert direction_texts(basis)[0] == "(h1 + h2)/sqrt(2)"
    assert halfway(np.array([0.0, 1, 2]), grown) == pytest.approx(1 + 0.05 / 0.4)
    assert halfway(np.array([0.0, 1, 2]), np.array([0.1, 0.1, 0.12])) is None


def test_no_demonstration_says_why() -> None:
    none = Demonstration(None, None, "too hard")
    assert demonstration_sentences(none) == ["There is none: too hard."]
    assert demonstration_record(none) == {"algorithm": None, "reason": "too hard"}
