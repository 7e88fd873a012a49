"""What the study commands print: plans, progress, errors, in words and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from featlab.study.canonical import words

if TYPE_CHECKING:
    from featlab.study.drive import Progress
    from featlab.study.estimate import Plan
    from featlab.study.records import Record

_UNITS = ((86400, "days"), (3600, "hours"), (60, "minutes"), (1, "seconds"))


def plan_words(plan: Plan, workers: int) -> str:
    """Points, what is done, and what the rest will take."""
    repeated = f", each run {plan.repeats:,} times" if plan.repeats > 1 else ""
    lines = [f"points     {plan.points:,}{repeated}", f"runs       {progress_words(plan.progress)}"]
    if plan.probe is None:
        return "\n".join(lines)
    lines.append(f"probe      {words(plan.probe.point)}")
    if plan.probe.error is not None:
        return "\n".join([*lines, f"           failed: {last_line(plan.probe.error)}"])
    again = (
        f", then {duration(plan.probe.again_seconds)}" if plan.probe.again_seconds < plan.probe.first_seconds else ""
    )
    lines.append(f"           {duration(plan.probe.first_seconds)} the first time{again}")
    assert plan.seconds is not None
    share = f", {duration(plan.seconds / workers)} on {workers} workers" if workers > 1 else ""
    lines.append(f"time       about {duration(plan.seconds)} if all points cost the same{share}")
    if plan.probe.memory is not None:
        lines.append(f"memory     {plan.probe.memory / 1e6:,.0f} MB a worker")
    return "\n".join(lines)


def plan_record(plan: Plan, workers: int) -> dict[str, Any]:
    """The same as data."""
    return {
        "points": plan.points,
        "repeats": plan.repeats,
        **progress_record(plan.progress),
        "shapes": plan.shapes,
        "probe": None if plan.probe is None else asdict(plan.probe),
        "seconds": None if plan.seconds is None else plan.seconds / workers,
    }


def progress_words(progress: Progress) -> str:
    """How far it is, in one line."""
    failed = f", {progress.failed:,} failed" if progress.failed else ""
    missing = f", {progress.missing:,} missing" if progress.missing else ""
    return f"{progress.done:,} of {progress.total:,} done{failed}{missing}"


def progress_record(progress: Progress) -> dict[str, Any]:
    """The same as data."""
    return {**asdict(progress), "missing": progress.missing, "complete": progress.complete}


def errors_words(history: list[dict[str, Any]]) -> str:
    """The points that failed, with what they died of."""
    return "\n\n".join(
        f"{words(entry['point'])}  (repeat {entry['repeat']})\n{entry['error'].rstrip()}"
        for entry in history
        if entry["error"] is not None
    )


def last_line(error: str) -> str:
    """What an error says in the end."""
    return error.rstrip().rpartition("\n")[2]


def duration(seconds: float) -> str:
    """A time as a person says it."""
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.2g} seconds" if seconds >= 0.01 else f"{1000 * seconds:.2g} ms"


class Bar:
    """A progress bar with an estimate on stderr."""

    def __init__(self, bar: Any) -> None:
        self._bar, self._task, self._failed = bar, 0, 0

    def start(self, progress: Progress, name: str = "") -> None:
        """Begin with what is done already, which tells nothing about how fast it goes."""
        self._failed = progress.failed
        done = progress.done + progress.failed
        self._task = self._bar.add_task(name, total=progress.total, completed=done, failed="")

    def advance(self, records: list[Record]) -> None:
        """These are acknowledged."""
        self._failed += sum(record.error is not None for record in records)
        failed = f"{self._failed:,} failed" if self._failed else ""
        self._bar.update(self._task, advance=len(records), failed=failed)


@contextmanager
def bar(shown: bool, *, named: bool = False) -> Iterator[Bar | None]:
    """A bar if it is to be shown; for several studies, one for each with its name."""
    if not shown:
        yield None
        return
    from rich import progress as rich_progress
    from rich.console import Console

    names = (rich_progress.TextColumn("{task.description}"),) if named else ()
    columns = (
        *names,
        rich_progress.BarColumn(),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TimeElapsedColumn(),
        rich_progress.TextColumn("left"),
        rich_progress.TimeRemainingColumn(),
        rich_progress.TextColumn("[red]{task.fields[failed]}"),
    )
    with rich_progress.Progress(*columns, console=Console(stderr=True)) as progress:
        yield Bar(progress)
