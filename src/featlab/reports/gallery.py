"""The gallery: a static site of all exhibits that were run. Everything is in its directory; it fetches nothing.

index.html            every claim with its verdict
document-<key>.html   the claims of one document
<id>.html             one exhibit
pictures/<id>.svg, .png, .gif
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from featlab.errors import FeatlabError
from featlab.exhibits import Exhibit, Report, Size, all_exhibits
from featlab.exhibits.report import read_report, report_path
from featlab.reports.gallery_pages import Entry, document_page, exhibit_page, overview_page

_MARK = ".featlab-gallery"
_WIDE = 520.0  # points; a single panel has 450


class NotAGallery(FeatlabError):
    """A directory that holds something else is not written over."""


@dataclass(frozen=True)
class Written:
    """How many exhibits a gallery shows, and how many there are."""

    shown: int
    total: int


def write_gallery(directory: Path, results: Path, size: Size | None = None) -> Written:
    """Write the site from the reports and pictures in `results`; an earlier gallery there is replaced.

    Args:
        directory: where; it must be new, empty, or hold a gallery.
        results: where `featlab exhibit run` keeps its results.
        size: show the runs of this size; for each exhibit the largest that was run unless given.
    """
    exhibits = all_exhibits()
    entries = [Entry(exhibit, _report(results, exhibit, size)) for exhibit in exhibits]
    _clear(directory)
    (directory / "pictures").mkdir(parents=True)
    (directory / _MARK).write_text("Written by `featlab gallery`, which replaces it as a whole.\n", encoding="utf-8")
    pages = {"index.html": overview_page(entries)}
    for document, own in groupby(entries, key=lambda entry: entry.exhibit.document):
        pages[f"document-{document.key}.html"] = document_page(document, list(own))
    for entry in entries:
        pictures = _copied(entry, results, directory)
        pages[f"{entry.exhibit.id}.html"] = exhibit_page(entry, pictures, wide=_is_wide(directory, pictures))
    for name, text in pages.items():
        (directory / name).write_text(text, encoding="utf-8")
    return Written(sum(entry.report is not None for entry in entries), len(entries))


def _report(results: Path, exhibit: Exhibit, size: Size | None) -> Report | None:
    """Of the size asked for, or of the largest that was run."""
    sizes = reversed(Size) if size is None else [size]
    return next((found for one in sizes if (found := read_report(results, exhibit.id, one)) is not None), None)


def _copied(entry: Entry, results: Path, directory: Path) -> dict[str, str]:
    """Copy an exhibit's pictures; kind -> address as seen from the pages."""
    if entry.report is None:
        return {}
    addresses = {}
    source = report_path(results, entry.exhibit.id, entry.report.size).parent
    for kind, name in entry.report.pictures.items():
        suffix = "-still.png" if kind == "still" else f".{kind}"
        addresses[kind] = f"pictures/{entry.exhibit.id}{suffix}"
        shutil.copyfile(source / name, directory / addresses[kind])
    return addresses


def _is_wide(directory: Path, pictures: dict[str, str]) -> bool:
    """Whether the figure is more than a single panel."""
    if "svg" not in pictures:
        return False
    frame = re.search(r'viewBox="0 0 ([\d.]+) ', (directory / pictures["svg"]).read_text(encoding="utf-8"))
    return frame is not None and float(frame[1]) > _WIDE


def _clear(directory: Path) -> None:
    if not directory.exists():
        return
    if not directory.is_dir() or (any(directory.iterdir()) and not (directory / _MARK).exists()):
        raise NotAGallery(f"{directory}: holds something that is no gallery; give a new or an empty directory")
    shutil.rmtree(directory)
