"""What all tests share: explanations and compiled programs, which take seconds; in CI what is skipped has failed."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

import jax
import pytest
from jax._src.interpreters import mlir
from jax._src.lru_cache import LRUCache

from featlab import compiled
from featlab.reports import Explanation, explain

_KEPT_SECONDS = 30 * 24 * 3600.0
_MOST_GROWTH = 15 * 10**8
# JAX makes one for every program that it lowers, and in it all words of programs: a tenth of the time of a test that
# finds its programs compiled. No two threads may share one: others than the first have their own, as in JAX.
_new_context = mlir.make_ir_context
_one_context = cache(_new_context)


def _context_of_thread() -> object:
    return (_one_context if threading.current_thread() is threading.main_thread() else _new_context)()


@pytest.fixture(scope="session")
def explained() -> Callable[..., Explanation]:
    """`explain`, remembering what it has explained."""
    return cache(explain)


@pytest.fixture(scope="session", autouse=True)
def compiled_once(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A program is compiled once, for all processes of the suite and for all suites to come.

    Compiled programs lie in pytest's own cache (`.pytest_cache`); JAX names them by their text, by the versions and by
    the options of the compiler. Commands and workers that tests start keep theirs beside them, as those of users do
    (`featlab.compiled`); other processes find those of the tests, and write none.
    """
    cache: pytest.Cache | None = getattr(pytestconfig, "cache", None)
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    os.environ[compiled.VARIABLE] = str(shared / "compiled" if cache is None else cache.mkdir("compiled"))
    root = compiled._root()
    assert root is not None
    directory = root / f"{compiled._PROCESS}tests"  # to commands, the folder of the process that started them
    directory.mkdir(parents=True, exist_ok=True)
    os.utime(directory)  # in use
    LRUCache.put = _put_whole  # type: ignore[method-assign]
    mlir.make_ir_context = _context_of_thread
    jax.config.update("jax_compilation_cache_dir", str(directory))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(directory)
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "1e9"
    for program in directory.glob("*-cache"):
        with suppress(FileNotFoundError):  # the other process was faster
            if program.stat().st_mtime < time.time() - _KEPT_SECONDS:
                program.unlink()


def _put_whole(cache: LRUCache, key: str, value: bytes) -> None:
    """JAX writes in place, and a reader beside it would find half a program."""
    unfinished = Path(str(cache.path)) / f"{key}-{os.getpid()}"
    unfinished.write_bytes(value)
    unfinished.replace(unfinished.with_name(f"{key}-cache"))


def pytest_collection_finish() -> None:
    """What was imported is not searched for garbage, and what is traced less often: a tenth of the time of a test that
    traces much."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session")
def held() -> list[int]:
    """Bytes of memory that this process held whenever its programs had just been forgotten."""
    return [0]


@pytest.fixture(scope="module", autouse=True)
def compiled_for_few_files(held: list[int]) -> Iterator[None]:
    """Programs are forgotten when there are many: each takes memory maps, of which a process may have 65,530, and some
    megabytes, and three processes of tests share the memory of a laptop."""
    yield
    maps = Path("/proc/self/maps")
    if not maps.exists() or maps.read_bytes().count(b"\n") > 20_000 or _resident() > held[-1] + _MOST_GROWTH:
        jax.clear_caches()
        _one_context.cache_clear()  # it holds what is constant in any program
        held.append(_resident() if maps.exists() else 0)


def _resident() -> int:
    """Bytes of memory that this process holds now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With FEATLAB_CI set everything is installed: a test that skips itself would hide what it was to show."""
    report = yield
    return unskipped(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a whole file that skips itself."""
    report = yield
    return unskipped(report)


Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def unskipped(report: Report) -> Report:
    if os.environ.get("FEATLAB_CI") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {report.longrepr}"
    return report
