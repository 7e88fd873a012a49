"""The store: what is acknowledged is there, once, whatever happens; what is wrong with it is said."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import featlab
from featlab.study import NewerStore, StoreFault, Study, StudyInUse, provenance, run
from featlab.study.identity import runs_of
from featlab.study.records import Record, environment, perform
from featlab.study.runner import as_runner
from featlab.study.slurm import Shard, new_shard, read_shards
from featlab.study.store import Reader, Store
from featlab.study.store_file import file_system, journal_mode
from featlab.study.store_format import SCHEMA
from tests.study.tiny import failing, run_point

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.sqlite"


def records(count: int) -> list[Record]:
    return [perform(run_point, one) for one in runs_of(Study(axes={"x": range(count)}), as_runner(run_point))]


def test_what_is_acknowledged_can_be_read_by_another(path: Path) -> None:
    wanted = records(5)
    with Store(path) as store:
        acknowledged = [one for record in wanted for one in store.add(record)] + store.flush()
        assert [one.id for one in acknowledged] == [one.id for one in wanted]
        with Reader(path) as reader:  # while it is being written
            found = reader.runs()
    assert {name: done.rows for name, done in found.items()} == {one.id: one.rows for one in wanted}


def test_nothing_is_acknowledged_before_it_is_written(path: Path) -> None:
    """Records that wait for the next transaction are neither acknowledged nor there."""
    wanted = records(2)
    with Store(path) as store:
        store.flush()
        assert store.add(wanted[0]) == []
        with Reader(path) as reader:
            assert reader.runs() == {}
        time.sleep(0.06)
        assert store.add(wanted[1]) == wanted
        with Reader(path) as reader:
            assert len(reader.runs()) == 2


def test_commits_reach_the_disk(path: Path) -> None:
    """In WAL mode only synchronous=FULL (2) brings every commit to the disk."""
    with Store(path) as store:
        assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_run_is_stored_once_and_never_overwritten(path: Path) -> None:
    (record,) = records(1)
    other = Record(**{**record.__dict__, "rows": '[{"y":0.0}]'})
    with Store(path) as store:
        store.add(record)
        store.add(other)
        store.flush()
        store.add(other)
    with Reader(path) as reader:
        assert [done.rows for done in reader.runs().values()] == [record.rows]


def test_a_failed_run_may_be_tried_again(path: Path, tmp_path: Path) -> None:
    study = Study(fixed={"marks": str(tmp_path)}, axes={"x": [1, 2, 3, 4]})
    first = run(study, failing, path)
    assert (first.done, first.failed, first.missing) == (1, 3, 0)
    errors = {entry["point"]["x"]: entry["error"] for entry in provenance(path)}
    assert errors[1] is None
    assert errors[2].endswith("ValueError: two is not allowed\n")
    assert "run_point returned {'y': 1.0}, expected an iterable of rows" in errors[3]
    assert "SystemExit: good bye" in errors[4]
    (tmp_path / "healed").touch()
    assert run(study, failing, path).failed == 3
    again = run(study, failing, path, retry_failed=True)
    assert (again.done, again.failed) == (2, 2)


def test_rows_of_strange_things_fail_with_a_reason(path: Path) -> None:
    run(Study(), lambda point, key: [{"y": object()}], path)
    (entry,) = provenance(path)
    assert entry["outcome"] == "failed"
    assert "of type object, expected numbers, texts or lists" in entry["error"]


def test_provenance_says_where_a_number_came_from(path: Path) -> None:
    run(Study(fixed={"sleep": 0.02}, axes={"x": [1]}, repeats=2), run_point, path)
    entries = provenance(path)
    assert [entry["repeat"] for entry in entries] == [0, 1]
    (entry, _) = entries
    assert entry["outcome"] == "ok"
    assert 0.02 <= entry["seconds"] < 2
    assert abs(entry["finished"] - time.time()) < 60
    where = entry["environment"]
    assert where == environment()
    assert where["packages"]["featlab"] == featlab.__version__
    assert where["python"] == sys.version.split()[0]
    assert where["platform"]
    assert where["device"]


def test_the_git_state_is_recorded(tmp_path: Path) -> None:
    program = "from featlab.study.records import environment; import json; print(json.dumps(environment()['git']))"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    asked = {"cwd": tmp_path, "capture_output": True, "text": True, "check": True}

    def state() -> object:
        outside = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
        done = subprocess.run([sys.executable, "-c", program], env=outside, **asked)  # type: ignore[call-overload]
        return json.loads(done.stdout)

    assert state() is None
    (tmp_path / "a").write_text("1")
    for command in (["init", "-q"], ["add", "a"], ["commit", "-q", "-m", "a"]):
        subprocess.run([*git, *command], **asked)  # type: ignore[call-overload]
    commit = subprocess.run([*git, "rev-parse", "HEAD"], **asked).stdout.strip()  # type: ignore[call-overload]
    assert state() == {"commit": commit, "changed": False}
    (tmp_path / "a").write_text("2")
    assert state() == {"commit": commit, "changed": True}


def test_the_second_writer_is_refused_and_nothing_is_lost(path: Path) -> None:
    with Store(path) as store:
        with pytest.raises(StudyInUse, match="another process is writing to it"):
            Store(path)
        store.add(records(1)[0])
    with Store(path) as store:
        assert len(store.runs()) == 1


def test_the_second_writer_may_wait(path: Path) -> None:
    program = f"""
from featlab.study.store import Store
import time
with Store({str(path)!r}):
    print("held", flush=True)
    time.sleep(0.5)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        begin = time.monotonic()
        with Store(path, wait=True):
            assert time.monotonic() - begin > 0.3
    assert holder.returncode == 0


def test_the_lock_ends_with_its_process(path: Path) -> None:
    program = f"from featlab.study.store import Store; import os; Store({str(path)!r}); os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == -9
    with Store(path):
        pass


def test_a_store_of_a_newer_version_is_left_alone(path: Path) -> None:
    run(Study(axes={"x": [1, 2]}), run_point, path)
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")
        connection.execute("UPDATE about SET value = '99.0' WHERE name = 'featlab'")
    connection.close()
    before = path.read_bytes()
    for use in (Store, Reader):
        with pytest.raises(NewerStore, match=r"newer version of featlab \(99.0, store format 3; this one knows 2\)"):
            use(path)
    assert path.read_bytes() == before


def test_other_files_are_left_alone(path: Path) -> None:
    path.write_text("not a database, but long enough to be looked at " * 10)
    for use in (Store, Reader):
        with pytest.raises(StoreFault, match="is no featlab study store"):
            use(path)
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    for use in (Store, Reader):
        with pytest.raises(StoreFault, match="is no featlab study store"):
            use(path)


def test_places_where_no_store_can_be(tmp_path: Path) -> None:
    with pytest.raises(StoreFault, match="an existing directory"):
        Store(tmp_path / "none" / "a.sqlite")
    with pytest.raises(StoreFault, match="an existing directory"):
        Store(tmp_path)
    with pytest.raises(StoreFault, match="there is no such store; run the study first"):
        Reader(tmp_path / "a.sqlite")
    (tmp_path / "empty.sqlite").touch()
    with pytest.raises(StoreFault, match="is no featlab study store"):
        Reader(tmp_path / "empty.sqlite")
    with Store(tmp_path / "empty.sqlite") as store, pytest.raises(StoreFault, match="holds no study yet"):
        store.study()


def test_a_full_disk_is_said_and_nothing_acknowledged_is_lost(path: Path) -> None:
    """SQLite's own limit on pages gives the error of a full disk (SQLITE_FULL) at the same place."""
    wanted = records(400)
    acknowledged: list[Record] = []
    store = Store(path)
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages + 20}")

    def fill() -> None:
        for record in wanted:
            acknowledged.extend(store.add(record))
            acknowledged.extend(store.flush())

    with pytest.raises(StoreFault, match="the disk is full; what was acknowledged before is safe"):
        fill()
    assert 10 < len(acknowledged) < 400
    with pytest.raises(StoreFault, match="the disk is full"):
        store.close()
    with Reader(path) as reader:
        assert set(reader.runs()) == {record.id for record in acknowledged}
    with Store(path) as store:  # there is room again
        for record in wanted:
            store.add(record)
    with Reader(path) as reader:
        assert len(reader.runs()) == 400


def test_a_disk_that_fails_otherwise_is_said(path: Path) -> None:
    """Where files may not grow, as under a quota, SQLite does not say that the disk is full."""
    Store(path).close()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, before[1]))
    try:
        with pytest.raises(StoreFault, match=r"it may be full or failing; what was acknowledged is safe"):
            run(Study(axes={"x": range(400)}), run_point, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert run(Study(axes={"x": range(400)}), run_point, path).complete


@pytest.fixture
def public_directory() -> Iterator[Path]:
    """A directory that everyone may enter (those of pytest are private)."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_read_only_store_is_said_but_can_be_read(public_directory: Path) -> None:
    path = public_directory / "results.sqlite"
    run(Study(axes={"x": [1, 2]}), run_point, path)
    before = path.read_bytes()
    for file in public_directory.iterdir():
        file.chmod(0o444)
    public_directory.chmod(0o555)
    program = f"""
import os, json, sqlite3, featlab.study.drive, featlab.study.dataset
from featlab.study import Study, StoreFault, run, open
open({str(path)!r})  # all is loaded before the right to read it may be given up
if os.geteuid() == 0:
    os.setuid(65534)  # root may write everywhere
print(open({str(path)!r}).sizes["x"])
try:
    run(Study(axes={{"x": [1, 2, 3]}}), lambda point, key: [], {str(path)!r})
except StoreFault as fault:
    print(fault)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd="/")
    public_directory.chmod(0o755)
    assert done.returncode == 0, done.stderr
    size, message = done.stdout.splitlines()
    assert size == "2"
    assert "cannot be written" in message or "read-only" in message
    assert path.read_bytes() == before


def test_network_file_systems_get_no_write_ahead_log(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("d / ext4 rw 0 0\nn /home nfs4 rw 0 0\nx /home/me/disk xfs rw 0 0\n")
    assert file_system(Path("/home/you/a.sqlite"), mounts) == "nfs4"
    assert file_system(Path("/home/me/disk/a.sqlite"), mounts) == "xfs"
    assert file_system(Path("/var/a.sqlite"), mounts) == "ext4"
    assert file_system(Path("/homework/a.sqlite"), mounts) == "ext4"
    assert file_system(Path("/x"), tmp_path / "none") == ""
    assert journal_mode(tmp_path / "a") == "WAL"


def test_a_store_on_a_network_file_system_works(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("featlab.study.store_file.file_system", lambda path: "nfs4")
    run(Study(axes={"x": [1, 2]}), run_point, path)
    with Store(path) as store:
        assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert len(store.runs()) == 2


def test_a_snapshot_is_of_one_moment(path: Path) -> None:
    """Otherwise a run could be read whose point was written after the points were."""
    run(Study(axes={"x": [1, 2]}), run_point, path)
    with Reader(path) as reader:
        with reader.snapshot():
            assert len(reader.outcomes()) == 2
            run(Study(axes={"x": range(5)}), run_point, path, fresh=True)
            assert len(list(reader.provenance())) == 2
            assert reader.study()["study"]["axes"] == {"x": [1, 2]}
        assert len(list(reader.provenance())) == 5


def test_a_torn_line_is_skipped(tmp_path: Path) -> None:
    wanted = records(3)
    shard = new_shard(tmp_path, "0001-000000")
    for record in wanted:
        shard.append(record)
    shard.close()
    whole = shard.path.read_bytes()
    last = len(wanted[-1].to_line().encode())
    for cut in [*range(1, last, 7), last]:  # wherever the kill hits the last line
        shard.path.write_bytes(whole[:-cut])
        lines = list(read_shards(tmp_path))
        assert [line.record for line in lines if line.record is not None] == wanted[:2]
        assert len(lines) == (2 if cut == last else 3)
    shard.path.write_bytes(whole + b"\0" * 100)
    assert [line.record for line in read_shards(tmp_path)] == [*wanted, None]


def test_a_damaged_line_is_skipped(tmp_path: Path) -> None:
    """Whichever bit of it is flipped."""
    (record,) = records(1)
    line = record.to_line().encode()
    for at in range(0, len(line) - 1, 5):
        damaged = bytearray(line)
        damaged[at] ^= 1 << at % 7
        (tmp_path / "0001.jsonl").write_bytes(damaged + line)
        found = [line.record for line in read_shards(tmp_path) if line.record is not None]
        assert all(one == record for one in found), damaged[at:]
        assert found
    old = json.loads(line)
    del old["digest"]
    (tmp_path / "0001.jsonl").write_text(json.dumps(old) + "\n")
    assert [line.record for line in read_shards(tmp_path)] == [record]


def test_shards_of_two_processes_never_share_a_file(tmp_path: Path) -> None:
    one, other = new_shard(tmp_path, "0001-000000"), new_shard(tmp_path, "0001-000000")
    assert one.path != other.path


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_shard_on_a_full_disk_is_said() -> None:
    shard = Shard(Path("/dev/full"))
    with pytest.raises(StoreFault, match="/dev/full: cannot be written: No space left on device; what was ack"):
        shard.append(records(1)[0])
    shard.close()
    with pytest.raises(StoreFault, match="cannot be written: No such file"):
        Shard(Path("/none/a.jsonl"))
