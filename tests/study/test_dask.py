"""A real Dask scheduler with two workers, one of which is killed with its nanny: all points, once, the same numbers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from featlab.study import Dask, EngineFault, Study, run
from featlab.study import open as open_study
from featlab.study.records import Record
from tests.processes import THIS_TREE
from tests.study.test_engines import check_same
from tests.study.tiny import STRICT

pytest.importorskip("distributed", reason='Dask is not installed; pip install "featlab[cluster]"')
GRID = Study({"sleep": 0.02}, {"x": range(30), "scale": [1, 2]}, repeats=2, key=5)


@contextmanager
def dask_process(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A `dask ...` in a process group of its own, which is killed whole."""
    command = [sys.executable, "-m", "dask", *arguments]
    environment = {**os.environ, "PYTHONPATH": THIS_TREE}
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def dask_cluster(directory: Path) -> Iterator[tuple[Path, list[subprocess.Popen[bytes]]]]:
    """A scheduler on the loopback interface and two workers with nannies; the scheduler file and the nannies."""
    file = directory / "scheduler.json"
    where = ["--scheduler-file", str(file), "--no-dashboard", "--host", "127.0.0.1"]
    with ExitStack() as stack:
        stack.enter_context(dask_process("scheduler", "--port", "0", *where))
        _wait(file.exists)
        serve = ["worker", *where, "--nthreads", "1", "--nworkers", "1", "--local-directory", str(directory)]
        yield file, [stack.enter_context(dask_process(*serve)) for _ in range(2)]


def _wait(happened: object, seconds: float = 60) -> None:
    assert callable(happened)
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "Dask did not start"
        time.sleep(0.05)


def test_a_worker_and_its_nanny_are_killed(tmp_path: Path) -> None:
    from distributed import Client

    told: list[str] = []
    with dask_cluster(tmp_path) as (file, nannies):
        with Client(scheduler_file=str(file), set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
            address = client.scheduler.address

        def kill_at_ten(records: list[Record]) -> None:
            told.extend(record.id for record in records)
            if len(told) >= 10 and nannies[0].poll() is None:
                os.killpg(nannies[0].pid, signal.SIGKILL)  # the nanny and its child
                nannies[0].wait()

        done = run(GRID, STRICT, tmp_path / "dask.sqlite", engine=Dask(address), on_acknowledged=kill_at_ten)
        assert done.complete
        assert nannies[0].poll() == -signal.SIGKILL
        # The cluster is still of use, also by its file, and what is done is not done again.
        more = Study(GRID.fixed, {"x": range(32), "scale": [1, 2]}, repeats=2, key=5)
        assert run(more, STRICT, tmp_path / "dask.sqlite", engine=Dask(str(file))).complete
    assert len(told) == len(set(told)) == GRID.size * 2
    run(GRID, STRICT, tmp_path / "dask.sqlite")
    run(GRID, STRICT, tmp_path / "plain.sqlite")
    check_same(tmp_path / "dask.sqlite", open_study(tmp_path / "plain.sqlite"))
    assert json.loads(file.read_text())["type"] == "Scheduler"


def test_a_cluster_of_ones_own(tmp_path: Path) -> None:
    study = Study(axes={"x": range(8)}, key=2)
    assert run(study, STRICT, tmp_path / "local.sqlite", engine=Dask(workers=1)).complete
    run(study, STRICT, tmp_path / "plain.sqlite")
    check_same(tmp_path / "local.sqlite", open_study(tmp_path / "plain.sqlite"))


def test_no_scheduler_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import default_client

    monkeypatch.setattr("featlab.study.engines.executor._CONNECT_SECONDS", 1)
    with pytest.raises(EngineFault, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:9'"):
        run(Study(axes={"x": [1]}), STRICT, tmp_path / "a.sqlite", engine=Dask("tcp://127.0.0.1:9"))
    with pytest.raises(EngineFault, match="no Dask scheduler answers at 'nonsense://'"):
        run(Study(axes={"x": [1]}), STRICT, tmp_path / "a.sqlite", engine=Dask("nonsense://"))
    # A client that became the process's own would break whatever asks Dask later, such as xarray's netCDF.
    with pytest.raises(ValueError, match="No client"):
        default_client()


def test_dask_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EngineFault, match=r"Dask is not installed; pip install .featlab\[cluster\]"):
        run(Study(axes={"x": [1]}), STRICT, tmp_path / "a.sqlite", engine=Dask())
