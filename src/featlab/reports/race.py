"""A race on a screen: who gets there first, and what became of the others."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from featlab.racing.crossing import Crossing
from featlab.racing.result import Race, Standing
from featlab.reports.plain import plain_text

_WIDTH = 100
_HEADING = "Who gets there first: n/d from which on more than half of {what} is found (squared cosine above 1/2)"


def race_text(race: Race) -> Group:
    """The table, then a remark for each entrant that has one."""
    return Group(*_parts(race))


def race_words(race: Race) -> str:
    """The same as plain text."""
    return plain_text(race_text(race), _WIDTH)


def _parts(race: Race) -> Iterator[RenderableType]:
    headers, rows = race_cells(race)
    yield Text(race_title(race), style="bold")
    yield Text(f"\n{race_heading(race)}", style="bold")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for place, header in enumerate(headers):
        table.add_column(header, justify="left" if place == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    yield table
    for remark in race_remarks(race):
        yield Text(remark, style="dim")


def race_title(race: Race) -> str:
    """What was run."""
    course = race.course
    noise = f", label noise {course.analysis.target.noise:g}" if course.analysis.target.noise else ""
    return f"{course.analysis.target.text}{noise}: d = {course.dim:,}, {course.seeds} seeds at each n"


def race_heading(race: Race) -> str:
    """What the table tells."""
    return _HEADING.format(what="the direction" if race.course.analysis.target.rank == 1 else "every direction")


def race_cells(race: Race) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The header of the table, and a row for each entrant."""
    several = race.course.analysis.target.rank > 1
    headers = (
        "entrant",
        *(["first direction"] if several else []),
        "n/d",
        f"n at d = {race.course.dim:,}",
        "theory n/d",
    )
    rows = []
    for one in race.standings:
        first = [_arrival(one.arrival(every=False))] if several else []
        every, theory = one.arrival(), one.arrival(theory=True)
        samples = "" if every is None else every.samples(race.course.dim)
        rows.append((one.entrant.label, *first, _arrival(every), samples, _arrival(theory), _end(one)))
    return (*headers, "at the end"), rows


def _arrival(at: Crossing | None) -> str:
    return "-" if at is None else at.text


def _end(one: Standing) -> str:
    if one.measured is None:
        return "-"
    return f"{'share' if one.entrant.finds_directions else 'risk'} {one.measured.best:.2f}"


def race_remarks(race: Race) -> list[str]:
    """Of the critical ratio, of entrants that did not run or have no theory, and of how to go on."""
    course, said = race.course, []
    largest = max((stage.alpha or 0.0 for stage in course.analysis.grand_staircase), default=0.0)
    if largest:
        said.append(f"Bayes-AMP finds something of every direction from n/d = {largest:.4g} on, as d -> infinity.")
    said.append(
        "In brackets: between which neighbouring n the mean crosses, in 95% of bootstrap samples of the seeds. At the "
        "end: mean share of the directions' span, or risk over Var y, at the largest n."
    )
    said += _reasons(race)
    if race.store:
        said.append(f"Runs are kept in {race.store}: the same race with that store goes on where it was.")
    return said


def _reasons(race: Race) -> list[str]:
    """Why something is missing: each reason once, behind those whom it keeps away."""
    whose: dict[str, dict[str, list[str]]] = {}
    for one in race.standings:
        for kind, reason in (("simulation", one.measured_reason), ("theory", one.predicted_reason)):
            if reason:
                whose.setdefault(reason, {}).setdefault(one.entrant.label, []).append(kind)
    said = []
    for reason, names in whose.items():
        missing = "; ".join(f"{name}, {' and '.join(kinds)}" for name, kinds in names.items())
        said.append(f"{missing}: {reason}.")
    return said
