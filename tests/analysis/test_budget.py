"""The analysis ends when its time is spent: what was decided holds, the rest is a doubt that says how to go on."""

from __future__ import annotations

import pytest

from featlab.analysis import analyse
from featlab.analysis.budget import OutOfTime, check_time, doing, time_budget
from featlab.errors import InvalidParameter
from featlab.reports.verdict_sentence import verdict_sentence
from featlab.targets import target


def test_without_time_nothing_is_claimed() -> None:
    analysis = analyse(target("h1*h2"), budget=1e-9)
    assert analysis.verdict == "UNDECIDED"
    assert (analysis.leap, analysis.generative_exponent, analysis.regimes) == (None, None, ())
    assert {doubt.split(":")[0] for doubt in analysis.doubts} == {"giant steps", "leap", "grand staircase", "residuals"}
    assert all("1e-09 s of processor time" in doubt and "`--analysis-budget`" in doubt for doubt in analysis.doubts)


def test_what_was_decided_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock runs out at the critical ratio: the staircases are known by then, and that h1*h2 is easy."""
    seconds = iter([0.0])
    monkeypatch.setattr("featlab.analysis.budget.time.process_time", lambda: next(seconds, 0.0))

    def tell(step: str) -> None:
        if step.startswith("the critical sample ratio"):
            monkeypatch.setattr("featlab.analysis.budget.time.process_time", lambda: 100.0)

    analysis = analyse(target("h1*h2"), budget=5.0, tell=tell)
    assert (analysis.information_exponent, analysis.leap) == (2, 2)
    assert analysis.verdict == "EASY"
    (stage,) = analysis.grand_staircase
    assert (stage.alpha, stage.alpha_bound, stage.directions.shape) == (None, None, (2, 2))
    assert "a critical sample ratio n/d that was not computed." in verdict_sentence(analysis)
    assert any("the critical sample ratio, 0 directions known is not finished" in doubt for doubt in analysis.doubts)


def test_enough_time_changes_nothing() -> None:
    """Negative control: the same target in its own time has no doubt, and the steps are told."""
    steps: list[str] = []
    analysis = analyse(target("h1*h2"), tell=steps.append)
    assert analysis.doubts == ()
    assert analysis.verdict == "EASY"
    assert "the critical sample ratio, 0 directions known" in steps


def test_outside_of_a_budget_there_is_no_clock() -> None:
    doing("anything")
    with time_budget(1e-9), pytest.raises(OutOfTime, match="anything else is not finished"):
        doing("anything else")
    check_time()


@pytest.mark.parametrize("budget", [0, -1.0, float("inf"), float("nan"), True])
def test_a_budget_is_a_positive_time(budget: float) -> None:
    with pytest.raises(InvalidParameter, match="budget"):
        analyse(target("h1"), budget=budget)
