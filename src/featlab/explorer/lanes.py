"""Which worker does what: lanes that tasks wait in, and how much a server may be asked, and a worker may take."""

from __future__ import annotations

import os
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Protocol

from featlab.explorer.worker import live
from featlab.study.engines.pool import spawned

_TYPING = ("featlab.explorer.questions", "featlab.figures.link")
_PREDICTING = (
    "featlab.explorer.questions",
    "featlab.comparison.recovery",
    "featlab.reports.run_records",
    "featlab.theory.prediction",
    "featlab.theory.online.many",
    "featlab.theory.giant.overlaps",
    "jax.numpy",
)
_ASKING = ("featlab.explorer.questions", "featlab.reports.statements")


class Process(Protocol):
    """What is known of the process of a worker."""

    @property
    def pid(self) -> int | None: ...

    def is_alive(self) -> bool: ...

    def kill(self) -> None: ...

    def join(self, timeout: float | None = None) -> None: ...


@dataclass(frozen=True)
class Lane:
    """Workers that one kind of task waits for.

    Attributes:
        tasks: their names.
        workers: how many at most.
        seconds: that a task may last, once it is begun.
        niceness: how much less of the processor it gets than others.
        eager: whether one is started with the server.
        modules: what a worker imports before it is asked anything.
    """

    tasks: tuple[str, ...]
    workers: int
    seconds: float
    niceness: int = 0
    eager: bool = False
    modules: tuple[str, ...] = ()


def usual_lanes() -> tuple[Lane, ...]:
    """Who types, moves a slider, asks or simulates waits for those who do the same, and for nobody's race."""
    runs = max(1, (os.cpu_count() or 1) // 2)
    return (
        Lane(("parse", "link", "catalogue", "take-home"), 1, 10.0, eager=True, modules=_TYPING),
        Lane(("predict",), 2, 180.0, eager=True, modules=_PREDICTING),
        Lane(("analyse", "page", "exhibits", "learners"), 1, 180.0, eager=True, modules=_ASKING),
        Lane(("estimate", "simulate", "agreement"), runs, 600.0, niceness=5),
        Lane(("race", "diagnose"), 1, 600.0, niceness=5),
    )


@dataclass(frozen=True)
class Limits:
    """How much may be asked at a time, and what a worker may take."""

    of_client: int = 8
    of_all: int = 64
    memory: int = 4 * 2**30
    retire: int = 3 * 2**29
    grace: float = 2.0


def in_process(lane: Lane) -> tuple[Process, Connection]:
    """A worker in a process of its own."""
    return spawned(live, lane.niceness, lane.modules)
