"""Every engine gives the same numbers, each once, whoever is killed meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from featlab.errors import InvalidParameter
from featlab.study import EngineFault, FromExecutor, InProcess, Pool, Study, plan, provenance, run
from featlab.study import open as open_study
from featlab.study.engines.executor import _Bundles
from featlab.study.engines.protocol import Engine
from featlab.study.identity import runs_of
from featlab.study.records import Record
from tests.processes import THIS_TREE
from tests.study.tiny import COMPILING, CURVE, STRICT, fragile, in_a_row, run_point

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")
GRID = Study(axes={"x": range(6), "scale": [1, 2]}, repeats=2, key=5)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.sqlite"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    path = tmp_path_factory.mktemp("undisturbed") / "results.sqlite"
    run(GRID, STRICT, path)
    return open_study(path)


def check_same(path: Path, expected: xr.Dataset) -> None:
    found = open_study(path)
    xr.testing.assert_identical(found, expected)
    for name in expected.variables:
        assert found[name].values.tobytes() == expected[name].values.tobytes()


def test_the_check_would_notice_the_last_bit(path: Path, undisturbed: xr.Dataset) -> None:
    run(GRID, STRICT, path)
    other = undisturbed.copy(deep=True)
    other["y"].values[0, 0, 0] += 2.0**-1074
    with pytest.raises(AssertionError):
        check_same(path, other)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_pool_gives_the_same_numbers(workers: int, path: Path, undisturbed: xr.Dataset) -> None:
    assert run(GRID, STRICT, path, engine=Pool(workers)).complete
    check_same(path, undisturbed)


def test_any_executor_gives_the_same_numbers(path: Path, undisturbed: xr.Dataset) -> None:
    with ThreadPoolExecutor(3) as threads:
        assert run(GRID, STRICT, path, engine=FromExecutor(threads, 3)).complete
    check_same(path, undisturbed)


def test_one_study_by_several_engines(path: Path, undisturbed: xr.Dataset) -> None:
    parts = [Study(axes={"x": range(4), "scale": [1]}, repeats=2, key=5), Study(axes={"x": [5], "scale": [2]}, key=5)]
    run(parts[0], STRICT, path, engine=Pool(2))
    run(parts[1], STRICT, path)
    started: list[Any] = []
    run(GRID, STRICT, path, on_start=started.append)
    assert started[0].done == 4 * 2 + 1
    check_same(path, undisturbed)


def test_records_are_told_once_each(path: Path) -> None:
    told: list[Record] = []
    run(GRID, STRICT, path, engine=Pool(2), on_acknowledged=told.extend)
    assert sorted(record.id for record in told) == sorted(one.id for one in runs_of(GRID, STRICT))


def test_only_what_is_missing_runs(path: Path, tmp_path: Path) -> None:
    def calls() -> list[str]:
        return (tmp_path / "calls").read_text().split()

    fixed = {"marks": str(tmp_path)}
    run(Study(fixed, {"x": [1, 2, 3]}), in_a_row, path)
    run(Study(fixed, {"x": [1, 2, 3]}), in_a_row, path)
    assert calls() == ["1", "2", "3"]
    run(Study(fixed, {"x": [3, 4, 1]}), in_a_row, path)  # edited: only the new point runs
    assert calls() == ["1", "2", "3", "4"]
    assert open_study(path)["x"].values.tolist() == [3, 4, 1]
    run(Study(fixed, {"x": [1, 2, 3, 4]}), in_a_row, path)  # and what was left out is still there
    assert len(calls()) == 4
    run(Study(fixed, {"x": [1]}), in_a_row, path, fresh=True)
    assert calls()[4:] == ["1"]
    (aside,) = tmp_path.glob("results.until-*.sqlite")
    assert open_study(aside).sizes["x"] == 4


def test_a_killed_worker_is_replaced_and_only_its_run_given_out_again(path: Path, tmp_path: Path) -> None:
    study = Study({"marks": str(tmp_path)}, {"x": [0, 1, 2, 3, 4, 6, 7]})
    assert run(study, fragile, path, engine=Pool(2)).complete
    assert (tmp_path / "killed").exists()
    undisturbed = tmp_path / "undisturbed.sqlite"
    run(study, fragile, undisturbed)
    check_same(path, open_study(undisturbed))


def test_a_run_that_kills_every_worker_fails_alone(path: Path, tmp_path: Path) -> None:
    done = run(Study({"marks": str(tmp_path)}, {"x": range(8)}), fragile, path, engine=Pool(2))
    assert (done.done, done.failed) == (7, 1)
    (error,) = (entry["error"] for entry in provenance(path) if entry["error"])
    assert error == "its worker died 3 times (SIGKILL); out of memory?"


@needs_proc
def test_workers_are_killed_from_outside(path: Path, tmp_path: Path, undisturbed: xr.Dataset) -> None:
    """Each time something is acknowledged, the oldest worker is killed, four times in all."""
    killed: set[int] = set()
    runs_told: list[str] = []

    def kill_one(records: list[Record]) -> None:
        runs_told.extend(record.id for record in records)
        alive = [pid for pid in _children() if pid not in killed]
        if len(killed) < 4 and alive:
            killed.add(alive[0])
            os.kill(alive[0], signal.SIGKILL)

    slow = Study({"sleep": 0.05}, GRID.axes, repeats=2, key=5)
    assert run(slow, STRICT, path, engine=Pool(2), on_acknowledged=kill_one).complete
    assert len(killed) == 4
    assert len(set(runs_told)) == len(runs_told) == 24
    quiet = tmp_path / "quiet.sqlite"
    run(slow, STRICT, quiet)
    check_same(path, open_study(quiet))


def _children() -> list[int]:
    """The pool's workers: processes whose parent is this one and that serve runs."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            command = (status.parent / "cmdline").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == os.getpid() and "spawn_main" in command:
            found.append(int(status.parent.name))
    return sorted(found)


@needs_proc
def test_workers_die_with_their_driver(path: Path) -> None:
    """kill -9 of the driver breaks the pipes: no worker stays behind."""
    program = f"""
from featlab.study import Pool, Study, run
from tests.study.tiny import run_point
if __name__ == "__main__":
    run(Study({{"sleep": 0.05}}, {{"x": range(10**4)}}), run_point, {str(path)!r}, engine=Pool(2),
        on_acknowledged=lambda records: print(len(records), flush=True))
"""
    script = path.parent / "driver.py"
    script.write_text(program)
    environment = {**os.environ, "PYTHONPATH": THIS_TREE}
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, env=environment, text=True) as driver:
        assert driver.stdout is not None
        assert int(driver.stdout.readline()) > 0
        workers = _processes_of(driver.pid)
        assert len(workers) >= 2
        driver.kill()
    deadline = time.monotonic() + 10
    while any(map(_runs, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(_runs, workers))


def _processes_of(parent: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_worker_compiles_each_shape_once(path: Path, tmp_path: Path) -> None:
    """Six shapes, two workers: a shape is compiled by one of them, except the last ones, when both look for work."""
    study = Study({"marks": str(tmp_path)}, {"x": range(6), "shape": list("abcdef")})
    run(study, COMPILING, path, engine=Pool(2))
    compiled = (tmp_path / "compiled").read_text().splitlines()
    assert len({line.split()[0] for line in compiled}) == 2
    assert len(compiled) <= 6 + 2


def test_what_cannot_travel_is_said(path: Path) -> None:
    with pytest.raises(EngineFault, match=r"cannot be sent to another process: .*; define it in a module"):
        run(Study(), lambda point, key: [], path, engine=Pool(1))
    with pytest.raises(EngineFault, match=r"cannot be sent to another process"):
        plan(Study(), lambda point, key: [], path)


def test_a_probe_that_dies_is_said(path: Path, tmp_path: Path) -> None:
    with pytest.raises(EngineFault, match=r"the probe died \(exit code -9\); out of memory\?"):
        plan(Study({"marks": str(tmp_path)}, {"x": [1, 5]}), fragile, path)
    assert not path.exists()


def test_workers_that_cannot_begin_are_said(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(EngineFault, match=r"workers die before they can begin \(exit code 1\)"):
        run(Study(axes={"x": [1, 2]}), Unloadable(), path, engine=Pool(1))
    assert "not in this process" in capfd.readouterr().err
    assert run(Study(axes={"x": [1, 2]}), Unloadable(), path).complete


class Unloadable:
    """A runner that arrives nowhere."""

    def __call__(self, point: dict[str, Any], key: int) -> list[dict[str, Any]]:
        return [{"y": 1}]

    def __reduce__(self) -> Any:
        return (_refuse, (os.getpid(),))


def _refuse(pid: int) -> Any:
    raise RuntimeError("not in this process")


def test_a_broken_executor_is_said_and_resumed(path: Path, tmp_path: Path) -> None:
    study = Study({"marks": str(tmp_path)}, {"x": [0, 1, 2, 3, 4]})
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    with pool, pytest.raises(EngineFault, match=r"cannot work on: .*run again to resume"):
        run(study, fragile, path, engine=FromExecutor(pool, 1))
    assert run(study, fragile, path).complete
    with ThreadPoolExecutor(1) as threads:
        pass
    with pytest.raises(EngineFault, match="cannot work on: cannot schedule new futures after shutdown"):
        run(Study(axes={"x": [9]}), run_point, path, engine=FromExecutor(threads, 1))


class Forgetful(Executor):
    """Loses every bundle of several runs, and the run x = 2 always."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        bundle = args[1]
        if len(bundle) > 1 or bundle[0].point["x"] == 2:
            future.set_exception(OSError("lost on the way"))
        else:
            future.set_result(function(*args))
        return future


def test_what_an_executor_loses_is_given_out_again(path: Path) -> None:
    done = run(Study(axes={"x": range(5)}), run_point, path, engine=FromExecutor(Forgetful(), 1))
    assert (done.done, done.failed) == (4, 1)
    (error,) = (entry["error"] for entry in provenance(path) if entry["error"])
    assert error == "the executor lost it 3 times: OSError: lost on the way"


def test_bundles_last_about_a_second() -> None:
    """Fast runs travel together, slow ones alone; a bundle never mixes shapes."""
    runs = runs_of(Study(axes={"x": range(5000)}), STRICT)
    for seconds, sizes in ((1e-4, range(200, 257)), (0.1, range(5, 12)), (20, range(1, 2))):
        bundles = _Bundles([runs[:4000], runs[4000:]], workers=2)
        for _ in range(12):
            bundle = bundles.next()
            future: Future[Any] = Future()
            future.set_result([Record(one.id, "", 0, {}, "ok", "[]", None, seconds, 0, {}) for one in bundle])
            assert len(list(bundles.landed(bundle, future))) == len(bundle)
        assert len(bundles.next()) in sizes
    few = _Bundles([runs[:3], runs[3:5]], workers=1)
    few._seconds = 1e-4
    assert [len(few.next()), len(few.next())] == [3, 2]


def test_no_workers() -> None:
    with pytest.raises(InvalidParameter, match="workers: got 0"):
        Pool(0)
    with ThreadPoolExecutor(1) as threads, pytest.raises(InvalidParameter, match="workers: got 0"):
        FromExecutor(threads, 0)


@pytest.mark.parametrize("engine", [InProcess(), Pool(2)])
def test_nothing_to_do(engine: Engine, path: Path) -> None:
    run(GRID, STRICT, path)
    begin = time.monotonic()
    assert run(GRID, STRICT, path, engine=engine).complete
    assert time.monotonic() - begin < 5


def test_runs_with_several_rows(path: Path, tmp_path: Path) -> None:
    run(Study(axes={"x": [1, 2]}), CURVE, path, engine=Pool(2))
    run(Study(axes={"x": [1, 2]}), CURVE, tmp_path / "plain.sqlite")
    check_same(path, open_study(tmp_path / "plain.sqlite"))
