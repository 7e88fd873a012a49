"""Processes on this machine. A killed worker is replaced, and only the run it had in hand is given out again.

Workers are spawned, not forked: a fork of a process in which JAX has started hangs. Each is given one run at a time
over a pipe of its own, which breaks when either end dies: nothing else is shared, so no death takes others along. A
worker is given runs of the shape it has compiled already as long as there are any.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pickle import PicklingError
from typing import Any

from featlab.compiled import hand_over, keep_as_parent
from featlab.errors import InvalidParameter
from featlab.study.engines.protocol import MOST_ATTEMPTS, TICK_SECONDS, Records
from featlab.study.faults import EngineFault
from featlab.study.identity import Run
from featlab.study.records import Record, lost, perform
from featlab.study.runner import RunPoint

_GOODBYE_SECONDS = 5.0
# One that is dying by itself is waited for, or its end would be said to be ours; a busy machine takes seconds for it.
_LAST_WORDS_SECONDS = 20.0
_READY = "ready"


@dataclass
class Pool:
    """Runs the points in `workers` spawned processes; as many as there are cores unless given.

    Examples:
        >>> from featlab.study import Pool
        >>> Pool(workers=4)
        Pool(workers=4)
    """

    workers: int | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise InvalidParameter("workers", self.workers, "a whole number, at least 1")

    def records(self, run_point: RunPoint, groups: Sequence[list[Run]]) -> Records:
        """The records as the workers finish them."""
        queue = _Queue(groups)
        count = min(self.workers or os.cpu_count() or 1, queue.left)
        workers: list[_Worker] = []
        try:
            workers += [_Worker(run_point) for _ in range(count)]
            for worker in workers:
                worker.give(queue.next_for(worker))
            while busy := {worker.pipe: worker for worker in workers if worker.run is not None}:
                ready = wait(list(busy), TICK_SECONDS)
                if not ready:
                    yield None
                for pipe in ready:
                    assert isinstance(pipe, Connection)
                    yield from self._answer(busy[pipe], run_point, workers, queue)
        finally:
            for worker in workers:
                worker.end()

    def _answer(self, worker: _Worker, run_point: RunPoint, workers: list[_Worker], queue: _Queue) -> Records:
        """What came over a worker's pipe: that it is ready, a record, or its death."""
        try:
            message = worker.pipe.recv()
        except (EOFError, OSError):
            worker.end(_LAST_WORDS_SECONDS)
            message = queue.returned(worker)
            workers[workers.index(worker)] = worker = _Worker(run_point)
        if message == _READY:
            worker.ready, queue.false_starts = True, 0
            return
        worker.give(queue.next_for(worker))
        if message is not None:
            yield message


@dataclass
class _Queue:
    """What is still to be given out, by shape."""

    groups: Sequence[list[Run]]
    deaths: dict[str, int] = field(default_factory=dict)
    false_starts: int = 0

    def __post_init__(self) -> None:
        self._waiting = [list(reversed(group)) for group in self.groups if group]
        self._shape_of = {run.id: number for number, group in enumerate(self._waiting) for run in group}
        self._begun: set[int] = set()

    @property
    def left(self) -> int:
        """How many runs are waiting."""
        return sum(map(len, self._waiting))

    def next_for(self, worker: _Worker) -> Run | None:
        """A run of the shape it had last; else of one that nobody has begun; else of the one with most runs left."""
        if worker.shape is None or not self._waiting[worker.shape]:
            worker.shape = self._another()
        return None if worker.shape is None else self._waiting[worker.shape].pop()

    def returned(self, worker: _Worker) -> Record | None:
        """Take back the run of a worker that died; a failed record if the run has had too many of them."""
        run = worker.run
        assert run is not None
        if worker.ready:
            self.deaths[run.id] = self.deaths.get(run.id, 0) + 1
            if self.deaths[run.id] >= MOST_ATTEMPTS:
                return lost(run, f"its worker died {MOST_ATTEMPTS} times ({worker.words}); out of memory?")
        else:
            self.false_starts += 1
            if self.false_starts >= MOST_ATTEMPTS:
                raise EngineFault(f"workers die before they can begin ({worker.words}); their last words are above")
        self._waiting[self._shape_of[run.id]].append(run)
        return None

    def _another(self) -> int | None:
        left = [number for number, group in enumerate(self._waiting) if group]
        fresh = [number for number in left if number not in self._begun]
        chosen = fresh[0] if fresh else max(left, key=lambda number: len(self._waiting[number]), default=None)
        if chosen is not None:
            self._begun.add(chosen)
        return chosen


class _Worker:
    """A process and the pipe to it: what it has in hand, what shape it has compiled, whether it has begun to work."""

    def __init__(self, run_point: RunPoint) -> None:
        self.run: Run | None = None
        self.shape: int | None = None
        self.ready = False
        self._process, self.pipe = spawned(_serve, run_point)

    @property
    def words(self) -> str:
        """How it ended."""
        code = self._process.exitcode
        return f"exit code {code}" if code is None or code >= 0 else signal.Signals(-code).name

    def give(self, run: Run | None) -> None:
        """Hand it the next run, or nothing."""
        self.run = run
        if run is not None:
            with suppress(BrokenPipeError, ConnectionResetError):  # it is dead: reading from the pipe will tell
                self.pipe.send(run)

    def end(self, patience: float = 0.0) -> None:
        """Stop it, whatever it is doing; one that is dying already may finish that first."""
        self.pipe.close()
        self._process.join(patience)
        self._process.terminate()
        self._process.join(_GOODBYE_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _serve(pipe: Connection, run_point: RunPoint) -> None:
    """A worker's life: it ends when the driver closes the pipe or dies."""
    with suppress(EOFError, OSError):
        pipe.send(_READY)
        while True:
            pipe.send(perform(run_point, pipe.recv()))
            hand_over()  # it may be killed at any moment


def spawned(target: Callable[..., None], *args: Any) -> tuple[SpawnProcess, Connection]:
    """A process that calls `target(pipe, *args)`, and the other end of its pipe."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_live, args=(target, theirs, *args), daemon=True)
    try:
        with _deaf_to_interrupts():
            process.start()
    except (AttributeError, TypeError, PicklingError) as fault:
        reason = f"the runner cannot be sent to another process: {fault}"
        raise EngineFault(f"{reason}; define it in a module") from fault
    finally:
        theirs.close()
    return process, ours


def _live(target: Callable[..., None], *args: Any) -> None:
    """With a folder for compiled programs of its own, if the driver has one."""
    keep_as_parent()
    target(*args)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """A process started within is deaf to Ctrl-C, which the terminal sends to all: the driver alone decides.

    The signal is held back, not ignored, so that one for the driver that comes meanwhile is not lost.
    """
    if os.name != "posix":  # there, signals cannot be held back
        yield
        return
    resource_tracker.ensure_running()  # its start would let signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
