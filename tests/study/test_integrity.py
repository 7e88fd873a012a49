"""A store that is not what was written says so, by name; what is sound survives a repair, the rest is run again."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from benchmarks.attack import Limits
from benchmarks.attack_store import flip_bits
from typer.testing import CliRunner

from featlab.cli.app import app
from featlab.study import DamagedStore, StoreFault, Study, StudyInUse, check, export, provenance, run
from featlab.study import open as open_study
from featlab.study.store import Reader, Store
from featlab.study.store_format import SCHEMA
from tests.study.tiny import failing, run_point, vanishing

STUDY = Study(axes={"x": range(6)})
# The tables of version 1, which had no digests.
VERSION_1 = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE studies (number INTEGER PRIMARY KEY, content TEXT NOT NULL UNIQUE);
CREATE TABLE points (id TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE environments (id TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (
    id TEXT PRIMARY KEY, point TEXT NOT NULL REFERENCES points, repeat INTEGER NOT NULL, outcome TEXT NOT NULL,
    rows TEXT NOT NULL, error TEXT, seconds REAL NOT NULL, finished REAL NOT NULL,
    environment TEXT NOT NULL REFERENCES environments
) WITHOUT ROWID;
PRAGMA application_id = 1717920116;
PRAGMA user_version = 1;
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.sqlite"


def change(path: Path, *statements: str) -> None:
    """Behind featlab's back."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def older(path: Path) -> Path:
    """The same store as version 1 made it."""
    old = path.with_name("old.sqlite")
    with closing(sqlite3.connect(path)) as new, closing(sqlite3.connect(old)) as connection, connection:
        connection.executescript(VERSION_1)
        for table in ("about", "studies", "points", "environments", "runs"):
            names = [line[1] for line in new.execute(f"PRAGMA table_info({table})") if line[1] != "digest"]
            lines = new.execute(f"SELECT {', '.join(names)} FROM {table}").fetchall()
            connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(names))})", lines)
    return old


def test_flipped_bits_change_nothing_silently(tmp_path: Path) -> None:
    found = flip_bits(Limits(30, 40), 3, tmp_path)
    assert sum(found.values()) == 80
    assert found["refused"] > 3  # or the flips would prove nothing
    assert (found["changed silently"], found["raw errors"], found["wrong after repair"]) == (0, 0, 0)


ONE = "(SELECT id FROM runs WHERE outcome = 'ok' LIMIT 1)"


@pytest.mark.parametrize(
    "assignment",
    [
        "rows = replace(rows, '0.', '1.')",
        "outcome = 'failed'",
        "outcome = 'oK'",
        "repeat = 1",
        "error = 'x'",
        "seconds = seconds * 2",
        "seconds = 9e999",
        "finished = 0",
        "rows = x'5b5d'",
        "environment = 'e'",
        "digest = 'd'",
    ],
)
def test_every_column_of_a_run_is_in_its_digest(assignment: str, path: Path) -> None:
    run(STUDY, run_point, path)
    expected = open_study(path)
    change(path, f"UPDATE runs SET {assignment} WHERE id = {ONE}")
    for use in (open_study, provenance, lambda path: run(STUDY, run_point, path)):
        with pytest.raises(DamagedStore, match=r"1 of its runs are not what was written \(.*check .* --repair"):
            use(path)
    found = check(path)
    assert (found.sound, len(found.damaged), found.good) == (5, 1, False)
    repaired = check(path, repair=True)
    assert repaired.damaged == found.damaged
    assert repaired.aside is not None
    assert not check(repaired.aside).good
    after = open_study(path)
    assert after["run_outcome"].values.tolist().count("missing") == 1
    assert run(STUDY, run_point, path).complete
    assert open_study(path).identical(expected)
    assert check(path).good


def test_texts_that_are_none(path: Path) -> None:
    run(STUDY, run_point, path)
    change(path, f"UPDATE runs SET rows = CAST(x'5b80ff5d' AS TEXT) WHERE id = {ONE}")
    for use in (open_study, provenance, lambda path: run(STUDY, run_point, path)):
        with pytest.raises(DamagedStore, match=r"it holds a text that is no UTF-8; .*check .* --repair"):
            use(path)
    assert len(check(path, repair=True).damaged) == 1
    assert run(STUDY, run_point, path).complete


def test_points_environments_and_descriptions_are_checked_too(path: Path) -> None:
    run(STUDY, run_point, path)
    change(path, "UPDATE points SET content = replace(content, '3', '7')")
    with pytest.raises(DamagedStore, match="1 of its points are not what was written"):
        provenance(path)
    assert len(check(path, repair=True).damaged) == 1
    assert run(STUDY, run_point, path).complete
    assert sorted(entry["point"]["x"] for entry in provenance(path)) == list(range(6))
    change(path, "UPDATE environments SET content = replace(content, 'packages', 'package')")
    with pytest.raises(DamagedStore, match="1 of its environments are not what was written"):
        provenance(path)
    assert len(check(path, repair=True).damaged) == 6
    change(path, "UPDATE studies SET content = replace(content, '\"repeats\": 1', '\"repeats\": 2')")
    with pytest.raises(DamagedStore, match="the description of its study is not what was written"):
        open_study(path)
    assert "the description of study 1" in check(path, repair=True).complaints[0]
    with pytest.raises(StoreFault, match="holds no study yet"):
        open_study(path)
    assert run(STUDY, run_point, path).complete


def test_a_sound_store_is_left_alone(path: Path, tmp_path: Path) -> None:
    run(STUDY, run_point, path)
    before = path.read_bytes()
    assert check(path, repair=True).good
    assert path.read_bytes() == before
    assert not list(tmp_path.glob("*damaged*"))


def test_a_damaged_page_costs_only_what_is_on_it(path: Path) -> None:
    """Runs are read from both ends of the table; a zeroed page in the middle stops each way."""
    study = Study(axes={"x": range(400)})
    run(study, run_point, path)
    expected = open_study(path)
    pages = path.read_bytes()
    leaves = [at for at in range(4096, len(pages), 4096) if pages[at] == 10 and pages.count(b'"u":', at, at + 4096) > 3]
    path.write_bytes(pages[: leaves[5]] + b"\0" * 4096 + pages[leaves[5] + 4096 :])
    with pytest.raises(DamagedStore, match=r"the file is damaged \(.*malformed\); `featlab study check"):
        open_study(path)
    repaired = check(path, repair=True)
    assert repaired.complaints
    assert 300 < repaired.sound < 400
    assert run(study, run_point, path).complete
    assert open_study(path).identical(expected)


def test_readers_go_on_while_a_store_is_repaired(path: Path) -> None:
    run(STUDY, run_point, path)
    change(path, f"UPDATE runs SET repeat = 1 WHERE id = {ONE}")
    with Reader(path) as reader:
        lines = reader.lines("runs")
        first = next(lines)
        check(path, repair=True)
        assert len({first, *lines}) == 6
        assert len(reader.outcomes()) == 5


def test_a_store_of_version_1_is_read_as_it_is_and_upgraded_when_written(path: Path) -> None:
    run(STUDY, run_point, path)
    expected, old = open_study(path), older(path)
    before = old.read_bytes()
    assert open_study(old).identical(expected)
    assert provenance(old) == provenance(path)
    assert (check(old).sound, check(old).unchecked, check(old).good) == (0, 6, True)
    assert old.read_bytes() == before
    assert run(Study(axes={"x": range(8)}), run_point, old).complete
    with closing(sqlite3.connect(old)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA,)
    assert (check(old).sound, check(old).unchecked) == (2, 6)
    assert run(STUDY, run_point, old, fresh=True).complete
    assert (check(old).sound, check(old).unchecked) == (6, 0)


def test_what_is_unchecked_must_at_least_be_readable(path: Path) -> None:
    run(STUDY, run_point, path)
    old = older(path)
    change(old, f"UPDATE runs SET rows = '[{{\"y\":1' WHERE id = {ONE}")
    for use in (open_study, lambda store: export(store, store.with_suffix(".csv"))):
        with pytest.raises(DamagedStore, match="1 of its runs are not what was written"):
            use(old)
    change(old, f"UPDATE runs SET rows = '[{{\"y\":1.5}}]' WHERE id = {ONE}")  # nobody can tell
    assert check(old).good
    assert 1.5 in open_study(old)["y"].values


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("PRAGMA user_version = 0", "its store format is 0"),
        ("ALTER TABLE runs RENAME COLUMN digest TO digesu", "no such column: digest"),
        ("DROP TABLE points", "no such table: points"),
    ],
)
def test_beyond_repair(statement: str, message: str, path: Path) -> None:
    run(STUDY, run_point, path)
    change(path, statement)
    with pytest.raises(DamagedStore, match=message):
        open_study(path)
    with pytest.raises(DamagedStore, match=rf"damaged beyond repair \(.*{message}.*move it away, then run the study"):
        check(path, repair=True)


@pytest.mark.parametrize("replace", [False, True])
def test_a_store_deleted_or_replaced_in_mid_run_is_noticed_and_saved(replace: bool, path: Path, tmp_path: Path) -> None:
    study = Study(fixed={"file": str(path), "replace": replace}, axes={"x": range(6)})
    with pytest.raises(StoreFault, match="was deleted or replaced while it was written to; what it held is in"):
        run(study, vanishing, path)
    (saved,) = tmp_path.glob("results.rescued-*.sqlite")
    assert check(saved).sound >= 3
    assert check(saved).good


def test_a_store_deleted_after_the_last_result_is_noticed(path: Path) -> None:
    with pytest.raises(StoreFault, match="was deleted or replaced"), Store(path):
        path.unlink()


def test_a_deleted_store_on_a_network_file_system(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("featlab.study.store_file.file_system", lambda path: "nfs4")
    study = Study(fixed={"file": str(path), "replace": False}, axes={"x": range(6)})
    with pytest.raises(StoreFault, match="was deleted or replaced while it was written to; what it held is in"):
        run(study, vanishing, path)


def test_one_lock_for_each_file_whatever_its_names(path: Path, tmp_path: Path) -> None:
    run(STUDY, run_point, path)
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.sqlite"
    link.symlink_to(path)
    with Store(path), pytest.raises(StudyInUse):
        Store(link)
    with Store(link), pytest.raises(StudyInUse):
        Store(path)
    copies: list[Path] = []
    run(Study(axes={"x": range(2)}), run_point, link, fresh=True, on_set_aside=copies.append)
    assert copies[0].parent == path.parent  # beside the file, not beside the link
    assert link.is_symlink()
    assert open_study(path).sizes["x"] == 2
    hard = tmp_path / "hard.sqlite"
    os.link(path, hard)
    for name in (path, hard):
        with pytest.raises(StoreFault, match=r"has 2 names \(hard links\).*copy it to a name of its own"):
            Store(name)


def command(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["study", *map(str, arguments)])
    return done.exit_code, done.output


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text('kind = "tests.study.tiny:run_point"\n[axes]\nx = [1, 2, 3]\n', encoding="utf-8")
    store = file.with_suffix(".sqlite")
    assert command("check", file)[0] == 4
    assert command("run", file)[0] == 0
    assert command("check", file) == (0, "3 runs are what was written, 0 damaged\n")
    change(store, f"UPDATE runs SET seconds = 0 WHERE id = {ONE}")
    for refused in (("run", file), ("status", file), ("export", file, tmp_path / "a.csv"), ("plan", file)):
        code, said = command(*refused)
        assert code == 4
        assert f"`featlab study check {store} --repair` keeps what is sound" in said
    code, said = command("check", store)
    assert code == 4
    assert said.startswith("2 runs are what was written, 1 damaged\nrun ")
    code, said = command("check", file, "--repair", "--json")
    record: dict[str, Any] = json.loads(said)
    assert (code, record["sound"], len(record["damaged"])) == (3, 2, 1)
    assert Path(record["aside"]).is_file()
    assert command("status", file) == (3, "2 of 3 done, 1 missing\n")
    assert command("run", file)[0] == 0


def test_failed_runs_are_checked_as_well(path: Path, tmp_path: Path) -> None:
    run(Study(fixed={"marks": str(tmp_path)}, axes={"x": [1, 2]}), failing, path)
    assert (check(path).sound, check(path).good) == (2, True)
    change(path, "UPDATE runs SET outcome = 'ok' WHERE outcome = 'failed'")
    with pytest.raises(DamagedStore):
        open_study(path)
