"""A real Slurm of one node: an array is cancelled midway and what is missing is submitted again."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from featlab.cli.app import app
from featlab.errors import InvalidParameter
from featlab.reports.schemas import schema_of
from featlab.study import EngineFault, FromExecutor, StoreFault, Study, StudyInUse, collect, run, submit
from featlab.study import open as open_study
from featlab.study.queue import jobs
from featlab.study.records import from_line
from featlab.study.runner import Runner
from featlab.study.slurm import read_shards, waiting_records, work
from featlab.study.store_file import cluster_directory
from tests.processes import THIS_TREE
from tests.study.slurm_cluster import slurm, why_not
from tests.study.test_engines import check_same
from tests.study.tiny import STRICT

KIND = "tests.study.tiny:run_point"
STUDY = f"""
kind = "{KIND}"
key = 5
repeats = 2

[fixed]
sleep = 0.12

[axes]
x = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]
scale = [1, 2]
"""
RUNS = 80


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    # Not below pytest's directory: the path of a socket may have no more than 107 characters.
    with tempfile.TemporaryDirectory(prefix="slurm") as home, slurm(Path(home) / "s") as found:
        yield {**found, "PYTHONPATH": THIS_TREE}


def featlab(*arguments: str, environment: dict[str, str], directory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "featlab", "study", *arguments]
    return subprocess.run(command, env=environment, cwd=directory, capture_output=True, text=True, timeout=120)


def status(environment: dict[str, str], directory: Path) -> dict[str, Any]:
    """In this process, for it is asked again and again."""
    asked = ["study", "status", str(directory / "sweep.toml"), "--json"]
    return json.loads(CliRunner().invoke(app, asked, env=environment).stdout)


def wait_for(condition: Any, environment: dict[str, str], directory: Path) -> dict[str, Any]:
    deadline = time.monotonic() + 90
    while not condition(found := status(environment, directory)):
        logs = [path.read_text() for path in directory.glob("sweep.sqlite.cluster/*/logs/*")]
        assert time.monotonic() < deadline, (found, logs)
        time.sleep(0.1)
    return found


def test_an_array_is_cancelled_and_submitted_again(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sweep.toml").write_text(STUDY, encoding="utf-8")
    place = {"environment": environment, "directory": tmp_path}
    begin = time.monotonic()
    first = featlab("submit", "sweep.toml", "--engine", "slurm", "--array", "2", "--", "--time=5", **place)
    assert first.returncode == 0, first.stderr
    assert time.monotonic() - begin < 20  # it does not wait for the work
    assert "80 runs in 2 tasks" in first.stdout

    found = wait_for(lambda found: found["done"] >= 4, environment, tmp_path)
    assert 0 < found["done"] < RUNS
    (job,) = found["jobs"]
    with monkeypatch.context() as within:  # of this process, which asks the same Slurm
        for name in ("PATH", "SLURM_CONF"):
            within.setenv(name, environment[name])
        with pytest.raises(EngineFault, match=rf"job {job} of this study is in Slurm's queue \(.*then start over"):
            run(_study(), Runner(STRICT.run_point, KIND), tmp_path / "sweep.sqlite", fresh=True)
    assert not list(tmp_path.glob("*.until-*"))
    again = featlab("submit", "sweep.toml", "--array", "2", **place)
    assert again.returncode == 4
    assert f"job {job} of this study is in Slurm's queue" in again.stderr
    subprocess.run(["scancel", job], env=environment, check=True)
    wait_for(lambda found: not found["jobs"], environment, tmp_path)
    _tear_last_line(tmp_path / "sweep.sqlite.cluster" / "shards")

    collected = featlab("collect", "sweep.toml", **place)
    assert collected.returncode == 3, collected.stderr  # points are missing
    assert "1 torn lines skipped" in collected.stdout
    partly = status(environment, tmp_path)
    assert 0 < partly["done"] < RUNS
    assert partly["uncollected"] == 0

    second = featlab("submit", "sweep.toml", "--array", "3", "--json", **place)
    Draft202012Validator(schema_of("study submit")).validate(json.loads(second.stdout))
    assert json.loads(second.stdout)["runs"] == RUNS - partly["done"]
    wait_for(lambda found: found["done"] == RUNS and not found["jobs"], environment, tmp_path)
    rest = featlab("collect", "sweep.toml", "--json", **place)
    assert rest.returncode == 0, rest.stderr
    Draft202012Validator(schema_of("study collect")).validate(json.loads(rest.stdout))
    idempotent = featlab("collect", "sweep.toml", **place)
    assert idempotent.stdout.startswith("0 new of ")
    assert featlab("submit", "sweep.toml", "--array", "3", **place).stdout.startswith("Nothing is missing")

    lines = [line.record.id for line in read_shards(tmp_path / "sweep.sqlite.cluster" / "shards") if line.record]
    # Nothing ran twice; the line that was torn may have been in the store already, by the submission that was refused.
    assert len(lines) == len(set(lines))
    assert RUNS - 1 <= len(lines) <= RUNS
    runner = Runner(STRICT.run_point, KIND)
    with ThreadPoolExecutor(16) as threads:  # they sleep side by side
        run(_study(), runner, tmp_path / "plain.sqlite", engine=FromExecutor(threads, 16))
    check_same(tmp_path / "sweep.sqlite", open_study(tmp_path / "plain.sqlite"))


def test_a_path_with_spaces_and_newlines(environment: dict[str, str], tmp_path: Path) -> None:
    """A real sbatch takes it, and each task writes the log it was told to."""
    place = {"environment": environment, "directory": tmp_path / "my 100% own\nsweeps"}
    place["directory"].mkdir()
    small = STUDY.replace("sleep = 0.12", "sleep = 0").replace("repeats = 2", "repeats = 1")
    (place["directory"] / "sweep.toml").write_text(small, encoding="utf-8")
    sent = featlab("submit", "sweep.toml", "--array", "2", "--", "--time=5", **place)
    assert sent.returncode == 0, sent.stderr
    wait_for(lambda found: found["done"] == RUNS // 2 and not found["jobs"], **place)
    assert featlab("collect", "sweep.toml", **place).returncode == 0
    logs = [path.name for path in (place["directory"] / "sweep.sqlite.cluster" / "0001" / "logs").iterdir()]
    assert sorted(logs) == ["0.out", "1.out"]


def test_what_sbatch_refuses_is_said_and_leaves_nothing(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(STUDY, encoding="utf-8")
    place = {"environment": environment, "directory": tmp_path}
    done = featlab("submit", "sweep.toml", "--array", "2", "--", "--partition=nonsense", **place)
    assert done.returncode == 4
    assert "sbatch failed: sbatch: error: invalid partition specified: nonsense" in done.stderr
    assert not list((tmp_path / "sweep.sqlite.cluster").glob("0*"))


def _tear_last_line(shards: Path) -> None:
    """As if the kill had hit in the middle of a line."""
    shard = max(shards.glob("*.jsonl"), key=lambda path: path.stat().st_size)
    shard.write_bytes(shard.read_bytes()[:-30])


def _study() -> Study:
    return Study({"sleep": 0.12}, {"x": range(20), "scale": [1, 2]}, repeats=2, key=5)


# From here on without Slurm: a stand-in that only says what it was asked.
SMALL = Study(axes={"x": range(5)}, key=1)


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    asked: list[list[str]] = []

    def answer(command: str, *arguments: str) -> str:
        asked.append([command, *arguments])
        return "17;cluster\n" if command == "sbatch" else ""

    monkeypatch.setattr("featlab.study.queue.ask_slurm", answer)
    monkeypatch.setattr("featlab.study.queue.shutil.which", lambda command: f"/usr/bin/{command}")
    return asked


def find_runner(name: str) -> Runner:
    assert name == "strict"
    return STRICT


def handed_over(store: Path, **options: Any) -> Any:
    return submit(SMALL, STRICT, store, origin={"name": "strict"}, array=2, **options)


def test_tasks_share_out_the_runs(tmp_path: Path, pretended: list[list[str]]) -> None:
    store = tmp_path / "sweep.sqlite"
    sent = handed_over(store, options=["--mem=1G"])
    assert (sent.job, sent.tasks, sent.runs) == ("17", 2, 5)
    own = ["--job-name=sweep", f"--output={sent.directory}/logs/%a.out"]
    assert pretended[-1] == ["sbatch", "--parsable", *own, "--mem=1G", str(sent.directory / "array.sh")]
    assert "#SBATCH --array=0-1\n" in (sent.directory / "array.sh").read_text()
    assert work(sent.directory, 0, find_runner) == 2
    assert len(waiting_records(store)) == 2
    assert collect(store).new == 2
    assert collect(store) == collect(store)
    assert collect(store).new == 0
    again = handed_over(store)
    assert again.runs == 3
    assert [work(again.directory, task, find_runner) for task in (0, 1)] == [1, 2]
    assert work(sent.directory, 1, find_runner) == 3  # the first array was not cancelled after all: nothing doubles
    assert collect(store).new == 3
    assert handed_over(store) is None
    assert [command for command, *_ in pretended if command == "squeue"] != []
    run(SMALL, STRICT, tmp_path / "plain.sqlite")
    check_same(store, open_study(tmp_path / "plain.sqlite"))


@pytest.mark.parametrize("name", ["a sweep", "two\nlines", 'it\'s $HOME `x` "y";', "100%a", "#SBATCH --mem=1"])
def test_paths_that_a_shell_would_take_apart(name: str, tmp_path: Path, pretended: list[list[str]]) -> None:
    """The script, run by a shell, asks for the work of its own directory; sbatch is told where the logs go."""
    (tmp_path / name).mkdir()
    sent = handed_over(tmp_path / name / f"{name}.sqlite")
    script = (sent.directory / "array.sh").read_text(encoding="utf-8")
    assert [line for line in script.splitlines() if line.startswith("#SBATCH")] == ["#SBATCH --array=0-1"]
    stand_in = tmp_path / "python"
    stand_in.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
    stand_in.chmod(0o755)
    asked = script.replace(shlex.quote(sys.executable), shlex.quote(str(stand_in)))
    environment = {**os.environ, "SLURM_ARRAY_TASK_ID": "1"}
    done = subprocess.run(["sh", "-c", asked], env=environment, capture_output=True, text=True, check=True)
    expected = ["-m", "featlab", "study", "work", str(sent.directory), "--task", "1"]
    assert done.stdout.split("\0")[:-1] == expected
    label, output = pretended[-1][2:4]
    assert re.fullmatch(r"--job-name=[\w.-]+", label)
    assert output.replace("%%", "%") == f"--output={sent.directory}/logs/%a.out"


def test_a_path_that_slurm_would_misread_is_refused(tmp_path: Path, pretended: list[list[str]]) -> None:
    (tmp_path / "a\\b").mkdir()
    with pytest.raises(EngineFault, match="Slurm cannot name logs below a directory with a backslash in its name"):
        handed_over(tmp_path / "a\\b" / "sweep.sqlite")
    assert not list((tmp_path / "a\\b").glob("sweep.sqlite.cluster"))


def test_a_requeued_task_goes_on_where_it_was(tmp_path: Path, pretended: list[list[str]]) -> None:
    sent = handed_over(tmp_path / "sweep.sqlite")
    assert work(sent.directory, 1, find_runner) == 3
    (shard,) = (tmp_path / "sweep.sqlite.cluster" / "shards").iterdir()
    whole = shard.read_text()
    shard.write_text(whole[:-10])  # killed in its last line
    assert work(sent.directory, 1, find_runner) == 1
    first, second = sorted(shard.parent.iterdir())
    assert from_line(second.read_text()).id == from_line(whole.splitlines()[-1]).id
    assert first == shard


def test_another_numerics_version_is_refused(tmp_path: Path, pretended: list[list[str]]) -> None:
    sent = handed_over(tmp_path / "sweep.sqlite")
    newer = Runner(STRICT.run_point, "tiny", "2")
    with pytest.raises(EngineFault, match="numerics version 1, but this is tiny, 2; submit again"):
        work(sent.directory, 0, lambda name: newer)


def test_fresh_sets_the_shards_aside_too(tmp_path: Path, pretended: list[list[str]]) -> None:
    store = tmp_path / "sweep.sqlite"
    work(handed_over(store).directory, 0, find_runner)
    run(SMALL, STRICT, store, fresh=True)
    assert not cluster_directory(store).exists()
    (aside,) = tmp_path.glob("sweep.until-*.sqlite.cluster")
    assert len(list((aside / "shards").iterdir())) == 1


@pytest.mark.parametrize("caller", [run, submit], ids=["fresh", "submit"])
def test_what_is_in_the_queue_is_not_taken_away(caller: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tasks would write into a directory that was set aside; asked from Python as from the command line."""
    states = {"sbatch": "17\n", "squeue": "RUNNING\nPENDING\nPENDING\n"}
    monkeypatch.setattr("featlab.study.queue.ask_slurm", lambda command, *arguments: states[command])
    monkeypatch.setattr("featlab.study.queue.shutil.which", lambda command: f"/usr/bin/{command}")
    store = tmp_path / "sweep.sqlite"
    sent = handed_over(store)
    options: Any = {"fresh": True} if caller is run else {"origin": {}, "array": 1}
    with pytest.raises(EngineFault, match=r"job 17 of .* queue \(1 running, 2 pending\); wait for it or `scancel 17`"):
        caller(SMALL, STRICT, store, **options)
    assert [path.name for path in cluster_directory(store).glob("0*")] == [sent.directory.name]
    states["squeue"] = ""
    assert caller(SMALL, STRICT, store, **options) is not None


def test_a_job_is_noted_before_anyone_can_start_over(tmp_path: Path, pretended: list[list[str]]) -> None:
    """The store is locked from the look at what is missing to the note of the job."""

    def answer(command: str, *arguments: str) -> str:
        if command == "sbatch":
            with pytest.raises(StudyInUse):
                run(SMALL, STRICT, tmp_path / "sweep.sqlite", fresh=True)
            pretended.append([command])
        return "17\n"

    with pytest.MonkeyPatch.context() as within:
        within.setattr("featlab.study.queue.ask_slurm", answer)
        handed_over(tmp_path / "sweep.sqlite")
    assert pretended[-1] == ["sbatch"]


def test_nobody_else_can_write_what_tasks_run(tmp_path: Path, pretended: list[list[str]]) -> None:
    """Whatever the umask: the script of an array is run, and the directory beside the store says what it runs."""
    old = os.umask(0)
    try:
        work(handed_over(tmp_path / "sweep.sqlite").directory, 0, find_runner)
    finally:
        os.umask(old)
    made = list(tmp_path.rglob("*"))
    assert len(made) > 8
    assert [path for path in made if path.stat().st_mode & stat.S_IWOTH] == []


def test_a_job_that_cannot_be_noted_is_said(
    tmp_path: Path, pretended: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, text: str) -> None:
        if path.name == "job":
            raise OSError(28, "No space left on device")
        path.write_text(text)

    monkeypatch.setattr("featlab.study.slurm.write_text", full)
    with pytest.raises(StoreFault, match=r"job 17 runs, but that cannot be noted: No space left .* `scancel 17`"):
        handed_over(tmp_path / "sweep.sqlite")


def test_stores_of_one_stem_have_nothing_in_common(tmp_path: Path, pretended: list[list[str]]) -> None:
    names = ("a.sqlite", "a.db", "a", "a.sqlite.db")
    assert len({cluster_directory(tmp_path / name) for name in names}) == len(names)
    work(handed_over(tmp_path / "a.sqlite").directory, 0, find_runner)
    with pytest.raises(StoreFault, match="nothing to collect"):
        collect(tmp_path / "a.db")
    run(SMALL, STRICT, tmp_path / "a.db")
    run(SMALL, STRICT, tmp_path / "a.db", fresh=True)
    assert collect(tmp_path / "a.sqlite").new == 2


def test_misuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "sweep.sqlite"
    with pytest.raises(InvalidParameter, match="array: got 0"):
        submit(SMALL, STRICT, store, origin={}, array=0)
    with pytest.raises(InvalidParameter, match="no --array among them"):
        handed_over(store, options=["--array=1-5"])
    with pytest.raises(StoreFault, match="nothing to collect"):
        collect(store)
    assert jobs(store) == {}
    monkeypatch.setenv("PATH", "")
    assert shutil.which("sbatch") is None
    with pytest.raises(EngineFault, match="there is no sbatch on this machine"):
        handed_over(store)
    assert not list(cluster_directory(store).glob("0*"))
