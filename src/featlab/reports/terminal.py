"""The explanation on one screen: the verdict first, then exponents, staircases, costs and papers.

Only ASCII and no boxes, so that it reads the same in a terminal, a pipe and a log; colour comes from rich where there
is a terminal that wants it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from featlab.analysis import Analysis
from featlab.citations import Citation
from featlab.experiments.typed import continued
from featlab.reports.links import Links, links_of
from featlab.reports.statements import Climb, Cost, command_words, demonstration_sentences, state

if TYPE_CHECKING:
    from featlab.comparison import Demonstration

_STYLES = {
    "TRIVIAL": "bold green",
    "EASY": "bold yellow",
    "HARD": "bold red",
    "UNDECIDED": "bold magenta",
    "OPEN": "bold cyan",
    "Note": "bold cyan",
    "Doubt": "bold magenta",
}
_FIXED = {"no_wrap": True}
_WIDEST_STAGE = 34


def render(analysis: Analysis, dim: int | None, demonstration: Demonstration | None = None) -> Group:
    """Everything, in the order in which a reader asks for it."""
    shown = () if demonstration is None else demonstration_parts(demonstration)
    return Group(*_parts(analysis, dim), *shown)


def demonstration_parts(demonstration: Demonstration) -> Iterator[RenderableType]:
    """What comes after all else, for it comes later."""
    yield _heading("Theory over simulation")
    yield from (_indented(Text(sentence)) for sentence in demonstration_sentences(demonstration))
    if demonstration.command:
        yield _indented(Text(command_words(demonstration)))
        yield _indented(Text(continued(demonstration.command)), by=4)


def _parts(analysis: Analysis, dim: int | None) -> Iterator[RenderableType]:
    said = state(analysis, dim)
    marks = _Marks(links_of(analysis, residuals=False), said.papers)
    yield Text.assemble((said.target, "bold"), (f"   ({said.setting})", "dim"))
    yield Text.assemble((said.verdict, _STYLES[said.verdict]), f": {said.reason}", " ", marks.of("verdict"))
    for kind, notice in said.notices:
        yield Text.assemble((f"{kind}: ", _STYLES[kind]), notice)
    yield _heading("Exponents")
    rows = [
        (Text(one.name), Text(one.value, "bold"), Text.assemble(one.meaning, " ", marks.of(one.line, one.papers)))
        for one in said.exponents
    ]
    yield _indented(_table(rows, _FIXED, {"justify": "right", **_FIXED}, {}))
    yield _heading("Staircases: the directions found, stage by stage")
    stages = [row for climb in said.climbs for row in _stages(climb, marks)]
    # The directions need room: a long word on a stage, such as its weakness, goes on in the next line.
    how = {} if max(stage.cell_len for _, stage, _ in stages) > _WIDEST_STAGE else _FIXED
    yield _indented(_table(stages, _FIXED, how, {}))
    if said.condition:
        yield _indented(Text(said.condition, style="dim"))
    if said.costs:
        sizes = "as powers of d" if dim is None else f"and at d = {dim:,} {_constants(said.costs)}"
        yield _heading(f"Samples needed, {sizes}")
        yield from _costs(said.costs, marks)
    if marks.links.letters:
        yield _heading("Exhibits that show it (featlab exhibit run ID)")
        entries = [Text(f"{{{letter}}} {id}", style="dim") for id, letter in marks.links.letters.items()]
        yield _indented(Columns(entries, padding=(0, 2, 0, 0)))
    yield _heading("Papers (arXiv numbers)")
    yield _indented(_papers(said.papers))


@dataclass(frozen=True)
class _Marks:
    """What stands behind a line: papers by their number in the list below, exhibits by their letter."""

    links: Links
    listed: tuple[Citation, ...]

    def of(self, line: str, papers: Iterable[Citation] = ()) -> Text:
        numbers = ",".join(str(place) for place in sorted(self.listed.index(paper) + 1 for paper in papers))
        marks = (f"[{numbers}]" if numbers else "", self.links.marks(line))
        return Text(" ".join(filter(None, marks)), "dim")


def _heading(words: str) -> Text:
    return Text(f"\n{words}", style="bold")


def _indented(part: RenderableType, by: int = 2) -> Padding:
    return Padding(part, (0, 0, 0, by))


def _table(rows: Iterable[Iterable[RenderableType]], *columns: dict[str, Any]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    for column in columns:
        table.add_column(**column)
    for row in rows:
        table.add_row(*row)
    return table


def _stages(climb: Climb, marks: _Marks) -> Iterator[tuple[Text, Text, Text]]:
    """The stages of a staircase; its name and its exhibits stand beside the first."""
    for place, ((opened, directions), kind) in enumerate(zip(climb.rows, climb.kinds, strict=True)):
        number = f"{place + 1}. " if directions else ""
        stage = Text.assemble(number, (opened, _STYLES[kind.upper()] if kind else ""))
        name, shown_by = ("", "") if place else (climb.learner, marks.of(climb.line))
        yield Text(name), stage, Text.assemble(directions, " " if directions else "", shown_by)


def _constants(costs: Mapping[str, Sequence[Cost]]) -> str:
    """Whether the numbers have their constant: those with a sign of equality do."""
    known = any("=" in cost.at_dim for members in costs.values() for cost in members)
    return "without the unknown constant" + (" (=: with it)" if known else "")


def _costs(costs: Mapping[str, Sequence[Cost]], marks: _Marks) -> Iterator[RenderableType]:
    """One table for each group, all with the same column widths."""
    rows = {heading: [_cost(cost, marks) for cost in members] for heading, members in costs.items()}
    columns = zip(*itertools.chain(*rows.values()), strict=True)
    *widths, _ = (max(cell.cell_len for cell in column) for column in columns)
    for heading, members in rows.items():
        yield Text(f"  {heading}", style="cyan")
        # Marks may be many: they are the one column that goes on in the next line.
        yield _indented(_table(members, *({"width": width, **_FIXED} for width in widths), {"overflow": "fold"}), by=4)


def _cost(cost: Cost, marks: _Marks) -> list[Text]:
    at_dim = [Text(cost.at_dim, justify="right")] if cost.at_dim else []
    return [Text(cost.name), Text(cost.samples, "bold"), *at_dim, Text(cost.status), marks.of(cost.line, cost.papers)]


def _papers(papers: Sequence[Citation]) -> Table:
    """Two columns: the numbers used above, authors, year, arXiv."""
    entries = []
    for place, paper in enumerate(papers, start=1):
        first, _, others = paper.authors.partition(",")
        words = (f"[{place}] {first} et al." if others else f"[{place}] {first}", str(paper.year), paper.arxiv)
        entries.append(Text(" ".join(filter(None, words)), style="dim"))
    half = -(-len(papers) // 2)
    return _table(itertools.zip_longest(entries[:half], entries[half:], fillvalue=""), {}, {})
