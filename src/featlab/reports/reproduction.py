"""All verdicts as one Markdown document: what docs/reproduction.md is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from featlab import __version__
from featlab.exhibits import Exhibit, Report, Size
from featlab.exhibits.verdict import Verdict
from featlab.reports.exhibits import check_notes, number_cells, seconds_text, sources

Found = Sequence[tuple[Exhibit, Report | None]]


def reproduction(found: Found, size: Size) -> str:
    """The overview table, then for each exhibit its checks and numbers."""
    reports = [report for _, report in found if report is not None]
    counts = Counter(report.verdict for report in reports)
    summary = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
    written = (
        f"Written by `featlab exhibit table --size {size}`, featlab {__version__}; not by hand. "
        f"{len(reports)} of {len(found)} exhibits were run: {summary or 'none'}.\n"
    )
    rules = (
        "Verdicts are computed from the checks below; each check has a negative control that must be refused. Time is "
        "the sum over all runs, wherever they ran.\n"
    )
    parts = [f"# Reproduction: every exhibit at size `{size}`\n", written, rules, _overview(found)]
    for document, group in groupby(found, key=lambda entry: entry[0].document):
        parts.append(f"## {document.title}\n")
        parts += [_section(exhibit, report) for exhibit, report in group]
    return "\n".join(parts)


def machine_text(report: Report) -> str:
    """What made it: devices and cores, and the versions of JAX."""
    devices = sorted({f"{machine['device']}, {machine['cores']} cores" for machine in report.machines})
    versions = sorted({str((machine["packages"] or {}).get("jax", "none")) for machine in report.machines})
    return f"{'; '.join(devices)}; JAX {', '.join(versions)}"


def _overview(found: Found) -> str:
    rows = ["| exhibit | claim | verdict | runs | time | machine |", "|---|---|---|---|---|---|"]
    for exhibit, report in found:
        cells = ("not run", "", "", "") if report is None else _cells(report)
        rows.append(f"| [{exhibit.id}](#{exhibit.id}) | {_cell(exhibit.claim)} | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def _cells(report: Report) -> tuple[str, str, str, str]:
    return f"**{report.verdict}**", str(report.runs), seconds_text(report.seconds), machine_text(report)


def _section(exhibit: Exhibit, report: Report | None) -> str:
    lines = [f"### {exhibit.id}\n", f"{exhibit.claim} ({sources(exhibit)})\n"]
    if report is None:
        return "\n".join([*lines, f"Not run; `featlab exhibit run {exhibit.id}`.\n"])
    lines.append(f"**{str(report.verdict).capitalize()}**, {report.made}; `{report.command}`.\n")
    lines += [f"- *{check.outcome}*: {check.statement}. " + " ".join(check_notes(check)) for check in report.checks]
    if report.numbers:
        lines += ["", "| number | predicted | measured (s.e.) | prototype |", "|---|---|---|---|"]
        lines += [f"| {_cell(number.name)} | {' | '.join(number_cells(number))} |" for number in report.numbers]
    lines += [f"\n{remark}" for remark in report.remarks]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """A bar would end the cell."""
    return text.replace("|", "\\|")
