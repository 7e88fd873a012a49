"""What the documents show of the exhibits, made from a run of all of them at paper size.

    featlab exhibit run all --size paper
    python -m docs.reproduce

copies the reports to docs/results, writes the table docs/reproduction.md from them (as `featlab exhibit table` does),
and copies the pictures that README.md shows. The tests make the table again from docs/results and compare.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from docs.refresh import ROOT
from featlab.exhibits import Size, all_exhibits
from featlab.exhibits.report import read_report, report_path
from featlab.reports.exhibits import ReportedExhibit, reproduction

RESULTS = ROOT / "docs" / "results"
TABLE = ROOT / "docs" / "reproduction.md"
NEXT = "\nNext: [exhibits](exhibits.md), [corrections](corrections.md), [adding an exhibit](adding-an-exhibit.md).\n"
PICTURES = {
    "weight-spike": "animation.gif",
    "amp-two-parity": "figure.png",
    "extragradient": "figure.png",
    "spiked-krr-staircase": "figure.png",
}


def table() -> str:
    """The table of the reports in docs/results, and where to go from it."""
    entries = [ReportedExhibit(exhibit, read_report(RESULTS, exhibit.id, Size.PAPER)) for exhibit in all_exhibits()]
    return reproduction(entries, Size.PAPER).rstrip() + "\n" + NEXT


def picture(id: str) -> Path:
    """Where README's picture of an exhibit is."""
    return ROOT / "docs" / "images" / f"{id}{Path(PICTURES[id]).suffix}"


def publish(results: Path) -> None:
    """Reports, table and pictures from the results of a run."""
    for exhibit in all_exhibits():
        source = report_path(results, exhibit.id, Size.PAPER)
        goal = report_path(RESULTS, exhibit.id, Size.PAPER)
        if source.exists():
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, goal)
    for id, name in PICTURES.items():
        shutil.copyfile(report_path(results, id, Size.PAPER).parent / name, picture(id))
    TABLE.write_text(table(), encoding="utf-8")


if __name__ == "__main__":
    publish(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "featlab-results")
