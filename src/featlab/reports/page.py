"""The explanation as a self-contained page: nothing is fetched, pictures are inline SVG, everything is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from featlab import __version__
from featlab.analysis import Analysis, Verdict
from featlab.analysis.residuals import Regime
from featlab.citations import Citation
from featlab.figures import comparison_figure, cost_figure, energy_figure, link_figure, staircase_figure, to_svg
from featlab.reports.demonstration import demonstration_sentences
from featlab.reports.links import Links, links_of
from featlab.reports.page_style import FRAGMENT_STYLE, STYLE
from featlab.reports.record import regime_status
from featlab.reports.words import (
    CONDITIONAL,
    climbs,
    cost_groups,
    cost_name,
    exponents,
    papers_of,
    samples_text,
    setting,
    stage_directions,
    stage_text,
    status_text,
    verdict_sentence,
)

if TYPE_CHECKING:
    from featlab.comparison import Demonstration

_NOTATION = (
    ("d, n", "dimension of the inputs x ~ N(0, I_d), number of samples; n/d is the sample ratio"),
    ("theta, overlap", "inputs with a spike are x ~ N(0, I_d + theta mu mu^T); the overlap of mu with a direction"),
    ("h1..hr", "components of x along the r orthonormal directions of the target, normalised under a spike"),
    ("He_k", "Hermite polynomial of degree k, probabilists' convention, leading coefficient 1"),
    ("order", "degree in the directions not yet known of the first correlation that is not zero"),
    ("AMP", "approximate message passing: the best first-order method, conjectured best among efficient ones"),
    ("O(d)", "at most a constant times d; powers of d are given without their unknown constant"),
)


@dataclass(frozen=True)
class _Exhibits:
    """The exhibits of each line as cells of a table: links into a gallery if there is one, else ids."""

    links: Links
    gallery: str | None

    def cell(self, line: str) -> str:
        return ", ".join(map(self.name, self.links.lines.get(line, ())))

    def name(self, id: str) -> str:
        if self.gallery is None:
            return f"<code>{escape(id)}</code>"
        address = f"{self.gallery.rstrip('/')}/{id}.html"
        return f'<a href="{escape(address, quote=True)}">{escape(id)}</a>'


def page(
    analysis: Analysis, dim: int | None, demonstration: Demonstration | None = None, gallery: str | None = None
) -> str:
    """A whole HTML document; `gallery` is the address of a gallery of exhibits to link to."""
    title = f"featlab: {analysis.target.text}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(_sections(analysis, dim, demonstration, _Exhibits(links_of(analysis), gallery)))
        + f"\n</main>\n<footer>Written by featlab {escape(__version__)}.</footer>\n</body>\n</html>\n"
    )


def fragment(analysis: Analysis, dim: int | None) -> str:
    """A compact display for notebooks: the verdict, the notices, the tables; no pictures."""
    parts = (_head(analysis, heading="p"), _exponents(analysis, dim), _stages(analysis), _costs(analysis, dim))
    return f'<div class="featlab"><style>{FRAGMENT_STYLE}</style>{"".join(parts)}</div>'


def _sections(
    analysis: Analysis, dim: int | None, demonstration: Demonstration | None, exhibits: _Exhibits
) -> Iterable[str]:
    yield _head(analysis, heading="h1") + _shown_by(exhibits, "verdict")
    yield _section("Exponents", _exponents(analysis, dim, exhibits))
    yield _section("The link", _link_picture(analysis))
    yield _section("Hermite energies", _energy_picture(analysis))
    yield _section("Staircases", _staircase_picture(analysis) + _stages(analysis, exhibits))
    if analysis.sample_cost:
        yield _section("What each algorithm needs", _cost_picture(analysis, dim) + _costs(analysis, dim, exhibits))
    if analysis.regimes:
        yield _section(
            "What one giant step leaves unexplained", _residuals(analysis) + _shown_by(exhibits, "residuals")
        )
    if demonstration is not None:
        yield _section("Theory over simulation", _demonstration(demonstration))
    if exhibits.links.letters:
        yield _section("Exhibits", _exhibit_list(exhibits))
    yield _section("Notation", _table("Notation", ("symbol", "meaning"), _NOTATION))
    yield _section("Papers", _papers(papers_of(analysis)))


def _section(title: str, body: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{body}\n</section>"


def _head(analysis: Analysis, heading: str) -> str:
    target = analysis.target
    word, _, rest = verdict_sentence(analysis).partition(":")
    size = escape(setting(target))
    notices = [("Note", remark) for remark in (*target.remarks, *analysis.remarks)]
    notices += [("Doubt", doubt) for doubt in analysis.doubts]
    return (
        f'<{heading} class="target"><code>{escape(target.text)}</code> <small>{size}</small></{heading}>\n'
        f'<p class="verdict {escape(word.lower())}"><strong>{escape(word)}</strong>:{escape(rest)}</p>\n'
        + "".join(
            f'<p class="notice {kind.lower()}"><strong>{kind}:</strong> {escape(text)}</p>\n' for kind, text in notices
        )
    )


def _table(caption: str, headers: Sequence[str], rows: Iterable[Sequence[str]], *, marked: bool = False) -> str:
    """A table with column headers and row headers; cells are escaped unless `marked` says they are HTML already."""
    cell = str if marked else escape
    head = "".join(f'<th scope="col">{escape(header)}</th>' for header in headers)
    body = "".join(
        f'<tr><th scope="row">{cell(row[0])}</th>' + "".join(f"<td>{cell(value)}</td>" for value in row[1:]) + "</tr>\n"
        for row in rows
    )
    return (
        f'<div class="scroll"><table><caption>{escape(caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n"
    )


def _links(papers: Iterable[Citation]) -> str:
    return ", ".join(_link(paper, _short(paper)) for paper in papers)


def _link(paper: Citation, words: str) -> str:
    return f'<a href="{escape(paper.link, quote=True)}">{escape(words)}</a>' if paper.link else escape(words)


def _short(paper: Citation) -> str:
    first, _, others = paper.authors.partition(",")
    return f"{first} et al. {paper.year}" if others else paper.short


def _exhibit_list(exhibits: _Exhibits) -> str:
    items = "".join(
        f"<li>{exhibits.name(id)}: {escape(exhibits.links.label(id).title)}</li>\n" for id in exhibits.links.letters
    )
    command = "Each runs with <code>featlab exhibit run ID</code>; <code>featlab gallery</code> shows them all."
    return f"<p>What the tables above call exhibits puts a line to the test. {command}</p>\n<ul>\n{items}</ul>"


def _shown_by(exhibits: _Exhibits, line: str) -> str:
    """A paragraph below what is no row of a table."""
    cell = exhibits.cell(line)
    return f'<p class="small">Exhibits: {cell}</p>\n' if cell else ""


def _column(exhibits: _Exhibits | None) -> tuple[str, ...]:
    return () if exhibits is None else ("exhibits",)


def _cells(exhibits: _Exhibits | None, line: str) -> tuple[str, ...]:
    return () if exhibits is None else (exhibits.cell(line),)


def _exponents(analysis: Analysis, dim: int | None, exhibits: _Exhibits | None = None) -> str:
    headers = ("exponent", "value", "meaning", "papers", *_column(exhibits))
    rows = [
        (
            f"{escape(exponent.name)} <i>{escape(exponent.symbol)}</i>",
            f"<b>{escape(exponent.value)}</b>",
            escape(exponent.meaning),
            _links(exponent.papers),
            *_cells(exhibits, exponent.line),
        )
        for exponent in exponents(analysis, dim)
    ]
    return _table("Exponents of the target", headers, rows, marked=True)


def _stages(analysis: Analysis, exhibits: _Exhibits | None = None) -> str:
    headers = ("learner", "stage", "opened by", "directions", *_column(exhibits))
    rows = [
        (*map(escape, (climb.learner, str(place), opened, directions)), *_cells(exhibits, climb.line))
        for climb in climbs(analysis)
        for place, (opened, directions) in enumerate(climb.rows, start=1)
    ]
    table = _table("Stages and the directions they open", headers, rows, marked=True)
    later = any(stage.alpha for stage in analysis.grand_staircase[1:])
    return table + (f'<p class="small">{escape(CONDITIONAL)}</p>\n' if later else "")


def _costs(analysis: Analysis, dim: int | None, exhibits: _Exhibits | None = None) -> str:
    at_dim = () if dim is None else (f"at d = {dim:,}",)
    headers = ("algorithm", "samples", *at_dim, "known as", "what it buys", "papers", *_column(exhibits))
    rows = [
        (
            escape(cost_name(cost)),
            f"<b>{escape(cost.text)}</b>",
            *(() if dim is None else (escape(samples_text(cost, dim)),)),
            escape("theorem (lower bound)" if cost.known and cost.name.endswith("bound") else status_text(cost)),
            escape(cost.meaning),
            _links(cost.papers),
            *_cells(exhibits, cost.name),
        )
        for group in cost_groups(analysis.sample_cost)
        for cost in group.costs
    ]
    return _table("Samples needed, as powers of d without their unknown constant", headers, rows, marked=True)


def _residuals(analysis: Analysis) -> str:
    """Rows: samples n ~ d^a; columns: width p ~ d^b. A conjectured number carries a question mark."""
    powers = sorted({regime.samples for regime in analysis.regimes})
    at = {(regime.samples, regime.width): regime for regime in analysis.regimes}
    headers = ("samples", "directions found", "width p = O(1)", *(f"p ~ d^{b}" for b in powers))
    rows = [
        (
            f"n ~ d^{a}",
            str(at[a, 0].known_dimension),
            *(_residual(at.get((a, b)), analysis.energies.variance) for b in (0, *powers)),
        )
        for a in powers
    ]
    caption = "Share of the variance left after one giant step and a trained readout (* conjectured)"
    return _table(caption, headers, rows)


def _residual(regime: Regime | None, variance: float) -> str:
    if regime is None:
        return ""
    return f"{100 * regime.residual / variance:.4g}%" + ("*" if regime_status(regime) == "conjecture" else "")


def _demonstration(demonstration: Demonstration) -> str:
    sentences = demonstration_sentences(demonstration)
    text = "".join(f"<p>{escape(sentence)}</p>\n" for sentence in sentences)
    if demonstration.both is None:
        return text
    both = demonstration.both
    svg = to_svg(
        comparison_figure(both.prediction, both.simulation, both.comparison), " ".join(sentences), "demonstration"
    )
    return _picture(svg, "Lines are predicted for large d, points are simulated, with two standard errors.") + text


def _papers(papers: Iterable[Citation]) -> str:
    items = "".join(
        f"<li>{escape(paper.authors)} ({paper.year}). {_link(paper, paper.title)}.</li>\n" for paper in papers
    )
    return f"<ul>\n{items}</ul>"


def _picture(svg: str, caption: str) -> str:
    return f"<figure>\n{svg}\n<figcaption>{escape(caption)}</figcaption>\n</figure>\n"


def _link_picture(analysis: Analysis) -> str:
    svg = to_svg(link_figure(analysis.target, analysis.energies), f"The link {analysis.target.text}", "link")
    captions = {
        1: "The label as a function of its direction, and its best approximations by polynomials of low degree.",
        2: "The label as a function of its two directions; nine tenths of the inputs fall inside the dotted circle.",
    }
    slices = "The label on planes of two directions, the others held at 1; the dotted circle holds nine tenths of them."
    return _picture(svg, captions.get(analysis.target.rank, slices))


def _energy_picture(analysis: Analysis) -> str:
    share = analysis.energies.per_degree[1:] / analysis.energies.variance
    numbers = ", ".join(f"degree {k}: {part:.1%}" for k, part in enumerate(share, start=1) if part >= 5e-4)
    svg = to_svg(energy_figure(analysis.energies, analysis.information_exponent), f"Shares by {numbers}", "energies")
    caption = "The share of the variance in each degree."
    if analysis.verdict is not Verdict.OPEN:
        caption += " A kernel learns one degree with each power of d."
    return _picture(svg, caption)


def _staircase_picture(analysis: Analysis) -> str:
    words = "; ".join(f"{stage_text(s, k)}: {stage_directions(s)}" for k, s in enumerate(analysis.grand_staircase))
    svg = to_svg(staircase_figure(analysis), f"Grand staircase: {words}", "staircase")
    caption = "Each block opens new directions on top of those known before"
    caption += "." if analysis.verdict is Verdict.OPEN else "; alpha is the sample ratio n/d it needs."
    return _picture(svg, caption)


def _cost_picture(analysis: Analysis, dim: int | None) -> str:
    words = ", ".join(f"{cost_name(cost)} {cost.text}" for cost in analysis.sample_cost.values())
    svg = to_svg(cost_figure(analysis.sample_cost, dim), f"Samples needed: {words}", "costs")
    return _picture(svg, "The power of d that each algorithm needs, and the lower bounds.")
