"""Runs that share what is compiled stay together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import TypeVar

from featlab.study.identity import Run
from featlab.study.runner import Runner

Item = TypeVar("Item")


def by_shape(runs: Sequence[Run], runner: Runner) -> list[list[Run]]:
    """The runs, those of one shape together, in the order in which the shapes first appear."""
    groups: dict[Hashable, list[Run]] = {}
    for run in runs:
        groups.setdefault(None if runner.shape is None else runner.shape(run.point), []).append(run)
    return list(groups.values())


def shares(items: Sequence[Item], parts: int) -> list[list[Item]]:
    """At most `parts` contiguous shares that differ by at most one in size; none is empty."""
    parts = min(parts, len(items))
    cuts = [len(items) * part // parts for part in range(parts + 1)] if parts else []
    return [list(items[begin:end]) for begin, end in pairwise(cuts)]
