"""The gallery: a static site of all exhibits that were run. Everything is in its directory; it fetches nothing.

index.html            every claim with its verdict, to choose from by verdict, document and topic
document-<key>.html   the claims of one document
<id>.html             one exhibit
pictures/<id>.svg, .png, .gif, and -small.png for the first page
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from featlab.errors import FeatlabError, Unwritable
from featlab.exhibits import Exhibit, Report, Size, all_exhibits
from featlab.exhibits.report import read_report, report_path
from featlab.exhibits.verdict import CheckResult, ClaimVerdict
from featlab.files import fault_words, make_directory, write_bytes, write_text
from featlab.interruption import half_written, undivided
from featlab.reports.exhibits import REPORT_TEXTS, ReportedExhibit, by_document
from featlab.reports.gallery_index import index_page, thumbnail
from featlab.reports.templating import fill
from featlab.reports.untrusted import picture

_MARK = ".featlab-gallery"
_WIDE = 520.0  # points; a single panel has 450
_DPI = 100.0  # of a picture that does not say
# Signs beside the colours, for readers who do not see them.
_SIGNS = {
    ClaimVerdict.REPRODUCED: "✓",
    ClaimVerdict.CORRECTED: "✎",
    ClaimVerdict.THROUGH_THEORY: "≈",
    ClaimVerdict.NOT_AT_THIS_SIZE: "…",
    ClaimVerdict.CONTRADICTED: "✗",
    None: "–",
}
_RESULT_SIGNS = {
    CheckResult.HOLDS: "✓",
    CheckResult.IN_THE_LIMIT: "≈",
    CheckResult.FAILS: "✗",
    CheckResult.CONVERGES: "→",
    CheckResult.CANNOT_TELL: "?",
}


class NotAGallery(FeatlabError):
    """A directory that holds something else is not written over."""


@dataclass(frozen=True)
class GalleryCounts:
    """How many exhibits a gallery shows, and how many there are."""

    shown: int
    total: int


def write_gallery(directory: Path, results: Path, size: Size | None = None) -> GalleryCounts:
    """Write the site from the reports and pictures in `results`; an earlier gallery there is replaced by it.

    The site is built beside its place and moved there when it is complete: after any failure the earlier one stands.
    Reports and pictures are read as a stranger's.

    Args:
        directory: where; it must be new, empty, or hold a gallery.
        results: where `featlab exhibit run` keeps its results.
        size: show the runs of this size; for each exhibit the largest that was run unless given.
    """
    place = Path(os.path.realpath(directory))
    entries = [ReportedExhibit(exhibit, _report(results, exhibit, size)) for exhibit in all_exhibits()]
    try:
        _check_place(directory, place)
        make_directory(place.parent)
        with _built_beside(place) as beside:
            _write_site(beside, entries, results)
    except OSError as fault:
        at = "" if fault.filename is None else f" ({fault.filename})"
        raise Unwritable(f"{directory}: the gallery cannot be written: {fault_words(fault)}{at}") from fault
    return GalleryCounts(sum(entry.report is not None for entry in entries), len(entries))


def _check_place(directory: Path, place: Path) -> None:
    if not place.exists():
        return
    if not place.is_dir() or (any(place.iterdir()) and not (place / _MARK).exists()):
        raise NotAGallery(f"{directory}: holds something that is no gallery; give a new or an empty directory")


@contextmanager
def _built_beside(place: Path) -> Iterator[Path]:
    """A new directory that takes the place of the old one when it is complete; after a failure the old one stands."""
    beside = place.with_name(f".featlab-{secrets.token_hex(8)}")
    with half_written(beside):
        make_directory(beside)
        try:
            yield beside
            with undivided():
                _take_place(beside, place)
        finally:
            shutil.rmtree(beside, ignore_errors=True)


def _take_place(beside: Path, place: Path) -> None:
    """Move the old site out of the way and the new one in; if that fails, the old one back."""
    aside = beside.with_name(f"{beside.name}-old")
    try:
        if place.exists():
            place.rename(aside)
        beside.rename(place)
    except BaseException:
        if aside.exists() and not place.exists():
            aside.rename(place)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _write_site(directory: Path, entries: Sequence[ReportedExhibit], results: Path) -> None:
    make_directory(directory / "pictures")
    write_text(directory / _MARK, "Written by `featlab gallery`, which replaces it as a whole.\n")
    pages, thumbnails, figures, wide = {}, {}, {}, set()
    for entry in entries:
        pictures = _copied(entry, results, directory)
        figures[entry.exhibit.id] = _figure(pictures)
        if _is_wide(directory, pictures):
            wide.add(entry.exhibit.id)
        pages[entry.exhibit.id] = _exhibit(entry, pictures, wide=entry.exhibit.id in wide)
        if "png" in pictures:
            thumbnails[entry.exhibit.id] = f"pictures/{entry.exhibit.id}-small.png"
            small = thumbnail((directory / pictures["png"]).read_bytes(), pictures["png"])
            write_bytes(directory / thumbnails[entry.exhibit.id], small)
    for document, own in by_document(entries):
        content = {"title": document.title, "document": document, "entries": own, "figures": figures, "wide": wide}
        pages[f"document-{document.key}"] = fill("gallery_document.html", signs=_SIGNS, **content)
    pages["index"] = index_page(entries, thumbnails, _SIGNS)
    for name, text in pages.items():
        write_text(directory / f"{name}.html", text)


def _exhibit(entry: ReportedExhibit, pictures: Mapping[str, str], *, wide: bool) -> str:
    """One exhibit: claim, verdict, picture, checks, numbers, protocol, citation, provenance.

    Args:
        pictures: kind -> address.
        wide: whether the figure has panels side by side; on a phone it can then be pushed sideways.
    """
    machines = () if entry.report is None else entry.report.machines
    return fill(
        "gallery_exhibit.html",
        title=entry.exhibit.title,
        document=entry.exhibit.document,
        entry=entry,
        pictures=pictures,
        figure=_figure(pictures),
        wide=wide,
        commits=sorted({str(machine["git"]["commit"])[:10] for machine in machines if machine.get("git")}),
        signs=_SIGNS,
        result_signs=_RESULT_SIGNS,
        **REPORT_TEXTS,
    )


def _report(results: Path, exhibit: Exhibit, size: Size | None) -> Report | None:
    """Of the size asked for, or of the largest that was run."""
    sizes = reversed(Size) if size is None else [size]
    return next((report for one in sizes if (report := read_report(results, exhibit.id, one)) is not None), None)


def _copied(entry: ReportedExhibit, results: Path, directory: Path) -> dict[str, str]:
    """Copy an exhibit's pictures; kind -> address as seen from the pages."""
    if entry.report is None:
        return {}
    addresses = {}
    source = report_path(results, entry.exhibit.id, entry.report.size).parent
    for kind, name in entry.report.pictures.items():
        suffix = "-still.png" if kind == "still" else f".{kind}"
        addresses[kind] = f"pictures/{entry.exhibit.id}{suffix}"
        write_bytes(directory / addresses[kind], picture(source / name, kind))
    return addresses


def _figure(pictures: Mapping[str, str]) -> str | None:
    """The address of the figure that a page shows, where one was kept."""
    return pictures.get("svg", pictures.get("png"))


def _is_wide(directory: Path, pictures: dict[str, str]) -> bool:
    """Whether the figure is more than a single panel."""
    if "svg" in pictures:
        frame = re.search(r'viewBox="0 0 ([\d.]+) ', (directory / pictures["svg"]).read_text(encoding="utf-8"))
        return frame is not None and float(frame[1]) > _WIDE
    if "png" not in pictures:
        return False
    from PIL import Image

    with Image.open(directory / pictures["png"]) as figure:
        inches = figure.width / figure.info.get("dpi", (_DPI,))[0]
    return 72 * inches > _WIDE
