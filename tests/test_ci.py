"""In CI a test that skips itself fails; elsewhere it may; an expected failure is neither."""

from __future__ import annotations

import pytest

from tests.conftest import unskipped


def report(*, expected_failure: bool = False) -> pytest.TestReport:
    made = pytest.TestReport("a.py::test", ("a.py", 1, "test"), {}, "skipped", ("a.py", 1, "no Slurm"), "call")
    if expected_failure:
        made.wasxfail = "known"
    return made


def test_a_skip_is_a_failure_in_ci_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FEATLAB_CI", raising=False)
    assert unskipped(report()).skipped
    monkeypatch.setenv("FEATLAB_CI", "1")
    refused = unskipped(report())
    assert refused.failed
    assert "no Slurm" in str(refused.longrepr)
    assert unskipped(report(expected_failure=True)).skipped
