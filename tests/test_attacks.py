"""The attacks on what is handed over can be run, hold, and would notice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks.attack import Limits, attacks, row
from benchmarks.attack_inputs import command_lines, forge_reports

from featlab.exhibits import report


def test_forged_reports_are_refused_by_name(tmp_path: Path) -> None:
    found = forge_reports(Limits(60, 60), 1, tmp_path)
    assert not attacks()["reports"].failures(found)
    assert found["refused"] > 30
    assert "| 0 raw errors, 0 refused without a name |" in row(attacks()["reports"], found)


def test_a_reader_that_trusts_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "report_fields", lambda record, *_: {"exhibit": record["exhibit"], "size": record["x"]})
    assert attacks()["reports"].failures(forge_reports(Limits(60, 5), 1, tmp_path))["raw errors"] > 0


def test_command_lines_are_drawn_from_the_commands_themselves() -> None:
    import random

    lines = command_lines(random.Random(0))
    drawn = [next(lines) for _ in range(40)]
    assert {line[0] for line in drawn} == {"simulate", "predict", "compare", "explain"}
    assert any("--samples" in line for line in drawn)


def test_the_table_in_the_documents_is_that_of_the_campaign() -> None:
    """A row for each attack, with its words, and with every count that must be zero."""
    text = (Path(__file__).parents[1] / "docs" / "reliability.md").read_text(encoding="utf-8")
    for name, attack in attacks().items():
        never = ", ".join(f"0 {what}" for what in attack.never)
        assert re.search(rf"^\| `{name}` \| {re.escape(attack.words)} \| .* \| {re.escape(never)} \|$", text, re.M), (
            name
        )
