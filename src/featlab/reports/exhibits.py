"""Exhibits in words for the terminal, and as data."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from featlab.exhibits import Exhibit, Report
from featlab.exhibits.verdict import Check, Number

_WIDTH = 80
Shown = Sequence[tuple[Exhibit, Report | None]]


def status(report: Report | None) -> str:
    """The last run in a few words."""
    return "not run" if report is None else f"{report.verdict} ({report.size})"


def list_words(found: Shown) -> str:
    """Every exhibit under its document: id, status, claim."""
    lines: list[str] = []
    for document, group in groupby(found, key=lambda entry: entry[0].document):
        lines += [document.title]
        for exhibit, report in group:
            lines.append(f"  {exhibit.id:<26} {status(report)}")
            lines += _wrapped(f"{exhibit.claim} [{sources(exhibit)}]", "      ")
        lines.append("")
    return "\n".join(lines).rstrip()


def list_record(exhibit: Exhibit, report: Report | None) -> dict[str, Any]:
    """An exhibit and its last run as data."""
    return {
        "id": exhibit.id,
        "title": exhibit.title,
        "claim": exhibit.claim,
        "document": exhibit.document.key,
        "papers": [paper.link or paper.short for paper in exhibit.sources],
        "verdict": None if report is None else str(report.verdict),
        "size": None if report is None else str(report.size),
        "made": None if report is None else report.made,
    }


def sources(exhibit: Exhibit) -> str:
    """The papers of an exhibit in short."""
    return "; ".join(paper.short for paper in exhibit.sources)


def verdict_line(exhibit: Exhibit, report: Report) -> str:
    """One line: id, verdict, size and time."""
    return f"{exhibit.id:<26} {report.verdict} ({report.size}, {report.runs} runs, {seconds_text(report.seconds)})"


def report_words(exhibit: Exhibit, report: Report, directory: str) -> str:
    """The whole report: claim, verdict, checks, numbers, remarks, where the pictures are."""
    lines = [exhibit.title, *_wrapped(exhibit.claim, "  "), "", f"{str(report.verdict).upper()} at size {report.size}"]
    for check in report.checks:
        lines += _wrapped(f"{check.outcome}: {check.statement}", "  ", "    ")
        lines += [line for note in check_notes(check) for line in _wrapped(note, "      ")]
    if report.numbers:
        lines += ["", *number_lines(report.numbers)]
    lines += [line for remark in report.remarks for line in ["", *_wrapped(remark, "  ")]]
    lines += ["", f"{report.runs} runs, {seconds_text(report.seconds)}. Pictures and report: {directory}"]
    return "\n".join(lines)


def check_notes(check: Check) -> list[str]:
    """What stands behind a check: numbers, control, correction, what it would need."""
    refused = "refused" if check.refused else "NOT refused: the test shows nothing"
    notes = [check.detail, f"Control: {check.control}; {refused}."]
    notes += [f"Correction: {check.correction}"] if check.correction else []
    return notes + ([f"Needs: {check.needs}."] if check.needs else [])


def number_lines(numbers: Sequence[Number]) -> list[str]:
    """A small table: predicted, measured with its standard error, and what the prototype measured."""
    width = min(44, max(len(number.name) for number in numbers))
    lines = [f"  {'':<{width}}  {'predicted':>10}  {'measured (s.e.)':>18}  {'prototype':>9}"]
    for number in numbers:
        name = textwrap.shorten(number.name, width, placeholder="...")
        cells = number_cells(number)
        lines.append(f"  {name:<{width}}  {cells[0]:>10}  {cells[1]:>18}  {cells[2]:>9}".rstrip())
    return lines


def number_cells(number: Number) -> tuple[str, str, str]:
    """Predicted, measured with its error, and the prototype's, as text; empty where there is none."""
    error = "" if number.error is None or number.measured is None else f" ({number.error:.2g})"
    measured = "" if number.measured is None else f"{number.measured:.4g}{error}"
    return _number(number.predicted), measured, _number(number.earlier)


def seconds_text(seconds: float) -> str:
    """A run time as a person says it."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _wrapped(text: str, indent: str, later: str | None = None) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=later or indent)
