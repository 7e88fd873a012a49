"""Starting over: what was there is set aside whole, whoever reads it, whatever is killed meanwhile."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from benchmarks import attack_store
from benchmarks.attack import Limits, attacks, shown

from featlab.study import StoreFault, Study, run
from featlab.study import open as open_study
from featlab.study.store import Reader, Store
from tests.study.tiny import run_point

STUDY = Study(axes={"x": range(10)})
CYCLES, KILLS = 20, 3


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.sqlite"


def stored(path: Path) -> int:
    with Reader(path) as reader:
        return len(reader.outcomes())


def test_a_reader_that_holds_the_log_open_costs_nothing(path: Path, tmp_path: Path) -> None:
    """The runs are then in the log beside the file, and a file that is renamed leaves its log behind."""
    with Store(path):
        reader = Reader(path)
    run(STUDY, run_point, path)
    assert (tmp_path / "results.sqlite-wal").stat().st_size > 0
    copies: list[Path] = []
    run(Study(axes={"x": range(3)}), run_point, path, fresh=True, on_set_aside=copies.append)
    assert stored(copies[0]) == 10
    assert len(reader.outcomes()) == stored(path) == 3
    reader.close()
    assert open_study(copies[0]).sizes["x"] == 10
    assert stored(path) == 3


def test_a_reading_that_has_begun_goes_on(path: Path) -> None:
    run(STUDY, run_point, path)
    with Reader(path) as reader:
        lines = reader.lines("runs")
        first = next(lines)
        run(Study(axes={"x": range(3)}), run_point, path, fresh=True)
        assert len({first, *lines}) == 10


def test_there_is_always_a_study_to_read(path: Path) -> None:
    run(STUDY, run_point, path)
    seen: list[int] = []
    run(STUDY, run_point, path, fresh=True, on_start=lambda _: seen.append(open_study(path).sizes["x"]))
    assert seen == [10]


def test_nothing_to_set_aside(path: Path, tmp_path: Path) -> None:
    copies: list[Path] = []
    run(STUDY, run_point, path, fresh=True, on_set_aside=copies.append)
    assert copies == []
    assert not list(tmp_path.glob("*.until-*"))


def test_what_cannot_be_set_aside_stays(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the process is killed between the copy and the new beginning."""
    run(STUDY, run_point, path)

    def refuse(store: Path, aside: Path) -> None:
        raise StoreFault("no")

    monkeypatch.setattr("featlab.study.store.move_cluster", refuse)
    with pytest.raises(StoreFault, match="no"):
        run(STUDY, run_point, path, fresh=True)
    (copy,) = tmp_path.glob("results.until-*.sqlite")
    assert stored(copy) == stored(path) == 10
    assert not list(tmp_path.glob(".results*"))


def test_readers_looping_through_fresh_starts(tmp_path: Path) -> None:
    found = attack_store.start_over(Limits(30, CYCLES), 1, tmp_path)
    assert found["cycles"] == CYCLES
    assert found["readings"] >= 5  # or the cycles would prove nothing
    assert (found["runs lost"], found["wrong readings"], found["refused cycles"]) == (0, 0, 0)


def test_kills_of_those_who_start_over(tmp_path: Path) -> None:
    found = attack_store.kill_those_who_start_over(Limits(60, KILLS), 1, tmp_path)
    assert found["kills"] == KILLS
    assert found["acknowledged"] > 0
    assert found["runs lost"] == 0


def test_an_attack_can_fail() -> None:
    fresh = attacks()["fresh"]
    found = Counter({"cycles": 3, "runs lost": 2})
    assert fresh.failures(found) == {"runs lost": 2}
    assert shown(fresh, found, 1.0).startswith("fresh    FAILED  2 runs lost, 0 wrong readings")
    assert fresh.failures(Counter({"cycles": 3})) == {}
