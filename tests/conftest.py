"""What all tests share: explanations and compiled programs, which take seconds; in CI what is skipped has failed."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from functools import cache
from typing import TypeVar

import jax
import pytest

from featlab.reports import Explanation, explain


@pytest.fixture(scope="session")
def explained() -> Callable[..., Explanation]:
    """`explain`, remembering what it has explained."""
    return cache(explain)


@pytest.fixture(scope="session", autouse=True)
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two runs that differ in a step size, say, start and look by the same program: it is compiled for the first only.

    The directory is this process's own, for JAX does not lock it.
    """
    jax.config.update("jax_compilation_cache_dir", str(tmp_path_factory.mktemp("compiled")))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


@pytest.fixture(scope="module", autouse=True)
def compiled_for_one_file() -> Iterator[None]:
    """Programs are forgotten after each file: each takes memory maps, of which a process may have 65,530."""
    yield
    jax.clear_caches()


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
