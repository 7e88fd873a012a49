"""The benchmark of the simulations runs, and its ratios are the quotients they say they are."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pytest
from benchmarks import agree, estimators, simulation
from benchmarks.baselines import full_batch_steps, gaussian_batch, one_pass_steps
from benchmarks.drawn_experiments import LEARNERS, drawn
from benchmarks.measuring import MOST_TIMES, Row, Timing, copy_bandwidth, show, until_steady
from benchmarks.simulation import SMALL, main

from featlab.experiments.text import experiment_to_text


def test_small_mode_prints_ratios_and_saves_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results" / "here.json"
    main(["reuse", "giant", "--small", "--machine", "here", "--output", str(path)])
    printed = capsys.readouterr().out
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["machine"]["name"] == "here"
    rows = {(row["case"], row["setting"]): row for row in record["rows"]}
    slow = next(row for (case, setting), row in rows.items() if case == "reuse, NumPy" and "included" in setting)
    for kind in ("dice", "virtual"):
        row = rows[f"reuse, {kind}", "against NumPy, drawing X included"]
        assert row["value"] == pytest.approx(slow["value"] / row["timing"]["seconds"])
        assert row["timing"]["compile_seconds"] > 0
        assert f"{row['value']:.4g} x" in printed
    assert "giant step" in printed


def test_the_other_cases_divide_by_what_they_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run takes two seconds here: the numbers follow from the sizes."""
    monkeypatch.setattr(simulation, "time_run", lambda *args, **kwargs: Timing(2.0, 1.0))
    monkeypatch.setattr(simulation, "copy_bandwidth", lambda megabytes: 1e6)
    dice = simulation.large(SMALL)[2]
    size = SMALL.large
    # Three steps, capacities 4 and 3: forward (4*4 + 3) d + (4 + 2*3) n, backward (4*3 + 4) n + (3 + 2*4) d, floats.
    assert dice.value == pytest.approx(4 * 3 * (30 * size.dim + 26 * size.rows) / 2.0 / 1e6)
    online = simulation.online(SMALL)
    (seeds,) = SMALL.online_seeds
    assert online[1].value == pytest.approx(2.0 / SMALL.online_steps / seeds * 1e6)
    assert online[3].value == 1.0
    assert [row.value for row in simulation.dice(SMALL)] == [2000.0, 2000.0]


@pytest.mark.parametrize("learner", LEARNERS)
def test_random_experiments_are_drawn_by_their_number(learner: str) -> None:
    first, again, other = (experiment_to_text(drawn(learner, 1, number)) for number in (0, 0, 1))
    assert first == again != other


def test_a_goal_can_be_missed() -> None:
    assert Row("a", "b", 99.0, "x", at_least=100).verdict == "MISSED"
    assert Row("a", "b", 100.0, "x", at_least=100).verdict == "met"
    assert Row("a", "b", 1.6, "s", at_most=1.5).verdict == "MISSED"
    assert Row("a", "b", 1.6, "s").verdict == ""
    assert "MISSED" in show([Row("a", "b", 1.6, "s", Timing(1.6), at_most=1.5)])


def test_times_are_measured_until_they_are_steady() -> None:
    settles = until_steady(iter([2.0, 1.5, 1.0, 1.04, 1.03, 9.0]).__next__, 3)
    assert (settles.seconds, settles.runs) == (1.0, 5)
    assert settles.spread == pytest.approx(0.04)
    restless = until_steady((1.1**-number for number in range(100)).__next__, 3)
    assert restless.runs == 3 * MOST_TIMES
    assert restless.spread == pytest.approx(0.21)
    once = until_steady(lambda: 1.0, 1)
    assert (once.runs, once.spread) == (1, None)
    assert "21.0% of 24" in show([Row("a", "b", 1.0, "s", restless)])


def test_the_straightforward_versions_learn() -> None:
    """Gradient descent on one batch lowers the training error; a step of the wrong sign raises it."""
    batch = gaussian_batch(600, 30)
    labels = batch[:, 0] ** 3 - 3 * batch[:, 0]

    def error(steps: int, step_size: float) -> float:
        weights = full_batch_steps(batch, 2, steps, step_size)
        return float(np.mean((labels - np.maximum(batch @ weights.T, 0).mean(axis=1)) ** 2))

    assert error(5, 0.1) < error(0, 0.1) < error(5, -0.1)
    assert np.linalg.norm(one_pass_steps(50, 20, 0.5)) == pytest.approx(1, abs=1e-5)


def test_unknown_case(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["nonsense"])
    assert "unknown case 'nonsense'" in capsys.readouterr().err


def test_copies_have_a_speed() -> None:
    assert copy_bandwidth(1) > 1e7


def test_the_estimators_are_compared_with_what_one_would_take_instead(tmp_path: Path) -> None:
    path = tmp_path / "here.json"
    estimators.main(["--small", "--output", str(path)])
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    seconds = {row["case"]: row["timing"]["seconds"] for row in rows if row["timing"]}
    ratios = {row["case"]: row["value"] for row in rows if row["unit"] == "times the seconds"}
    assert ratios["SIR, statsmodels / ours"] == pytest.approx(seconds["SIR, statsmodels"] / seconds["SIR"])
    assert ratios["MLPRegressor / two layers"] == pytest.approx(seconds["MLPRegressor"] / seconds["two layers"])


def test_cases_that_were_written_become_the_table_of_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = {"key": 1, "number": 0, "reason": "", "seconds": 1.0, "text": ""}
    cases = [{"learner": "a", "kind": "agrees", **case}, {"learner": "b", "kind": "over time", **case}]
    path, page = tmp_path / "cases.json", tmp_path / "page.md"
    path.write_text("".join(json.dumps(one) + "\n" for one in cases))
    page.write_text("before\n\n| learner | agrees |\n|---|---:|\n| old | 7 |\n\nafter\n")
    monkeypatch.setattr(agree, "_PAGE", page)
    agree.main(["--each", "0", "--json", str(path), "--docs"])
    written = page.read_text()
    assert written.startswith("before\n\n| learner | agrees | cannot tell |")
    assert written.endswith("| all | 1 | 0 | 0 | 0 | 1 | 0 |\n\nafter\n")
    assert "old" not in written
    assert "| b | 0 | 0 | 0 | 0 | 1 | 0 |" in capsys.readouterr().out


def test_cases_go_on_after_those_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in this process, without experiments."""
    pool = MagicMock()
    pool.imap_unordered = lambda _, work: MagicMock(
        next=MagicMock(side_effect=[agree.Case(*one[:3], "agrees", "", 0.0, "") for one in work])
    )
    context = MagicMock()
    context.Pool.return_value.__enter__.return_value = pool
    monkeypatch.setattr(agree.multiprocessing, "get_context", lambda _: context)
    path = tmp_path / "cases.json"
    for each in (2, 3):
        agree.main(["--learners", "readout,bayes-amp", "--each", str(each), "--json", str(path)])
    found = [(case.learner, case.number) for case in agree.read(path)]
    assert found == [(name, number) for number in range(3) for name in ("readout", "bayes-amp")]
