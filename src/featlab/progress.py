"""A bar on stderr while something lasts: what is being done, how much of it is, and how long the rest will take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

_PATIENCE_SECONDS = 2.0


@contextmanager
def progress_bar(show: bool, doing: str, total: int) -> Iterator[Callable[[int], None]]:
    """A function to report parts done to; there is a bar from two seconds on, whether or not anything was reported."""
    if not show:
        yield lambda parts: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn(doing),
        BarColumn(),
        TextColumn("{task.percentage:.0f}%"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(doing, total=total)
    late = Timer(_PATIENCE_SECONDS, bar.start)
    late.daemon = True
    late.start()
    try:
        yield lambda parts: bar.update(task, advance=parts)
    finally:
        late.cancel()
        late.join()
        bar.stop()
