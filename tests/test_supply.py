"""The lock file holds what pyproject.toml asks for, and is made from what pip reports."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
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
