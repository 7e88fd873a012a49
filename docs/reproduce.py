"""What the documents show of the exhibits, made from a run of all of them at paper size.

    featlab exhibit run all --size paper
    python -m docs.reproduce

copies the reports, their evidence and figures to docs/results, from which the site's gallery is made, writes the table
docs/reproduction.md from them (as `featlab exhibit table` does), and copies the pictures that README.md shows. What was
not run again stays as it is, but for remarks that are words of the claim. The tests make the table again from
docs/results and compare.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

from docs.refresh import ROOT
from featlab.exhibits import Exhibit, Report, Size, all_exhibits
from featlab.exhibits.evidence_file import evidence_path
from featlab.exhibits.report import read_report, report_path, write_report
from featlab.reports.exhibits import ReportedExhibit, reproduction

RESULTS = ROOT / "docs" / "results"
TABLE = ROOT / "docs" / "reproduction.md"
NEXT = "\nNext: [exhibits](exhibits.md), [corrections](corrections.md), [adding an exhibit](adding-an-exhibit.md).\n"
STANDING = """## By which rules

Of {kept} of {all} reports the numbers that their tests were given are kept (`evidence.json`): a test has the rules
of today judge them again, and they say the same. Checks that a claim's own file makes are in its digest; rules and
simulations that exhibits share are not: these numbers hold the rules, and the tests of the package the simulations.
{older} reports are older, and only a run would tell all that the code of today gives: {names}.

Of the rules that changed since, two are tested on the older reports as well, by the numbers that their sentences
print: the least step of an order, and where a located threshold may lie. A third is not: seeds of either sign are
now compared along the sign that is predicted for each.
"""
CHANGED = RESULTS / "changes.md"  # what changed since the table before, and why
PICTURES = {
    "weight-spike": "animation.gif",
    "amp-two-parity": "figure.png",
    "extragradient": "figure.png",
    "spiked-krr-staircase": "figure.png",
}


def table() -> str:
    """The table of the reports in docs/results, and where to go from it."""
    entries = [ReportedExhibit(exhibit, read_report(RESULTS, exhibit.id, Size.PAPER)) for exhibit in all_exhibits()]
    parts = [reproduction(entries, Size.PAPER).rstrip(), standing(), CHANGED.read_text(encoding="utf-8")]
    return "\n\n".join(parts) + NEXT


def standing() -> str:
    """How many reports the rules of today can judge without a run, and which they cannot."""
    ids = [exhibit.id for exhibit in all_exhibits()]
    older = [id for id in ids if not evidence_path(report_path(RESULTS, id, Size.PAPER)).exists()]
    return STANDING.format(kept=len(ids) - len(older), all=len(ids), older=len(older), names=", ".join(older)).rstrip()


def worded(exhibit: Exhibit, report: Report) -> Report:
    """A report with the claim's remarks of today, where they are words alone and none is made from numbers."""
    remarks = [exhibit.remarks] if isinstance(exhibit.remarks, str) else list(exhibit.remarks)
    return replace(report, remarks=remarks) if all(isinstance(remark, str) for remark in remarks) else report


def picture(id: str) -> Path:
    """Where README's picture of an exhibit is."""
    return ROOT / "docs" / "images" / f"{id}{Path(PICTURES[id]).suffix}"


def publish(results: Path) -> None:
    """Reports, figures, table and pictures from the results of a run."""
    for exhibit in all_exhibits():
        if (report := read_report(results, exhibit.id, Size.PAPER)) is not None:
            _keep(report, report_path(results, exhibit.id, Size.PAPER).parent)
        if (shown := read_report(RESULTS, exhibit.id, Size.PAPER)) is not None:
            write_report(RESULTS, worded(exhibit, shown))
    for id, name in PICTURES.items():
        if (source := report_path(results, id, Size.PAPER).parent / name).exists():
            shutil.copyfile(source, picture(id))
    TABLE.write_text(table(), encoding="utf-8")


def _keep(report: Report, source: Path) -> None:
    """A report with its evidence and its figure, of 64 colours: a third of the bytes, and nobody sees a difference."""
    from PIL import Image

    goal = report_path(RESULTS, report.exhibit, Size.PAPER).parent
    goal.mkdir(parents=True, exist_ok=True)
    name = report.pictures["png"]
    with Image.open(source / name) as figure:
        few = figure.convert("RGB").quantize(64, dither=Image.Dither.NONE)
        few.save(goal / name, optimize=True, dpi=figure.info["dpi"])
    evidence = evidence_path(source / "report.json")
    if evidence.exists():
        shutil.copyfile(evidence, goal / evidence.name)
    write_report(RESULTS, replace(report, pictures={"png": name}))


if __name__ == "__main__":
    publish(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "featlab-results")
