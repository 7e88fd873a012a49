"""One after the other, here. The plainest engine, against which the others are tested."""

from __future__ import annotations

from collections.abc import Sequence

from featlab.study.engines.protocol import Records
from featlab.study.identity import Run
from featlab.study.records import perform
from featlab.study.runner import RunPoint


class InProcess:
    """Runs the points in this process."""

    def records(self, run_point: RunPoint, groups: Sequence[list[Run]]) -> Records:
        """The records in the order of the groups."""
        for group in groups:
            for run in group:
                yield perform(run_point, run)
