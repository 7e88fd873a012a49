"""Exhibits and their last runs: as text for the terminal, as data, and as one Markdown document."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from featlab.citations import Citation
from featlab.exhibits import Exhibit, Report, Size
from featlab.exhibits.beforehand import fixed_words, is_outdated
from featlab.exhibits.documents import Document
from featlab.exhibits.verdict import Check, ClaimVerdict, Number
from featlab.reports.templating import fill

_WIDTH = 80
_COLUMNS = ("number", "predicted", "measured (s.e.)")


@dataclass(frozen=True)
class ReportedExhibit:
    """An exhibit and its report, if it was run."""

    exhibit: Exhibit
    report: Report | None

    @property
    def status(self) -> str:
        """The last run in a few words."""
        return "not run" if self.report is None else f"{self.report.verdict} ({self.report.size})"

    @property
    def warrant(self) -> str:
        """What the verdict of the last run rests on: when its protocol was fixed, and at which look it was decided."""
        return "" if self.report is None else _warrant(self.exhibit, self.report)

    @property
    def settled(self) -> str:
        """What was settled after first looks: as the exhibit says, and whether its code changed; empty if nothing."""
        late = 0 if self.report is None else sum(fixed.runs > 0 for fixed in self.report.fixed)
        recorded = f"Its code was changed {late} times after runs were seen." if late > 1 else ""
        recorded = "Its code was changed after runs were seen." if late == 1 else recorded
        return " ".join(filter(None, (self.exhibit.settled, recorded)))

    @property
    def command(self) -> str:
        """What makes it again, or for the first time."""
        return f"featlab exhibit run {self.exhibit.id}" if self.report is None else self.report.command

    @property
    def run_time(self) -> str:
        """How long its runs took, added up."""
        return "" if self.report is None else _seconds_text(self.report.seconds)

    @property
    def papers(self) -> list[Citation]:
        return self.exhibit.sources

    @property
    def sources(self) -> str:
        """The papers in short."""
        return "; ".join(paper.short for paper in self.papers)

    def record(self) -> dict[str, Any]:
        """The exhibit and its last run as data."""
        run = self.report
        return {
            "id": self.exhibit.id,
            "title": self.exhibit.title,
            "claim": self.exhibit.claim,
            "document": self.exhibit.document.key,
            "papers": [paper.link or paper.short for paper in self.papers],
            "verdict": None if run is None else str(run.verdict),
            "size": None if run is None else str(run.size),
            "made": None if run is None else run.made,
        }


def by_document(entries: Sequence[ReportedExhibit]) -> list[tuple[Document, list[ReportedExhibit]]]:
    """The exhibits of each document, in the order in which they are given."""
    groups = groupby(entries, key=lambda entry: entry.exhibit.document)
    return [(document, list(group)) for document, group in groups]


def verdict_counts(entries: Sequence[ReportedExhibit]) -> dict[ClaimVerdict, int]:
    """How many exhibits that were run have each of the verdicts, in their order."""
    counts = Counter(entry.report.verdict for entry in entries if entry.report is not None)
    return {verdict: counts[verdict] for verdict in ClaimVerdict}


def list_text(entries: Sequence[ReportedExhibit]) -> str:
    """Every exhibit under its document: id, status, claim."""
    lines: list[str] = []
    for document, group in by_document(entries):
        lines.append(document.title)
        for entry in group:
            lines.append(f"  {entry.exhibit.id:<26} {entry.status}")
            lines += _wrapped(f"{entry.exhibit.claim} [{entry.sources}]", "      ")
        lines.append("")
    return "\n".join(lines).rstrip()


def verdict_line(exhibit: Exhibit, report: Report) -> str:
    """One line: id, verdict, size and time."""
    return f"{exhibit.id:<26} {report.verdict} ({report.size}, {report.runs} runs, {_seconds_text(report.seconds)})"


def report_text(exhibit: Exhibit, report: Report, directory: str) -> str:
    """The whole report: claim, verdict, checks, numbers, remarks, where the pictures are."""
    lines = [exhibit.title, *_wrapped(exhibit.claim, "  "), "", f"{str(report.verdict).upper()} at size {report.size}"]
    for check in report.checks:
        lines += _wrapped(f"{check.result}: {check.statement}", "  ", "    ")
        lines += [line for note in _check_notes(check) for line in _wrapped(note, "      ")]
    if report.numbers:
        lines += ["", *_number_lines(report.numbers)]
    lines += [line for remark in report.remarks for line in ["", *_wrapped(remark, "  ")]]
    if exhibit.settled:
        lines += ["", *_wrapped(f"Settled after first looks: {exhibit.settled}", "  ")]
    lines += ["", *_wrapped(_warrant(exhibit, report), "  ")]
    lines += ["", f"{report.runs} runs, {_seconds_text(report.seconds)}. Pictures and report: {directory}"]
    return "\n".join(lines)


def reproduction(entries: Sequence[ReportedExhibit], size: Size) -> str:
    """All verdicts as one Markdown document, what docs/reproduction.md is: an overview, then checks and numbers."""
    summary = ", ".join(f"{count} {verdict}" for verdict, count in verdict_counts(entries).items() if count)
    text = fill(
        "reproduction.md",
        size=size,
        entries=entries,
        run=sum(entry.report is not None for entry in entries),
        summary=summary or "none",
        documents=by_document(entries),
        **REPORT_TEXTS,
    )
    return text.rstrip() + "\n"


def _warrant(exhibit: Exhibit, report: Report) -> str:
    look, looks = report.looks
    often = f" Decided at look {look} of at most {looks}, each at 1%." if looks > 1 else ""
    outdated = is_outdated(exhibit, report.size, report.fixed)
    again = " The claim's file has changed since: run it again." if outdated else ""
    return f"{fixed_words(report.fixed)}{often}{again}"


def _check_notes(check: Check) -> list[str]:
    """What stands behind a check: numbers, control, correction, what it would need."""
    refused = "refused" if check.refused else "NOT refused: the test shows nothing"
    notes = [check.detail, f"Control: {check.control}; {refused}."]
    notes += [f"Correction: {check.correction}"] if check.correction else []
    return notes + ([f"Needs: {check.needs}."] if check.needs else [])


def _number_cells(number: Number) -> tuple[str, str]:
    """Predicted, and measured with its error, as text; empty where there is none."""
    predicted, measured = ("" if value is None else f"{value:.4g}" for value in (number.predicted, number.measured))
    error = "" if number.error is None or number.measured is None else f" ({number.error:.2g})"
    return predicted, measured + error


def _seconds_text(seconds: float) -> str:
    """A run time as a person says it."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def _machine_text(report: Report) -> str:
    """What made it: devices and cores, and the versions of JAX."""
    devices = sorted({f"{machine['device']}, {machine['cores']} cores" for machine in report.machines})
    versions = sorted({str((machine["packages"] or {}).get("jax", "none")) for machine in report.machines})
    return f"{'; '.join(devices)}; JAX {', '.join(versions)}"


def _number_lines(numbers: Sequence[Number]) -> list[str]:
    """A small table: predicted, and measured with its standard error."""
    width = min(44, max(len(number.name) for number in numbers))
    rows = [(textwrap.shorten(number.name, width, placeholder="..."), *_number_cells(number)) for number in numbers]
    aligned = (f"  {row[0]:<{width}}  {row[1]:>10}  {row[2]:>18}" for row in [("", *_COLUMNS[1:]), *rows])
    return [line.rstrip() for line in aligned]


def _wrapped(text: str, indent: str, later: str | None = None) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=later or indent)


# What the templates of a report call.
REPORT_TEXTS: dict[str, Any] = {
    "columns": _COLUMNS,
    "check_notes": _check_notes,
    "number_cells": _number_cells,
    "seconds_text": _seconds_text,
    "machine_text": _machine_text,
}
