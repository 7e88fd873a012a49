"""What a person hears of a run that takes a while, on standard error: beforehand about how long, then a bar, or, where
nobody watches a terminal, one line once it is measured."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from featlab.progress import progress_bar
from featlab.telling import duration, tell

# Runs that take longer are announced; a time is measured over so long, and not without so many reports.
_WORTH_TELLING, _MEASURED_SECONDS, _MEASURED_REPORTS = 60.0, 10.0, 3

Report = Callable[[int], None]


def announce(progress: bool | None, seconds: float | None) -> None:
    """Say before a run starts about how long it takes, if that is long and is known."""
    if progress is not False and seconds is not None and seconds > _WORTH_TELLING:
        tell(f"this takes about {duration(seconds)}, by a count of what is to be done, right within a factor of ten")


@contextmanager
def reporting(progress: bool | None, total: int) -> Iterator[Report]:
    """A function to report steps done to, out of `total`.

    True: it shows a bar once the run has lasted two seconds. False: it is silent. None: a bar on a terminal; elsewhere
    one line when it is measured that the run takes minutes.
    """
    if progress is None and not sys.stderr.isatty():
        yield _line(total)
    elif progress is False:
        yield lambda steps: None
    else:
        with progress_bar(True, "simulating", total) as report:
            yield report


def _line(total: int) -> Report:
    done, begin, reports = 0, 0.0, 0

    def report(steps: int) -> None:
        nonlocal done, begin, reports
        reports += 1
        if reports == 1:  # which includes compilation
            begin = time.perf_counter()
            return
        done += steps
        took = time.perf_counter() - begin
        if reports > _MEASURED_REPORTS and took > _MEASURED_SECONDS:
            left = took / done * total
            if left > _WORTH_TELLING:
                tell(f"about {duration(left)} for all of it, measured over {done:,} of {total:,} steps")
            begin = float("inf")  # said once

    return report
