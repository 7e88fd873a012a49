"""What the commands that run studies have in common: who runs the points, what is run again, the progress bar."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from featlab.cli.errors import fail
from featlab.errors import or_meant

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from featlab.study.drive import Progress
    from featlab.study.engines import Engine
    from featlab.study.records import Record

_ENGINES = ("in-process", "pool", "dask")
Workers = Annotated[int | None, typer.Option(metavar="N", min=1, help="Processes; as many as cores.")]
Scheduler = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Dask's scheduler, or its file; a local cluster if not given.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
Retry = Annotated[bool, typer.Option("--retry-failed", help="Also run again what failed.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait while another process writes to the store.")]


def chosen_engine(name: str, workers: int | None, scheduler: str | None) -> Engine:
    """The engine of that name. Slurm is none of them: its jobs outlive this process."""
    if name not in _ENGINES:
        hint = "; Slurm runs with `featlab study submit`" if name == "slurm" else or_meant(name, _ENGINES)
        fail(f"--engine: got {name!r}, expected one of {', '.join(_ENGINES)}{hint}")
    if scheduler is not None and name != "dask":
        fail("--scheduler: only with --engine dask")
    from featlab.study.engines import Dask, InProcess, Pool

    if name == "pool":
        return Pool(workers)
    if name == "dask":
        return Dask(scheduler, workers)
    if workers not in (None, 1):
        fail("--workers: only with --engine pool or dask")
    return InProcess()


class ProgressBar:
    """A bar with an estimate of the time left, on stderr, for each study that is started."""

    def __init__(self, bar: RichProgress) -> None:
        self._bar, self._failed = bar, 0

    def start(self, progress: Progress, name: str = "") -> None:
        """Begin with what is done already, which tells nothing about how fast it goes."""
        self._failed = progress.failed
        done = progress.done + progress.failed
        self._task = self._bar.add_task(name, total=progress.total, completed=done, failed="")

    def start_part(self, whole: str, part: str, progress: Progress) -> None:
        """Begin one of the studies of an exhibit."""
        self.start(progress, f"{whole}, {part}")

    def advance(self, records: list[Record]) -> None:
        """These are acknowledged."""
        self._failed += sum(record.error is not None for record in records)
        failed = f"{self._failed:,} failed" if self._failed else ""
        self._bar.update(self._task, advance=len(records), failed=failed)


@contextmanager
def progress_bar(shown: bool) -> Iterator[ProgressBar]:
    """A bar, if it is to be shown."""
    from rich import progress as parts
    from rich.console import Console

    columns = (
        parts.TextColumn("{task.description}"),
        parts.BarColumn(),
        parts.MofNCompleteColumn(),
        parts.TimeElapsedColumn(),
        parts.TextColumn("left"),
        parts.TimeRemainingColumn(),
        parts.TextColumn("[red]{task.fields[failed]}"),
    )
    with parts.Progress(*columns, console=Console(stderr=True), disable=not shown) as bar:
        yield ProgressBar(bar)
