"""`featlab learners [NAME]`: who can learn; of one, what it does, its papers, its options, a command that runs it."""

from __future__ import annotations

from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated, Any

import typer

from featlab.cli.errors import exit_cleanly
from featlab.cli.experiment_options import check_learner_name
from featlab.cli.showing import AsJson, examples, print_json, show
from featlab.reports.wording import flag

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

LEARNERS_EPILOG = examples("featlab learners", "featlab learners giant-steps", "featlab learners bayes-amp --json")

_ROOM_FOR_COLUMNS = 60  # of a terminal; in a narrower one a table has no room for its words


@exit_cleanly
def learners(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A learner; without it, all of them.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the learners; or tell what one does, from which papers, with which options, and how to run it."""
    from featlab.reports.learner_text import learner_record, line_of, names_of_all

    check_learner_name(name, "NAME")
    if not as_json:
        show(_all() if name is None else _one(name))
    elif name is None:
        print_json("learners", {"learners": {one: line_of(one) for one in names_of_all()}})
    else:
        print_json("learners NAME", learner_record(name))


def _all() -> Group:
    from rich.console import Group
    from rich.text import Text

    from featlab.reports.learner_text import line_of, names_of_all

    table = _table("learner", "what it does")
    for name in names_of_all():
        table.add_row(name, line_of(name))
    after = "\n`featlab learners NAME` shows papers, options and an example. Of your own: --learner module:Class."
    return Group(table, Text(after))


def _one(name: str) -> Group:
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    from featlab.experiments.typed import continued
    from featlab.reports.learner_text import clock_of, example_of, line_of, option_groups, papers_of, words_of

    parts: list[Any] = [Text.assemble((name, "bold"), f": {line_of(name)}\n")]
    if words_of(name) != line_of(name):
        parts.append(Text(f"{words_of(name)}\n"))
    parts += [Text(f"Paper: {paper.short}, {paper.title}. {paper.link or ''}".rstrip()) for paper in papers_of(name)]
    parts.append(Text(f"--samples and --times: {clock_of(name)}."))
    for heading, rows in option_groups(name).items():
        table = _table(f"{heading}'s options", "default", "meaning")
        said = [(f"{flag(row.parameter)} {row.takes}".strip(), row.default or "required", row.meaning) for row in rows]
        for cells in said:
            table.add_row(*cells)
        if get_terminal_size().columns >= _ROOM_FOR_COLUMNS:
            parts.append(Padding(table, (1, 0, 0, 0)))
        else:
            lines = [f"{option} ({default}): {meaning}" for option, default, meaning in said]
            parts.append(Text("\n".join(["", f"{heading}'s options", *lines])))
    more = "--dim, --seeds and what else all learners take: `featlab simulate --help`."
    parts.append(Text(f"\n{more}"))
    for example in example_of(name):
        parts += [Text("\nExample:"), Padding(Text(continued(example)), (0, 0, 0, 2))]
    return Group(*parts)


def _table(*columns: str) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for place, column in enumerate(columns):
        table.add_column(column, no_wrap=place == 0)
    return table
