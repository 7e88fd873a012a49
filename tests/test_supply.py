"""The lock file holds what pyproject.toml asks for, and is made from what pip reports."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from benchmarks.audit import FOUND, UNCHECKED, _asked, of_code, of_packages, verdict
from benchmarks.lock import lock
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


def locked() -> dict[str, str]:
    lines = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def asked() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    texts = [*project["dependencies"], *extras["cluster"], *extras["dev"], *extras["audit"]]
    return [requirement for requirement in map(Requirement, texts) if requirement.name != "featlab"]


@pytest.mark.parametrize("requirement", asked(), ids=str)
def test_the_lock_holds_what_is_asked_for(requirement: Requirement) -> None:
    assert locked()[requirement.name] in requirement.specifier


def test_a_lock_is_made_from_a_report() -> None:
    packages = [("B_b", "2"), ("a", "1.0"), ("featlab", "0.1.0")]
    report = {
        "environment": {"python_version": "3.11", "platform_system": "Linux"},
        "install": [{"metadata": {"name": name, "version": version}} for name, version in packages],
    }
    assert lock(report).splitlines()[-2:] == ["a==1.0", "b-b==2"]


def test_what_was_not_checked_is_no_clean_bill() -> None:
    """pip-audit without its database says "No known vulnerabilities found", and its exit code is 0."""
    code = of_code({"metrics": {"a.py": {"loc": 5}, "_totals": {"loc": 5}}, "results": [], "errors": []})
    asked = {"name": "a", "version": "1.0", "vulns": []}
    left_out = {"name": "b", "skip_reason": "b could not be audited"}
    assert verdict([code, of_packages({"dependencies": [asked]})])[1] == 0
    words, ending = verdict([code, of_packages({"dependencies": [asked, left_out]})])
    assert ending == UNCHECKED
    assert "1 of 2 checked" in words
    assert "NOT CHECKED: 1" in words
    assert "b could not be audited" in words
    weak = {**asked, "vulns": [{"id": "CVE-1"}]}
    words, ending = verdict([code, of_packages({"dependencies": [weak, left_out]})])
    assert ending == FOUND
    assert "a 1.0: CVE-1" in words


def test_a_fault_in_the_code_is_found() -> None:
    fault = {"filename": "a.py", "line_number": 3, "issue_text": "eval"}
    report = {"metrics": {"a.py": {"loc": 5}}, "results": [fault], "errors": [{"filename": "b.py", "reason": "syntax"}]}
    assert of_code(report)[1:] == (1, 1)
    assert "a.py:3: eval" in of_code(report).words


def test_a_tool_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert _asked("no-such-tool") is None
    assert capsys.readouterr().err == "no-such-tool is not installed here; `make audit` installs it\n"
