"""The explanation on one screen: the verdict first, then exponents, staircases, costs and papers.

Only ASCII and no boxes, so that it reads the same in a terminal, a pipe and a log; colour comes from rich where there
is a terminal that wants it.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from featlab.analysis import Analysis
from featlab.analysis.sample_cost import SampleCost
from featlab.citations import Citation
from featlab.reports.demonstration import demonstration_sentences
from featlab.reports.links import Links, links_of
from featlab.reports.words import (
    CONDITIONAL,
    climbs,
    cost_groups,
    cost_name,
    exponents,
    papers_of,
    samples_text,
    setting,
    status_text,
    verdict_sentence,
)

if TYPE_CHECKING:
    from featlab.comparison import Demonstration

_STYLES = {
    "TRIVIAL": "bold green",
    "EASY": "bold yellow",
    "HARD": "bold red",
    "UNDECIDED": "bold magenta",
    "OPEN": "bold cyan",
}


def render(analysis: Analysis, dim: int | None, demonstration: Demonstration | None = None) -> Group:
    """Everything, in the order in which a reader asks for it."""
    papers = papers_of(analysis)
    number = {paper: place for place, paper in enumerate(papers, start=1)}
    links = links_of(analysis, residuals=False)
    return Group(
        _title(analysis),
        _verdict(analysis, links),
        *_notices(analysis),
        _heading("Exponents"),
        _exponents(analysis, dim, number, links),
        _heading("Staircases: the directions found, stage by stage"),
        *_staircases(analysis, links),
        *([_heading(_costs_heading(dim)), *_costs(analysis, dim, number, links)] if analysis.sample_cost else []),
        *([] if demonstration is None else _demonstration(demonstration)),
        *_exhibits(links),
        _heading("Papers (arXiv numbers)"),
        _papers(papers),
    )


def plain_text(analysis: Analysis, dim: int | None, width: int = 80, demonstration: Demonstration | None = None) -> str:
    """The same without colour and without trailing spaces, for pipes, files and `print`."""
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(render(analysis, dim, demonstration))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _costs_heading(dim: int | None) -> str:
    if dim is None:
        return "Samples needed, as powers of d"
    return f"Samples needed, and at d = {dim:,} without the unknown constant"


def _title(analysis: Analysis) -> Text:
    target = analysis.target
    return Text.assemble((target.text, "bold"), (f"   ({setting(target)})", "dim"))


def _verdict(analysis: Analysis, links: Links) -> Text:
    word, _, rest = verdict_sentence(analysis).partition(":")
    return Text.assemble((word, _STYLES[analysis.verdict]), f":{rest}", (_spaced(links.marks("verdict")), "dim"))


def _spaced(marks: str) -> str:
    return f" {marks}" if marks else ""


def _notices(analysis: Analysis) -> Iterable[Text]:
    for remark in (*analysis.target.remarks, *analysis.remarks):
        yield Text.assemble(("Note: ", "bold cyan"), remark)
    for doubt in analysis.doubts:
        yield Text.assemble(("Doubt: ", "bold magenta"), doubt)


def _heading(words: str) -> Text:
    return Text(f"\n{words}", style="bold")


def _plain_table(*columns: dict[str, object]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    for column in columns:
        table.add_column(**column)  # type: ignore[arg-type]
    return table


def _indented(table: RenderableType) -> Padding:
    return Padding(table, (0, 0, 0, 2))


def _marks(papers: Iterable[Citation], number: dict[Citation, int]) -> str:
    return "[" + ",".join(str(place) for place in sorted(number[paper] for paper in papers)) + "]"


def _exponents(analysis: Analysis, dim: int | None, number: dict[Citation, int], links: Links) -> Padding:
    table = _plain_table({"no_wrap": True}, {"justify": "right", "no_wrap": True}, {})
    for exponent in exponents(analysis, dim):
        marks = _marks(exponent.papers, number) + _spaced(links.marks(exponent.line))
        meaning = Text.assemble(exponent.meaning, " ", (marks, "dim"))
        table.add_row(Text(exponent.name), Text(exponent.value, "bold"), meaning)
    return _indented(table)


def _staircases(analysis: Analysis, links: Links) -> Iterable[RenderableType]:
    table = _plain_table({"no_wrap": True}, {"no_wrap": True}, {})
    for climb in climbs(analysis):
        for place, ((opened, directions), kind) in enumerate(zip(climb.rows, climb.kinds, strict=True)):
            words = Text.assemble(
                f"{place + 1}. " if directions else "", (opened, _STYLES[kind.upper()] if kind else "")
            )
            marks = links.marks(climb.line) if place == 0 else ""
            opens = Text.assemble(directions, " " if directions else "", (marks, "dim"))
            table.add_row(Text(climb.learner if place == 0 else ""), words, opens)
    yield _indented(table)
    if any(stage.alpha for stage in analysis.grand_staircase[1:]):
        yield Text(f"  {CONDITIONAL}", style="dim")


def _costs(analysis: Analysis, dim: int | None, number: dict[Citation, int], links: Links) -> Iterable[RenderableType]:
    """One table for each group, all with the same column widths."""
    groups = cost_groups(analysis.sample_cost)
    rows = [[_cost_row(cost, dim, number, links) for cost in group.costs] for group in groups]
    widths = [max(cell.cell_len for cell in column) for column in zip(*itertools.chain(*rows), strict=True)]
    for group, members in zip(groups, rows, strict=True):
        yield Text(f"  {group.heading}", style="cyan")
        # Marks may be many: they are the one column that goes on in the next line.
        table = _plain_table(*({"no_wrap": True, "width": width} for width in widths[:-1]), {"overflow": "fold"})
        for row in members:
            table.add_row(*row)
        yield Padding(table, (0, 0, 0, 4))


def _cost_row(cost: SampleCost, dim: int | None, number: dict[Citation, int], links: Links) -> list[Text]:
    at_dim = [] if dim is None else [Text(samples_text(cost, dim), justify="right")]
    marks = Text(_marks(cost.papers, number) + _spaced(links.marks(cost.name)), "dim")
    return [Text(cost_name(cost)), Text(cost.text, "bold"), *at_dim, Text(status_text(cost)), marks]


def _demonstration(demonstration: Demonstration) -> Iterable[RenderableType]:
    yield _heading("Theory over simulation")
    for sentence in demonstration_sentences(demonstration):
        yield _indented(Text(sentence))


def _exhibits(links: Links) -> Iterable[RenderableType]:
    """The letters used above and their exhibits, in as many columns as fit."""
    if links.letters:
        yield _heading("Exhibits that show it (featlab exhibit run ID)")
        entries = [Text(f"{{{letter}}} {id}", style="dim") for id, letter in links.letters.items()]
        yield _indented(Columns(entries, padding=(0, 2, 0, 0)))


def _papers(papers: Sequence[Citation]) -> Padding:
    """Two columns: the numbers used above, authors, year, arXiv."""
    table = _plain_table({}, {})
    half = -(-len(papers) // 2)
    entries = [_paper(place, paper) for place, paper in enumerate(papers, start=1)] + [Text("")]
    for row in range(half):
        table.add_row(entries[row], entries[min(row + half, len(papers))])
    return Padding(table, (0, 0, 0, 2))


def _paper(place: int, paper: Citation) -> Text:
    first, _, others = paper.authors.partition(",")
    authors = f"{first} et al." if others else first
    return Text(f"[{place}] {authors} {paper.year}" + (f" {paper.arxiv}" if paper.arxiv else ""), style="dim")
