"""Exhibits at quick size, run once for all tests: processes share the results, and each exhibit is one process's."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from featlab.exhibits import Report, Size, find_exhibit, pictures, run_exhibit
from featlab.exhibits.report import read_report


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the results are kept; with several test processes, one place for all of them."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "exhibits"


@pytest.fixture(scope="session")
def shown(results: Path) -> Callable[[str], Report]:
    """The report of an exhibit at quick size, remembering what has been run.

    Who comes while another process runs it waits: two would judge it and draw it twice, and what was written after a
    first look is no report yet.
    """
    locks = results.with_name("exhibits-in-work")

    def show(id: str) -> Report:
        locks.mkdir(parents=True, exist_ok=True)
        with (locks / id).open("w") as lock, pytest.MonkeyPatch.context() as patch:
            fcntl.flock(lock, fcntl.LOCK_EX)
            patch.setattr(pictures, "write_animation", _ends)
            return read_report(results, id, Size.QUICK) or run_exhibit(find_exhibit(id), Size.QUICK, results)

    return show


def _ends(frames: Iterator[Figure], directory: Path) -> dict[str, str]:
    """All frames are made; the first and the last become pixels, which takes most of the time."""
    first, *_, last = frames
    return _write_animation(iter([first, last]), directory)


_write_animation = pictures.write_animation
