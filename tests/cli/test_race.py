"""`featlab race`: the table, JSON, a picture, faults by option, and what Ctrl-C leaves."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from featlab.cli.app import app
from featlab.racing import running
from tests.racing.closed_form import CLOSED_FORMS, find_runner


def _run(*arguments: str) -> Any:
    return CliRunner(env={"COLUMNS": "120"}).invoke(app, ["race", "He2(h1)", *arguments])


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "find_runner", find_runner)
    monkeypatch.setattr(running, "ENTRANTS", CLOSED_FORMS)


def test_table_picture_and_store(tmp_path: Path) -> None:
    store, picture = tmp_path / "kept", tmp_path / "race.png"
    more = ("--store", str(store), "--figure", str(picture), "--entrants", "slow,fast,refused")
    done = _run("--dim", "1e2", *more)
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0] == "He2(h1): d = 100, 8 seeds at each n"
    assert [line.split()[0] for line in lines[4:7]] == ["fast", "slow", "refused"]
    said = " ".join(done.output.split())
    assert "refused, simulation and theory: learner: got 'refused', expected one that can." in said
    assert f"Runs are kept in {store}" in done.output.replace("\n", " ")
    assert picture.stat().st_size > 0


def test_json_is_one_object() -> None:
    done = _run("--json", "--entrants", "fast", "--ratios", "0.25,1,4", "--no-theory")
    record = json.loads(done.output)
    assert (record["dim"], record["ratios"]) == (500, [0.25, 1.0, 4.0])
    assert record["entrants"][0]["theory_remark"] == "not asked for"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--ratios", "16:1"), "--ratios: got '16:1', expected 2 to 64 of them, none twice: LOW:HIGH"),
        (("--budget", "soon"), "--budget: got 'soon', expected a time"),
        (("--dim", "many"), "--dim: got 'many'"),
        (("--seeds", "0"), "--seeds: got 0"),
        (("--seeds", "1e12"), "--seeds: got 1000000000000, expected at most 10,000,000"),
        (("--entrants", "fast,sgd"), "--entrants: got 'sgd', expected some of fast"),
        (("--store", __file__), "--store: got"),
        (("--figure", "a.xyz"), "--figure: got 'a.xyz'"),
    ],
)
def test_faults_name_the_option(arguments: tuple[str, ...], said: str) -> None:
    done = _run(*arguments)
    assert done.exit_code == 2
    assert said in done.output


def test_an_interruption_shows_what_is_done_and_exits_130(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = iter(range(9))

    def interrupted(work: Any, seconds: float) -> Any:
        if next(calls) == 1:
            raise KeyboardInterrupt
        return work()

    monkeypatch.setattr(running, "in_time", interrupted)
    done = _run("--entrants", "fast,slow", "--store", str(tmp_path))
    assert done.exit_code == 130
    assert "fast" in done.output
    assert re.search(r"slow, simulation\b.*: interrupted\.", " ".join(done.output.split()))
    assert "the same command goes on from" in done.output
