"""`featlab study`: what it prints, how it ends, how it is interrupted, and that nothing is lost by misuse."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from featlab.cli.app import app
from featlab.study import open as open_study
from featlab.study.store import Store
from featlab.telling import duration
from tests.processes import HEARING_CTRL_C, THIS_TREE

STUDY = """
kind = "tests.study.tiny:STRICT"
[fixed]
scale = 2
[axes]
x = [1, 2, 3]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def study(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["study", *map(str, arguments)])


def start(*arguments: str | Path) -> subprocess.Popen[str]:
    """The command as a process of its own, the first of its group."""
    command = [*HEARING_CTRL_C, sys.executable, "-m", "featlab", "study", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": THIS_TREE}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=environment, text=True, start_new_session=True, **pipes)


def test_run_and_run_again(file: Path) -> None:
    first = study("run", file)
    assert first.exit_code == 0, first.stderr
    assert first.stdout == f"3 of 3 done. Results in {file.with_suffix('.sqlite')}\n"
    assert first.stderr == ""
    before = open_study(file)
    again = study("run", file, "--json")
    assert json.loads(again.stdout) == {
        "schema": "featlab.study-run/1",
        "total": 3,
        "done": 3,
        "failed": 0,
        "missing": 0,
        "complete": True,
        "store": str(file.with_suffix(".sqlite")),
    }
    assert open_study(file).identical(before)
    assert study("run", file, "--quiet").output == ""


def test_plan_counts_and_estimates(file: Path) -> None:
    file.write_text(STUDY.replace("scale = 2", "scale = 2\nsleep = 0.5") + '"n,m" = [[1, 2]]\n[derived]\nq = "n*m"\n')
    refused = study("plan", file)
    assert refused.exit_code == 2
    assert "unknown axis 'm' of tests.study.tiny:STRICT" not in refused.stderr  # used by a formula
    assert "unknown parameter 'q'" in refused.stderr
    file.write_text(STUDY.replace("scale = 2", "sleep = 0.5\nscale = 2").replace("[fixed]", "repeats = 4\n[fixed]"))
    with Store(file.with_suffix(".sqlite")):
        pass
    made = study("plan", file, "--workers", "2")
    assert made.exit_code == 0, made.stderr
    lines = made.stdout.splitlines()
    assert lines[:3] == [
        "points     3, each run 4 times",
        "runs       0 of 12 done, 12 missing",
        "probe      sleep = 0.5, scale = 2, x = 3",
    ]
    estimate = re.fullmatch(r"time       about (\S+) seconds if .* cost the same, (\S+) seconds on 2 workers", lines[4])
    assert estimate is not None
    assert 6.0 <= float(estimate[1]) < 9  # twelve times half a second
    first, again = re.findall(r"([\d.]+) seconds", lines[3] + ", then 0 seconds")[:2]
    loading = max(0.0, float(first) - float(again))  # what every worker does: it is not shared out
    assert float(estimate[1]) / 2 - 0.01 <= float(estimate[2]) <= (float(estimate[1]) + loading) / 2 + 0.01
    memory = re.fullmatch(r"memory     (\d+) MB a worker", lines[5])
    assert memory is not None
    assert 8 < int(memory[1]) < 500
    record = json.loads(study("plan", file, "--json", "--no-probe").stdout)
    assert (record["points"], record["repeats"], record["missing"], record["probe"]) == (3, 4, 12, None)
    assert study("status", file).stdout == "0 of 12 done, 12 missing\n"  # nothing of it was stored


def test_plan_shows_what_is_done(file: Path) -> None:
    study("run", file)
    file.write_text(STUDY.replace("[1, 2, 3]", "[1, 2, 3, 4]"))
    assert "3 of 4 done, 1 missing" in study("plan", file).stdout
    study("run", file)
    assert study("plan", file).stdout == "points     4\nruns       4 of 4 done\n"


def test_what_takes_hours_is_told_before_it_starts(file: Path) -> None:
    file.write_text(STUDY.replace("STRICT", "LENGTHY"), encoding="utf-8")
    planned, quiet, ran = study("plan", file), study("plan", file, "--no-probe"), study("run", file)
    assert "featlab: the probe, which --no-probe omits, takes about 3 hours on one core, by a count" in planned.stderr
    assert quiet.stderr == ""
    assert "featlab: what is missing takes about 6 hours on one core, the longest run 3 hours" in ran.stderr
    assert "3 of 3 done" in ran.stdout
    assert study("run", file).stderr == ""  # nothing is missing


def test_plan_of_a_point_that_fails(file: Path, tmp_path: Path) -> None:
    file.write_text(f'kind = "tests.study.tiny:failing"\n[fixed]\nmarks = "{tmp_path}"\n[axes]\nx = [1, 2]\n')
    assert "failed: ValueError: two is not allowed" in study("plan", file).stdout


def test_points_that_fail_do_not_stop_the_others(file: Path, tmp_path: Path) -> None:
    file.write_text(f'kind = "tests.study.tiny:failing"\n[fixed]\nmarks = "{tmp_path}"\n[axes]\nx = [1, 2, 6]\n')
    done = study("run", file)
    assert done.exit_code == 1
    assert done.stdout.startswith("2 of 3 done, 1 failed.")
    assert "status" in done.stderr
    shown = study("status", file, "--errors")
    assert shown.exit_code == 1
    assert "x = 2  (repeat 0)\nTraceback" in shown.stdout
    assert shown.stdout.endswith("ValueError: two is not allowed\n")
    (tmp_path / "healed").touch()
    assert study("run", file).exit_code == 1
    assert study("run", file, "--retry-failed").exit_code == 0


def test_status_tells_what_is_missing(file: Path) -> None:
    missing = study("status", file)
    assert (missing.exit_code, missing.stdout) == (3, "0 of 3 done, 3 missing\n")
    study("run", file)
    record = json.loads(study("status", file, "--json").stdout)
    assert (record["done"], record["complete"], record["jobs"], record["uncollected"]) == (3, True, {}, 0)


def test_engines(file: Path, tmp_path: Path) -> None:
    study("run", file)
    other = tmp_path / "other.sqlite"
    assert study("run", file, "--engine", "pool", "--workers", "2", "--store", other).exit_code == 0
    assert open_study(other).identical(open_study(file))
    for arguments, message in (
        (["--engine", "slurm"], "Slurm runs with `featlab study submit`"),
        (["--engine", "cloud"], "expected one of in-process, pool, dask"),
        (["--scheduler", "tcp://a"], "--scheduler: only with --engine dask"),
        (["--workers", "2"], "--workers: only with --engine pool or dask"),
    ):
        refused = study("run", file, *arguments)
        assert refused.exit_code == 2
        assert message in refused.stderr
    assert "expected slurm" in study("submit", file, "--array", "2", "--engine", "dask").stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind = \n", "is no TOML"),
        (STUDY.replace("[axes]", "[axs]"), "unknown key 'axs'; did you mean 'axes'?"),
        (
            STUDY.replace("scale", "scael"),
            "unknown parameter 'scael' of tests.study.tiny:STRICT; did you mean 'scale'?",
        ),
        (STUDY + "slep = [1]\n", "unknown axis 'slep' of tests.study.tiny:STRICT; did you mean 'sleep'?"),
        ("key = 18446744073709551616" + STUDY, "key: got 18446744073709551616, expected a whole number from 0 to"),
        (STUDY.replace("[1, 2, 3]", "[]"), "axis 'x' is empty"),
        (STUDY.replace("[1, 2, 3]", "[1, 2, 1]"), "x = 1 is given twice"),
        (STUDY.replace("tests.study.tiny:STRICT", "simulat"), "kind: got 'simulat', .*; did you mean 'simulate'?"),
        (STUDY.replace("tests.study.tiny:STRICT", "no_such:f"), "there is no module 'no_such'"),
        (STUDY.replace("STRICT", "NONE"), "tests.study.tiny has no function or Runner 'NONE'"),
    ],
)
def test_bad_input_loses_nothing(text: str, message: str, file: Path) -> None:
    study("run", file)
    before = open_study(file)
    file.write_text(text, encoding="utf-8")
    for command in (["run"], ["run", "--fresh"], ["plan"], ["status"], ["submit", "--array", "2"]):
        refused = study(command[0], file, *command[1:])
        assert refused.exit_code == 2
        assert re.search(message, refused.stderr) or message in refused.stderr, refused.stderr
        assert "Traceback" not in refused.stderr
    file.write_text(STUDY, encoding="utf-8")
    assert open_study(file).identical(before)
    assert study("run", file).stdout.startswith("3 of 3 done")


def test_an_edited_study_runs_only_what_changed(file: Path, tmp_path: Path) -> None:
    study("run", file)
    file.write_text(STUDY.replace("[1, 2, 3]", "[2, 3, 4, 5]"))
    assert json.loads(study("status", file, "--json").stdout)["done"] == 2
    assert study("run", file).exit_code == 0
    assert open_study(file)["x"].values.tolist() == [2, 3, 4, 5]
    with Store(file.with_suffix(".sqlite")) as store:
        assert len(store.outcomes()) == 5
    fresh = study("run", file, "--fresh")
    assert fresh.exit_code == 0
    with Store(file.with_suffix(".sqlite")) as store:
        assert len(store.outcomes()) == 4
    (aside,) = tmp_path.glob("sweep.until-*.sqlite")
    assert fresh.stderr == f"The old results are in {aside}\n"
    with Store(aside) as store:
        assert len(store.outcomes()) == 5


def test_a_store_of_a_newer_version(file: Path) -> None:
    study("run", file)
    with sqlite3.connect(file.with_suffix(".sqlite")) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    for command in ("run", "status", "plan"):
        refused = study(command, file)
        assert refused.exit_code == 4
        assert "made by a newer version of featlab" in refused.stderr
    assert study("run", file, "--fresh").exit_code == 4


def test_interrupted_and_resumed(file: Path) -> None:
    """Ctrl-C in the terminal goes to the driver and its workers alike."""
    file.write_text(STUDY.replace("scale = 2", "sleep = 0.03").replace("[1, 2, 3]", str(list(range(300)))))
    for options in ([], ["--engine", "pool", "--workers", "2"]):
        with start("run", file, *options) as process:
            _wait_for_rows(file, json.loads(study("status", file, "--json").stdout)["done"] + 3)
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=30)
        assert process.returncode == 130
        assert out == ""
        told = re.fullmatch(
            r"featlab: interrupted; (\d+) of 300 done, \d+ missing. The same command goes on from there\n", err
        )
        assert told is not None, err
        assert int(told[1]) == json.loads(study("status", file, "--json").stdout)["done"]
        assert 3 <= int(told[1]) < 300


def test_a_second_process_is_refused_or_waits(file: Path) -> None:
    """The first is this one, which holds the store for as long as the others need to find that out."""
    with Store(file.with_suffix(".sqlite")) as held:
        with start("run", file) as refused:
            assert "another process is writing to it" in refused.communicate(timeout=60)[1]
        assert refused.returncode == 4
        with start("run", file, "--wait") as waiting:
            with pytest.raises(subprocess.TimeoutExpired):
                waiting.wait(0.5)
            assert not held.outcomes()
            held.close()
            assert waiting.communicate(timeout=60)[0].startswith("3 of 3 done")
    assert waiting.returncode == 0
    with Store(file.with_suffix(".sqlite")) as store:
        assert len(store.outcomes()) == 3


def _wait_for_rows(file: Path, count: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        shown = study("status", file, "--json")
        if shown.exit_code != 4 and json.loads(shown.stdout)["done"] >= count:
            return
        time.sleep(0.05)
    raise AssertionError("the study does not begin")


def test_a_terminal_sees_progress_and_an_estimate(file: Path) -> None:
    file.write_text(STUDY.replace("scale = 2", "sleep = 0.2").replace("[1, 2, 3]", str(list(range(12)))))
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "featlab", "study", "run", str(file)]
    environment = {**os.environ, "PYTHONPATH": THIS_TREE, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while part := _read(ours):
            shown += part
    assert process.returncode == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert re.search(r"[1-9]/12 0:00:0\d left 0:00:0[0-2]", text), text
    assert "12/12" in text


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # how a terminal says that nobody writes to it any more
        return b""


def test_export(file: Path, tmp_path: Path) -> None:
    study("run", file)
    for suffix in (".csv", ".nc", ".parquet"):
        done = study("export", file, tmp_path / f"out{suffix}")
        assert done.exit_code == 0, done.stderr
        assert (tmp_path / f"out{suffix}").stat().st_size > 0
    assert (tmp_path / "out.csv").read_text().startswith("scale,x,repeat,y,u,k\n2,1,0,")
    assert study("export", file, tmp_path / "out.doc").exit_code == 2


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.0012, "1.2 ms"), (0.5, "0.5 seconds"), (90, "90 seconds"), (600, "10 minutes"), (1e5, "27.8 hours")],
)
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_help_is_light() -> None:
    program = "import sys; from featlab.cli.app import app; import featlab.study; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"numpy", "jax", "sqlite3", "distributed"} & set(done.stdout.split())
