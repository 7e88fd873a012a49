"""What is said of single points: starts, paths that theory does not describe, divergences, stuck runs."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from featlab.comparison import Agreement, Point, compare
from featlab.comparison.stuck import stuck_runs, without
from tests.comparison.synthetic import measurement, prediction, truth

TRUTH = truth()


def said(found) -> list[str]:
    return found.quantities["overlap"].points.values[:, 0, 0].tolist()


def test_the_start_is_given() -> None:
    found = compare(prediction(TRUTH), measurement(TRUTH, noise=0.005))
    assert said(found) == [Point.GIVEN, *[Point.AGREES] * 5]
    alone = compare(prediction(TRUTH[:1]), measurement(TRUTH, noise=0.005))
    assert alone.verdict is Agreement.CANNOT_TELL
    assert "the start is what both were told; look at later times" in alone.reason


def test_a_fit_at_the_start_is_a_result() -> None:
    data = measurement(TRUTH, noise=0.005)
    data["ridge"] = ("time", np.ones(6))
    assert said(compare(prediction(TRUTH), data))[0] == Point.AGREES


@pytest.mark.parametrize("times", [1, 2])
def test_a_fit_that_cannot_be_told_asks_for_more_seeds(times: int) -> None:
    """It was called given, as a curve that has not left its start, and no seeds were added to kernels and readouts."""
    data = measurement(TRUTH[-times:], noise=0.8, seeds=4)
    if times > 1:
        data["ridge"] = ("time", np.ones(times))
    found = compare(prediction(TRUTH[-times:]), data, allowance=0.0)
    assert said(found) == [Point.CANNOT_TELL] * times
    assert "more seeds" in found.reason


def test_power_is_required_at_every_point_that_is_spoken_of() -> None:
    """The noise of 0.05 tells 20% of the late values only; it is said of how many."""
    data = measurement(TRUTH, noise=0.05, seeds=20)
    found = compare(prediction(TRUTH), data, allowance=0.0)
    kinds = said(found)
    assert kinds[1] == Point.CANNOT_TELL
    assert kinds[-1] == Point.AGREES
    told = sum(np.sum(one.points.values == "agrees") for one in found.quantities.values())
    assert f"{told} of 10 of overlap" in found.reason or f"at {told} of 10 points" in found.reason
    assert (found.verdict is Agreement.AGREES) == (told >= 5)
    assert compare(prediction(TRUTH), data, allowance=0.0, telling=1.0).verdict is Agreement.CANNOT_TELL
    assert compare(prediction(TRUTH), data, allowance=0.0, telling=0.0).verdict is Agreement.AGREES


def test_what_has_hardly_left_the_start_is_not_held_against_the_rest() -> None:
    """A curve looked at log-spaced times: most of them are before anything happens that the noise lets be seen."""
    rise = np.concatenate([np.full(12, 0.001), [0.4, 0.6, 0.8]])[:, None, None]
    found = compare(prediction(rise), measurement(rise, noise=0.02))
    assert found.verdict is Agreement.AGREES
    assert said(found) == [*[Point.GIVEN] * 12, *[Point.AGREES] * 3]
    early = rise.copy()
    early[5] = 0.3
    assert compare(prediction(rise), measurement(early, noise=0.02)).verdict is Agreement.DISAGREES


def diverging(share: float) -> xr.Dataset:
    data = measurement(TRUTH, noise=0.005, seeds=12)
    lost = np.arange(12) < share * 12
    data["overlap"].values[lost, 3:] = np.nan
    return data.assign(outcome=("seed", np.where(lost, "diverged", "ok")))


def test_divergence_where_theory_is_finite_is_a_disagreement() -> None:
    found = compare(prediction(TRUTH), diverging(1.0))
    assert found.verdict is Agreement.DISAGREES
    assert said(found)[3:] == [Point.DIVERGED] * 3
    assert "12 of 12 runs at d = 10,000 have diverged where theory is finite, at 6 points." in found.reason
    few = compare(prediction(TRUTH), diverging(0.2))
    assert said(few)[3:] == [Point.NO_VALUE] * 3
    assert few.verdict is not Agreement.DISAGREES


def test_where_both_diverge_nothing_is_told() -> None:
    theory = TRUTH.copy()
    theory[1:] = np.nan
    data = measurement(TRUTH, noise=0.005).assign(outcome=("seed", ["diverged"] * 12))
    data["overlap"].values[:, 1:] = np.nan
    found = compare(prediction(theory, outcome="diverged", remedy="take smaller steps"), data)
    assert found.verdict is Agreement.CANNOT_TELL
    assert "the prediction is diverged; take smaller steps" in found.reason


def test_most_points_without_a_value_is_no_agreement() -> None:
    data = measurement(TRUTH, noise=0.005)
    data["overlap"].values[0, 2:] = np.nan
    found = compare(prediction(TRUTH), data)
    assert found.verdict is Agreement.CANNOT_TELL
    assert "too few points tell" in found.reason
    assert "2 of 10 of overlap" in found.reason


def test_only_the_end_of_a_path_that_theory_does_not_describe() -> None:
    arrived = TRUTH.copy()
    arrived[-2] = arrived[-1]
    bent = arrived.copy()
    bent[2] *= 3
    data = measurement(arrived, noise=0.005)
    assert compare(prediction(bent), data).verdict is Agreement.DISAGREES
    found = compare(prediction(bent, describes="end"), data)
    assert found.verdict is Agreement.AGREES
    assert said(found) == [*[Point.NOT_DESCRIBED] * 5, Point.AGREES]
    assert "10 points on the way are not judged" in found.reason
    assert compare(prediction(1.2 * arrived, describes="end"), data).verdict is Agreement.DISAGREES
    unfinished = compare(prediction(TRUTH, describes="end"), measurement(TRUTH, noise=0.005))
    assert unfinished.verdict is Agreement.CANNOT_TELL
    assert "at the last times it still moves: more iterations" in unfinished.reason


def test_runs_that_are_not_converged_have_no_end_to_judge() -> None:
    arrived = TRUTH.copy()
    arrived[-2] = arrived[-1]
    wrong = prediction(1.2 * arrived, describes="end")
    for share, verdict in ((0.5, Agreement.CANNOT_TELL), (0.1, Agreement.DISAGREES)):
        outcomes = np.where(np.arange(12) < 12 * share, "not converged", "ok")
        data = measurement(arrived, noise=0.005).assign(outcome=("seed", outcomes))
        found = compare(wrong, data)
        assert found.verdict is verdict
        assert ("6 of 12 runs have not come to theirs: more iterations" in found.reason) == (share == 0.5)


@pytest.mark.parametrize("paired", [False, True])
def test_stuck_runs_are_found_and_taken_apart(paired: bool) -> None:
    """Three of twelve at zero: with them the mean is a quarter too low, and without them it is right."""
    square = np.linspace(0.1, 0.9, 6)[:, None, None] * np.eye(2)
    data = measurement(square, noise=0.01)
    data["overlap"].values[:3, 1:] *= 0.05
    theory = prediction(np.repeat(square[None], 12, axis=0), seeds=True) if paired else prediction(square)
    assert compare(theory, data).verdict is not Agreement.AGREES
    stuck = stuck_runs(theory, data)
    assert stuck.tolist() == [True] * 3 + [False] * 9
    assert compare(*without(theory, data, stuck)).verdict is Agreement.AGREES
    nothing = prediction(0.05 * square)
    assert not np.any(stuck_runs(nothing, measurement(0 * square, noise=0.01)))
