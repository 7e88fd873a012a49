"""What all tests share: explanations take up to seconds and are computed once; in CI a skipped test is a failed one."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from functools import cache
from typing import TypeVar

import pytest

from featlab.reports import Explanation, explain


@pytest.fixture(scope="session")
def explained() -> Callable[..., Explanation]:
    """`explain`, remembering what it has explained."""
    return cache(explain)


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
