"""The gallery's first page: every claim as a card with a small picture, and filters by verdict, document and topic.

Filters are radio buttons and rules of the style sheet: the page has no script. A choice has a number for its name, so
that nothing a package calls its document gets into a rule.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PIL import Image

from featlab.exhibits.protocol import TOPICS
from featlab.exhibits.report import UnreadableReport
from featlab.exhibits.verdict import ClaimVerdict
from featlab.reports.exhibits import ReportedExhibit, by_document, verdict_counts
from featlab.reports.templating import fill

THUMB_WIDTH, THUMB_HEIGHT = 400, 300
_MOST_PIXELS = 50_000_000
_WIDEST = 1.56  # width over height of what is shown whole: a single panel is 6.2 by 4 inches
# Width over height of a figure of several panels, and its columns and rows (`featlab.figures.panels`): three in a row
# at most, each 1.15 times as wide as high. None of them is that of a single panel.
_GRIDS = {1.15 * columns / rows: (columns, rows) for columns, rows in ((2, 1), *((3, rows) for rows in range(1, 7)))}


@dataclass(frozen=True)
class Choice:
    """One choice of a filter: a name for the style sheet, words, how many exhibits it has, a class for its colour."""

    name: str
    words: str
    count: int
    look: str = ""


def index_page(
    entries: Sequence[ReportedExhibit], thumbnails: Mapping[str, str], signs: Mapping[ClaimVerdict | None, str]
) -> str:
    """The page.

    Args:
        thumbnails: id -> address of its small picture.
        signs: of the verdicts.
    """
    return fill(
        "gallery_overview.html",
        title="featlab gallery",
        filters=_filters(entries, signs),
        classes={entry.exhibit.id: " ".join(_classes(entry, entries)) for entry in entries},
        documents=by_document(entries),
        total=len(entries),
        thumbnails=thumbnails,
        thumb_width=THUMB_WIDTH,
        thumb_height=THUMB_HEIGHT,
        signs=signs,
    )


def thumbnail(content: bytes, words: str) -> bytes:
    """A PNG of the size of a thumbnail: its first panel, white around it; of what is wider than that the left part.

    Args:
        words: what a message calls the picture.

    Raises:
        UnreadableReport: if it cannot be drawn, or is far larger than any figure.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # its size is checked here
            picture = Image.open(io.BytesIO(content), formats=["PNG"])
        if picture.width * picture.height > _MOST_PIXELS:
            raise ValueError(f"{picture.width} x {picture.height} pixels, expected at most {_MOST_PIXELS:,}")
        drawn = picture.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as fault:
        raise UnreadableReport(f"{words}: not a picture to show: {fault}; run the exhibit again") from fault
    shown = _first_panel(drawn)
    scale = min(THUMB_WIDTH / shown.width, THUMB_HEIGHT / shown.height)
    wide, high = (max(1, round(scale * length)) for length in shown.size)
    small = Image.new("RGB", (THUMB_WIDTH, THUMB_HEIGHT), "white")
    place = (THUMB_WIDTH - wide) // 2, (THUMB_HEIGHT - high) // 2
    small.paste(shown.resize((wide, high), Image.Resampling.LANCZOS), place)
    buffer = io.BytesIO()
    small.save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()


def _first_panel(picture: Image.Image) -> Image.Image:
    """The upper left of several panels; a picture of other proportions whole, or its left part if it is wide."""
    width, height = picture.size
    for ratio, (columns, rows) in _GRIDS.items():
        if abs(width / height / ratio - 1) < 0.01:
            return picture.crop((0, 0, width // columns, height // rows))
    return picture.crop((0, 0, min(width, math.ceil(_WIDEST * height)), height))


def _filters(entries: Sequence[ReportedExhibit], signs: Mapping[ClaimVerdict | None, str]) -> dict[str, list[Choice]]:
    """Of each filter the choices that some exhibit has; all verdicts: that none was contradicted is worth saying."""
    verdicts = [
        Choice(f"v{place}", f"{signs[verdict]} {verdict}", count, verdict.name.lower())
        for place, (verdict, count) in enumerate(verdict_counts(entries).items())
    ]
    documents = [
        Choice(f"d{place}", document.title, len(group)) for place, (document, group) in enumerate(by_document(entries))
    ]
    topics = [
        Choice(f"t{place}", topic.replace("_", " "), sum(topic in entry.exhibit.shows for entry in entries))
        for place, topic in enumerate(TOPICS)
    ]
    return {"verdict": verdicts, "document": documents, "topic": [topic for topic in topics if topic.count]}


def _classes(entry: ReportedExhibit, entries: Sequence[ReportedExhibit]) -> list[str]:
    """The names of the choices that an exhibit belongs to."""
    documents = [document for document, _ in by_document(entries)]
    found = [f"d{documents.index(entry.exhibit.document)}"]
    if entry.report is not None:
        found.append(f"v{list(ClaimVerdict).index(entry.report.verdict)}")
    return found + [f"t{place}" for place, topic in enumerate(TOPICS) if topic in entry.exhibit.shows]
