"""Who is who: the ids of points and runs, and the random key of each run.

    point id = hash(runner's name, numerics version, canonical content)
    run id   = hash(study key, point id, repeat)            random key = its first 64 bits

Nothing else enters: not the order, the engine, the number of workers, nor the grouping by shape (runs that share
what is compiled stay together).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import monotonic
from typing import TypeVar

from featlab.lines import digest
from featlab.study.canonical import canonical_text
from featlab.study.description import Point, Study
from featlab.study.runner import Runner
from featlab.telling import duration, tell

_KEY_DIGITS = 16
_PATIENCE_SECONDS = 5.0

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Run:
    """One repeat of one point: the unit of work."""

    id: str
    point_id: str
    repeat: int
    point: Point

    @property
    def key(self) -> int:
        """Its random key, an integer from 0 to 2^64 - 1."""
        return int(self.id[:_KEY_DIGITS], 16)


def runs_of(study: Study, runner: Runner) -> list[Run]:
    """Every run of a study, in the order of the grid, the repeats of a point side by side.

    Raises:
        InvalidStudy: for a name or a point that the runner refuses.
    """
    runner.check_names(study)
    runs, begin, told = [], 0.0, False
    for number, point in enumerate(study.points()):
        runner.check_point(point)
        if number == 0:  # the first check also loads what all of them need
            begin = monotonic()
        elif not told and (waited := monotonic() - begin) > _PATIENCE_SECONDS:
            tell(f"to check all {study.size:,} points takes about {duration(waited / number * study.size)}")
            told = True
        point_id = point_id_of(runner.name, runner.numerics, point)
        runs += [Run(run_id(study.key, point_id, n), point_id, n, point) for n in range(study.repeats)]
    return runs


def point_id_of(runner: str, numerics: str, point: Point) -> str:
    """The id of a point in canonical form."""
    return digest(canonical_text([runner, numerics, point]))


def run_id(study_key: int, point_id: str, repeat: int) -> str:
    """The id of a run; its first 64 bits are its random key."""
    return digest(f"{study_key} {point_id} {repeat}")


def by_shape(runs: Sequence[Run], runner: Runner) -> list[list[Run]]:
    """The runs, those of one shape together, in the order in which the shapes first appear."""
    groups: dict[Hashable, list[Run]] = {}
    for run in runs:
        groups.setdefault(None if runner.shape is None else runner.shape(run.point), []).append(run)
    return list(groups.values())


def shares(items: Sequence[_Item], parts: int) -> list[list[_Item]]:
    """At most `parts` contiguous shares that differ by at most one in size; none is empty."""
    parts = min(parts, len(items))
    cuts = [len(items) * part // parts for part in range(parts + 1)] if parts else []
    return [list(items[begin:end]) for begin, end in pairwise(cuts)]
