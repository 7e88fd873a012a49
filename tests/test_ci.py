"""In CI a test that skips itself fails; elsewhere it may; an expected failure is neither. Kept programs are whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from jax._src.lru_cache import LRUCache

from tests.conftest import _put_whole, unskipped


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


def test_a_program_is_written_whole_and_read_by_jax(tmp_path: Path) -> None:
    kept = LRUCache(str(tmp_path), max_size=-1)
    kept.put("program", b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["program-cache"]
    assert kept.get("program") == b"whole"
    assert kept.put.__func__ is _put_whole
