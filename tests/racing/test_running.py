"""A race as a whole: order of arrival, refusals, failures, time, resuming; on closed forms, and one that is real."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import featlab
from featlab.errors import InvalidParameter
from featlab.racing import running
from featlab.racing.entrants import ENTRANTS
from featlab.reports.race import race_words
from tests.racing.closed_form import CLOSED_FORMS, find_runner


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "find_runner", find_runner)
    monkeypatch.setattr(running, "ENTRANTS", CLOSED_FORMS)


def _race(*names: str, **more: Any) -> featlab.Race:
    settings: dict[str, Any] = {"dim": 100, "budget": 60.0, "seeds": 4, "entrants": names}
    return featlab.race("He2(h1)", **(settings | more))


@pytest.mark.usefixtures("closed")
def test_who_needs_fewer_samples_stands_first_and_nobody_is_dropped() -> None:
    """cos^2 = n/(n + c d) is above 1/2 from n = c d on; theory and simulation are the same form here."""
    race = _race("risky", "refused", "slow", "failing", "onward", "fast")
    names = [one.entrant.name for one in race.standings]
    assert set(names) == {"risky", "refused", "slow", "failing", "onward", "fast"}
    assert set(names[:2]) == {"onward", "fast"}
    assert names[2:4] == ["slow", "risky"]
    for name, true in (("slow", 4.0), ("fast", 1.0), ("onward", 1.0)):
        for theory in (False, True):
            found = race[name].arrival(theory=theory)
            assert found is not None
            assert found.low <= true * 1.001
            assert found.high >= true * 0.999
            assert found.at == pytest.approx(true, rel=0.1)
    assert race["refused"].measured is None
    assert "expected one that can" in race["refused"].measured_reason
    assert race["failing"].measured_reason == "it fell over"
    assert race["risky"].arrival() is None
    said = race_words(race)
    assert said.index("onward") < said.index("slow") < said.index("risky")
    assert "refused, simulation and theory: " in said
    assert "failing, simulation and theory: it fell over" in said
    assert said.count("it fell over") == 1


@pytest.mark.usefixtures("closed")
def test_the_clock_ends_it_and_the_store_goes_on(tmp_path: Path) -> None:
    """Six points of 0.4 s do not fit into one second; what is done by then is kept, and not run again."""
    begin = time.monotonic()
    short = _race("late", "fast", budget=1.5, store=tmp_path / "race", theory=False)
    assert time.monotonic() - begin < 6  # the analysis, its grace, a loaded machine
    assert "a larger budget gives it more" in short["late"].measured_reason + short["fast"].measured_reason
    whole = _race("late", "fast", store=tmp_path / "race", theory=False)
    assert whole["late"].measured_reason == ""
    alone = _race("late", "fast", theory=False)
    for name in ("late", "fast"):
        assert np.array_equal(whole[name].measured.found, alone[name].measured.found)  # type: ignore[union-attr]
    assert sorted(path.name for path in (tmp_path / "race").glob("*.sqlite")) == ["fast.sqlite", "late.sqlite"]


@pytest.mark.usefixtures("closed")
def test_an_interruption_keeps_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = iter(range(100))

    def interrupted(work: Any, seconds: float) -> Any:
        if next(calls) == 1:
            raise KeyboardInterrupt
        return work()

    monkeypatch.setattr(running, "in_time", interrupted)
    race = _race("fast", "slow", theory=False)
    assert race.interrupted
    assert race["fast"].measured is not None
    assert (race["slow"].measured, race["slow"].measured_reason) == (None, "interrupted")


@pytest.mark.usefixtures("closed")
def test_it_is_json_a_picture_and_a_page() -> None:
    race = _race("fast", "risky", "refused")
    record = json.loads(json.dumps(race.to_dict(), allow_nan=False))
    fast = record["entrants"][0]
    assert fast["simulation"]["all"]["low"] <= 1 <= fast["simulation"]["all"]["high"]
    assert np.shape(fast["simulation"]["found"]) == (6, 4, 1)
    assert record["entrants"][2]["simulation_remark"]
    figure = race.plot()
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "share of the directions found",
        "risk over the variance of the label",
    ]
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["fast"]
    assert "<svg" in race._repr_html_()


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"dim": 0}, "dim"),
        ({"seeds": 0}, "seeds"),
        ({"budget": -1.0}, "budget"),
        ({"ratios": "4:1"}, "ratios"),
        ({"entrants": ["sgd"]}, "entrants"),
    ],
)
def test_misuse_is_refused_before_anything_runs(settings: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{name}: got"):
        _race("sir", **settings)


def test_targets_without_text_or_with_a_spike_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="target: got"):
        featlab.race(featlab.target(lambda h: h[..., 0] ** 3, rank=1), dim=10)
    with pytest.raises(InvalidParameter, match="inputs: got"):
        featlab.race(featlab.target("h1", inputs=featlab.SpikeLaw(0.5, (0.1,))), dim=10)


def test_every_entrant_of_the_table_is_a_study_that_its_runner_accepts() -> None:
    """Nothing runs; only the optimal spectral method has no theory where E[z | y] is not zero, and says so later."""
    from featlab.analysis import analyse

    course = running.Course(analyse(featlab.target("h1 + h2**2")), 50, (1.0, 2.0), 2, 0)
    for theory in (False, True):
        for entrant in ENTRANTS:
            job = running._Job(entrant, "predict" if theory else "simulate", entrant.study(course), Path("unused"))
            job.study = entrant.theory(course) if theory else job.study
            job.check()
            assert job.runs, job.reason


def test_real_learners_follow_their_theory() -> None:
    """SIR and one giant step on h1 + h1^2/4 at d = 200: the mean share of 8 seeds is within four standard errors and
    1/sqrt(d) of theory, which a theory for a quarter of the samples is not."""
    names = ("sir", "giant-step")
    race = featlab.race("h1 + h1**2/4", dim=200, ratios=(1, 4), seeds=8, entrants=names, progress=False)
    for name in names:
        measured, predicted = race[name].measured, race[name].predicted
        assert measured is not None
        assert predicted is not None
        theory = dict(zip(predicted.ratios.tolist(), predicted.score[:, 0].tolist(), strict=True))
        error = measured.score.std(axis=1, ddof=1) / np.sqrt(8)
        for place, ratio in enumerate(measured.ratios.tolist()):
            allowed = 4 * error[place] + 200**-0.5
            assert abs(measured.score[place].mean() - theory[ratio]) < allowed
        assert abs(measured.score[1].mean() - theory[1.0]) > 4 * error[1] + 200**-0.5


@pytest.mark.usefixtures("closed")
def test_a_kept_race_gives_explain_its_constants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """cos^2 = n/(n + c d) with c = 4: AMP's cost is d, so that its constant is 4, at any dimension."""
    (onward,) = (one for one in CLOSED_FORMS if one.name == "onward")
    monkeypatch.setattr(
        running, "ENTRANTS", (replace(onward, name="bayes-amp", said=lambda course: {"learner": "slow"}),)
    )
    made = featlab.race("He2(h1)", dim=100, seeds=2, store=tmp_path, theory=False)
    analysis = featlab.analyse(featlab.target("He2(h1)"))
    again = running.open_race(tmp_path, analysis)
    assert np.array_equal(again["bayes-amp"].measured.found, made["bayes-amp"].measured.found)  # type: ignore[union-attr]
    raced = featlab.Explanation(analysis, dim=1000).raced(again)
    constant = raced.analysis.sample_cost["amp"].constant
    assert constant is not None
    assert constant.low <= 4 * 1.001
    assert constant.high >= 4 * 0.999
    assert constant.value == pytest.approx(4, rel=0.1)
    assert "measured at d = 100" in constant.source
    assert "(=: with it)" in raced.text()
    with pytest.raises(InvalidParameter, match=r"race: got .* of this target"):
        running.open_race(tmp_path, featlab.analyse(featlab.target("h1")))
    with pytest.raises(InvalidParameter, match=r"race: got .* has filled"):
        running.open_race(tmp_path / "nothing", analysis)
