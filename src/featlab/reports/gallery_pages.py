"""The pages of the gallery as text: escaped, pictures with alternative text, nothing from outside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from featlab import __version__
from featlab.exhibits import Exhibit, Report
from featlab.exhibits.documents import Document
from featlab.exhibits.verdict import Check, Outcome, Verdict
from featlab.reports.exhibits import check_notes, number_cells, seconds_text, status
from featlab.reports.gallery_style import GALLERY_STYLE
from featlab.reports.page_style import STYLE
from featlab.reports.reproduction import machine_text

_CLASSES = {
    Verdict.REPRODUCED: "reproduced",
    Verdict.CORRECTED: "corrected",
    Verdict.NOT_AT_THIS_SIZE: "open",
    Verdict.CONTRADICTED: "contradicted",
}
# A sign beside the colour, for readers who do not see it.
_SIGNS = {"reproduced": "✓", "corrected": "✎", "open": "…", "contradicted": "✗", "unknown": "–"}
_OUTCOME_SIGNS = {Outcome.HOLDS: "✓", Outcome.FAILS: "✗", Outcome.CONVERGES: "→", Outcome.CANNOT_TELL: "?"}


@dataclass(frozen=True)
class Entry:
    """An exhibit and its report, if it was run."""

    exhibit: Exhibit
    report: Report | None

    @property
    def address(self) -> str:
        return f"{self.exhibit.id}.html"


def overview_page(entries: Sequence[Entry]) -> str:
    """Every claim with its verdict, and how many there are of each."""
    counts = Counter(entry.report.verdict for entry in entries if entry.report is not None)
    summary = "".join(
        f'<li class="{_CLASSES[verdict]}"><b>{counts[verdict]}</b> {_SIGNS[_CLASSES[verdict]]} {escape(verdict)}</li>\n'
        for verdict in Verdict
    )
    documents = "".join(
        f'<h2><a href="document-{document.key}.html">{escape(document.title)}</a></h2>\n'
        f"<p>{escape(document.about)}</p>\n" + _claims(list(own))
        for document, own in groupby(entries, key=lambda entry: entry.exhibit.document)
    )
    body = (
        "<h1>Which claims about feature learning hold</h1>\n"
        "<p>Each claim was put to the test: theory as lines over an exact simulation as points. Verdicts are computed "
        "from checks, each with a negative control that it must refuse.</p>\n"
        f'<ul class="counts">\n{summary}</ul>\n{documents}'
    )
    return _page("featlab gallery", body, top=False)


def document_page(document: Document, entries: Sequence[Entry]) -> str:
    """The claims of one document, each with its picture."""
    cards = "".join(
        f'<article><h2><a href="{entry.address}">{escape(entry.exhibit.title)}</a></h2>\n{_badge(entry.report)}'
        f"<p>{escape(entry.exhibit.claim)}</p>\n{_thumbnail(entry)}</article>\n"
        for entry in entries
    )
    body = f"<h1>{escape(document.title)}</h1>\n<p>{escape(document.about)}</p>\n{cards}"
    return _page(document.title, body)


def exhibit_page(entry: Entry, pictures: Mapping[str, str], *, wide: bool) -> str:
    """One exhibit: claim, verdict, picture, checks, numbers, protocol, citation, provenance.

    Args:
        pictures: kind -> address.
        wide: whether the figure has panels side by side; on a phone it can then be pushed sideways.
    """
    exhibit, report = entry.exhibit, entry.report
    document = exhibit.document
    head = (
        f'<p class="small"><a href="document-{document.key}.html">{escape(document.title)}</a></p>\n'
        f'<h1>{escape(exhibit.title)}</h1>\n{_badge(report)}<p class="claim">{escape(exhibit.claim)}</p>\n'
    )
    if report is None:
        run = f"<p>It was not run yet: <code>featlab exhibit run {escape(exhibit.id)}</code></p>\n"
        return _page(
            exhibit.title, head + run + _section("Protocol", f"<p>{escape(exhibit.protocol)}</p>") + _papers(entry)
        )
    parts = [
        head,
        _figure(entry, pictures, "wide" if wide else "single"),
        _section("Checks", _checks(report.checks)),
        _numbers(report),
    ]
    parts += [f"<p>{escape(remark)}</p>\n" for remark in report.remarks]
    parts += [_section("Protocol", f"<p>{escape(exhibit.protocol)}</p>"), _papers(entry), _provenance(report)]
    return _page(exhibit.title, "".join(parts))


def _page(title: str, body: str, *, top: bool = True) -> str:
    back = '<nav><a href="index.html">All claims</a></nav>\n' if top else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}{GALLERY_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"{back}{body}</main>\n<footer>Written by featlab {escape(__version__)}.</footer>\n</body>\n</html>\n"
    )


def _section(title: str, body: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{body}\n</section>\n"


def _badge(report: Report | None) -> str:
    name = "unknown" if report is None else _CLASSES[report.verdict]
    return f'<p class="badge {name}"><span aria-hidden="true">{_SIGNS[name]}</span> {escape(status(report))}</p>\n'


def _claims(entries: Sequence[Entry]) -> str:
    rows = "".join(
        f'<tr><th scope="row"><a href="{entry.address}">{escape(entry.exhibit.title)}</a><br>'
        f"<small>{escape(entry.exhibit.claim)}</small></th><td>{_badge(entry.report)}</td></tr>\n"
        for entry in entries
    )
    head = '<thead><tr><th scope="col">claim</th><th scope="col">verdict</th></tr></thead>'
    return f'<table class="claims">{head}<tbody>\n{rows}</tbody></table>\n'


def _words(entry: Entry) -> str:
    """The picture in words, for those who do not see it."""
    verdict = "" if entry.report is None else f" Verdict: {entry.report.verdict}."
    return escape(f"{entry.exhibit.title}. {entry.exhibit.caption}{verdict}", quote=True)


def _thumbnail(entry: Entry) -> str:
    if entry.report is None:
        return ""
    address = f"pictures/{entry.exhibit.id}.svg"
    return f'<a href="{entry.address}"><img src="{address}" alt="{_words(entry)}" loading="lazy"></a>\n'


def _figure(entry: Entry, pictures: Mapping[str, str], shape: str) -> str:
    caption = escape(entry.exhibit.caption)
    others = f'<a href="{pictures["svg"]}">SVG</a>, <a href="{pictures["png"]}">PNG</a>'
    still = (
        f'<figure>\n<div class="{shape}"><img src="{pictures["svg"]}" alt="{_words(entry)}"></div>\n'
        f"<figcaption>{caption} {others}</figcaption>\n</figure>\n"
    )
    if "gif" not in pictures:
        return still
    title = escape(f"{entry.exhibit.title}, moving. {entry.exhibit.caption}", quote=True)
    return still + (
        '<figure>\n<picture><source media="(prefers-reduced-motion: reduce)" '
        f'srcset="{pictures["still"]}"><img src="{pictures["gif"]}" alt="{title}"></picture>\n'
        "<figcaption>The same, moving; it rests where your system asks for reduced motion.</figcaption>\n</figure>\n"
    )


def _checks(checks: Sequence[Check]) -> str:
    items = []
    for check in checks:
        notes = "".join(f"<br><small>{escape(note)}</small>" for note in check_notes(check))
        sign = _OUTCOME_SIGNS[check.outcome]
        items.append(f"<li><b>{sign} {escape(check.outcome)}</b>: {escape(check.statement)}.{notes}</li>\n")
    return f'<ul class="checks">\n{"".join(items)}</ul>'


def _numbers(report: Report) -> str:
    if not report.numbers:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{escape(number.name)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in number_cells(number))
        + "</tr>\n"
        for number in report.numbers
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("number", "predicted", "measured (s.e.)", "prototype"))
    table = f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>'
    return _section("Numbers", table)


def _papers(entry: Entry) -> str:
    items = "".join(
        f"<li>{escape(paper.authors)} ({paper.year}). "
        + (
            f'<a href="{escape(paper.link, quote=True)}">{escape(paper.title)}</a>'
            if paper.link
            else escape(paper.title)
        )
        + f".<details><summary>BibTeX</summary><pre>{escape(paper.bibtex)}</pre></details></li>\n"
        for paper in entry.exhibit.sources
    )
    return _section("Papers", f"<ul>\n{items}</ul>")


def _provenance(report: Report) -> str:
    commits = sorted({str(machine["git"]["commit"])[:10] for machine in report.machines if machine.get("git")})
    rows = [
        ("remake it", f"<code>{escape(report.command)}</code>"),
        ("runs", f"{report.runs}, {escape(seconds_text(report.seconds))} in all"),
        ("made", escape(report.made)),
        ("machine", escape(machine_text(report))),
    ]
    rows += [("code", f"featlab, commit {escape(', '.join(commits))}")] if commits else []
    body = "".join(f'<tr><th scope="row">{name}</th><td>{value}</td></tr>\n' for name, value in rows)
    return _section("How it was made", f'<table class="facts"><tbody>\n{body}</tbody></table>')
