"""What every engine is, and the plainest one, against which the others are tested."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Protocol

from featlab.study.identity import Run
from featlab.study.records import Record, perform
from featlab.study.runner import RunPoint

# Records as they come; None when a while has passed without one, so that what is waiting can be written.
Records = Generator[Record | None, None, None]

# How often a run may take its worker down with it before it counts as failed.
MOST_ATTEMPTS = 3
TICK_SECONDS = 0.05


class Engine(Protocol):
    """Runs points, somewhere. Closing the generator stops all work that has been begun."""

    def records(self, run_point: RunPoint, groups: Sequence[list[Run]]) -> Records:
        """The record of every run in the groups, each once."""
        ...


class InProcess:
    """Runs the points one after the other, in this process.

    Examples:
        >>> from featlab.study import InProcess, Study, run
        >>> run(Study(axes={"x": [1]}), lambda point, key: [{"y": 1}], "one.sqlite", engine=InProcess()).done
        1
    """

    def records(self, run_point: RunPoint, groups: Sequence[list[Run]]) -> Records:
        """The records in the order of the groups."""
        for group in groups:
            for run in group:
                yield perform(run_point, run)
