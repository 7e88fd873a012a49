"""Worker processes for a server: lanes with a queue each, turns for clients, limits, and a clean answer whatever dies.

Everything here happens in the event loop but for reading and writing a pipe, which have a thread each. What is asked
waits in its lane; clients take turns there. A worker whose task lasts too long, takes too much memory, or is not wanted
any more and does not stop, is killed, and another one started when there is need of it.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, Protocol

from featlab.explorer.faults import Fault
from featlab.explorer.worker import DONE, EVENT, FAULT, READY, STOPPED, live, resident
from featlab.study.engines.pool import spawned

Heard = Callable[[str, bytes], None]
_MEMORY_BYTES, _RETIRE_BYTES = 4 * 2**30, 3 * 2**29
_GRACE_SECONDS, _LOOK_SECONDS = 2.0, 0.25
_GOODBYE_SECONDS = 1.0
_FALSE_STARTS = 3


_TYPING = ("featlab.explorer.questions", "featlab.figures.link")
_ASKING = ("featlab.explorer.questions", "featlab.reports.statements", "featlab.theory.prediction", "jax.numpy")


class Process(Protocol):
    """What is known of the process of a worker."""

    @property
    def pid(self) -> int | None: ...

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
    """Who types waits for nobody's analysis, who asks for nobody's simulation, and a run for nobody's race."""
    runs = max(1, (os.cpu_count() or 1) // 2)
    return (
        Lane(("parse", "link", "catalogue", "take-home"), 1, 10.0, eager=True, modules=_TYPING),
        Lane(
            ("analyse", "page", "predict", "agreement", "exhibits", "learners"), 2, 180.0, eager=True, modules=_ASKING
        ),
        Lane(("estimate", "simulate"), runs, 600.0, niceness=5),
        Lane(("race", "diagnose"), 1, 600.0, niceness=5),
    )


@dataclass(frozen=True)
class Limits:
    """How much may be asked at a time, and what a worker may take."""

    of_client: int = 8
    of_all: int = 64
    memory: int = _MEMORY_BYTES
    retire: int = _RETIRE_BYTES
    grace: float = _GRACE_SECONDS


def in_process(lane: Lane) -> tuple[Process, Connection]:
    """A worker in a process of its own."""
    return spawned(live, lane.niceness, lane.modules)


@dataclass(eq=False)
class _Ask:
    """One task: who wants it, and what is to be done with what comes."""

    number: int
    client: str
    message: bytes
    answer: asyncio.Future[bytes]
    heard: Heard | None
    begun: Callable[[], None] | None


class Workers:
    """The workers of a server; to be used within its event loop."""

    def __init__(
        self,
        lanes: tuple[Lane, ...] | None = None,
        limits: Limits | None = None,
        start: Callable[[Lane], tuple[Process, Connection]] = in_process,
    ) -> None:
        self.limits, self.start = limits or Limits(), start
        self._lanes = [_Line(lane, self) for lane in lanes or usual_lanes()]
        self._of = {task: line for line in self._lanes for task in line.lane.tasks}
        self._numbers = itertools.count()
        self._open: dict[str, int] = {}
        self._watching: asyncio.Task[None] | None = None
        self.closed = False

    def open(self) -> None:
        """Start those that will be needed first, and look after all."""
        self._watching = asyncio.create_task(self._watch())
        for line in self._lanes:
            if line.lane.eager:
                line.another()

    async def close(self) -> None:
        """End all of them; who waits for an answer is told."""
        self.closed = True
        if self._watching is not None:
            self._watching.cancel()
        for line in self._lanes:
            line.close()
        await asyncio.gather(*(line.finished() for line in self._lanes))

    @property
    def workers(self) -> list[_Worker]:
        """Those that live."""
        return [worker for line in self._lanes for worker in line.workers]

    def place(self, task: str) -> int:
        """How many tasks are before one that would be asked now."""
        line = self._of[task]
        return sum(map(len, line.waiting.values())) + sum(worker.ask is not None for worker in line.workers)

    async def run(
        self,
        task: str,
        said: Mapping[str, Any],
        client: str,
        heard: Heard | None = None,
        begun: Callable[[], None] | None = None,
    ) -> bytes:
        """The answer of a task, in JSON; cancelling this stops it.

        Raises:
            Fault: it was refused, or failed, or too much is asked already.
        """
        if self.closed:
            raise Fault(503, "ending", "the server is ending")
        if self._open.get(client, 0) >= self.limits.of_client:
            raise Fault(429, "limit", f"at most {self.limits.of_client} requests of one client at a time; wait for one")
        if sum(self._open.values()) >= self.limits.of_all:
            raise Fault(503, "limit", f"at most {self.limits.of_all} requests at a time; try again in a moment")
        number = next(self._numbers)
        message = json.dumps({"task": task, "said": said, "number": number}).encode("ascii")
        answer = asyncio.get_running_loop().create_future()
        ask, line = _Ask(number, client, message, answer, heard, begun), self._of[task]
        self._open[client] = self._open.get(client, 0) + 1
        line.put(ask)
        try:
            return await answer
        finally:
            line.forget(ask)
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]

    async def _watch(self) -> None:
        """Nobody may take more memory than there is for one."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            for worker in self.workers:
                if worker.ask is not None and worker.memory > self.limits.memory:
                    gigabytes = self.limits.memory / 2**30
                    words = f"it took more than the {gigabytes:.3g} GB that a task may; take fewer samples or neurons"
                    worker.end(Fault(503, "memory", words))


class _Line:
    """A lane at work: who waits, by client, and the workers."""

    def __init__(self, lane: Lane, all_workers: Workers) -> None:
        self.lane, self.all = lane, all_workers
        self.waiting: dict[str, deque[_Ask]] = {}
        self.workers: list[_Worker] = []
        self._starting: set[asyncio.Future[tuple[Process, Connection]]] = set()
        self._ended: list[_Worker] = []
        self.false_starts = 0

    def put(self, ask: _Ask) -> None:
        self.waiting.setdefault(ask.client, deque()).append(ask)
        self.match()

    def forget(self, ask: _Ask) -> None:
        """It is answered, or nobody wants it any more."""
        if ask in self.waiting.get(ask.client, ()):
            self.waiting[ask.client].remove(ask)
            self._drop_empty(ask.client)
        for worker in self.workers:
            if worker.ask is ask:
                worker.stop()

    def match(self) -> None:
        """Give what waits to who is free; start another worker if nobody is."""
        for worker in [one for one in self.workers if one.free]:
            if not self.waiting:
                return
            worker.give(self._next())
        coming = len(self._starting) + sum(not worker.ready for worker in self.workers)
        room = len(self.workers) + len(self._starting) < self.lane.workers
        if sum(map(len, self.waiting.values())) > coming and room and not self.all.closed:
            self.another()

    def another(self) -> None:
        """Start a worker, beside the event loop: a process takes its time."""
        task = asyncio.ensure_future(asyncio.to_thread(self.all.start, self.lane))
        self._starting.add(task)
        task.add_done_callback(self._has_started)

    def gone(self, worker: _Worker) -> None:
        if worker in self.workers:
            self.workers.remove(worker)
        if self.all.closed:
            self._ended.append(worker)
        self.false_starts = 0 if worker.ready else self.false_starts + 1
        if self.false_starts >= _FALSE_STARTS:
            self.false_starts = 0
            self._refuse_all(Fault(503, "worker", "workers die before they can begin; their last words are printed"))
        self.match()

    def close(self) -> None:
        self._refuse_all(Fault(503, "ending", "the server is ending"))
        for worker in list(self.workers):
            worker.end(Fault(503, "ending", "the server is ending"))

    async def finished(self) -> None:
        """Wait until nobody is left, not even who was just being started."""
        await asyncio.gather(*self._starting, return_exceptions=True)
        await asyncio.sleep(0)  # for what is done with them
        for worker in self._ended:
            await asyncio.to_thread(worker.join)

    def _next(self) -> _Ask:
        """The first of the client whose turn it is, who then goes to the end."""
        client = next(iter(self.waiting))
        queue = self.waiting.pop(client)
        ask = queue.popleft()
        if queue:
            self.waiting[client] = queue
        return ask

    def _refuse_all(self, fault: Fault) -> None:
        """Whoever waits is not answered."""
        for ask in [ask for queue in self.waiting.values() for ask in queue]:
            _answer(ask, fault)
        self.waiting.clear()

    def _drop_empty(self, client: str) -> None:
        if not self.waiting[client]:
            del self.waiting[client]

    def _has_started(self, task: asyncio.Future[tuple[Process, Connection]]) -> None:
        self._starting.discard(task)
        if task.cancelled():
            return
        fault = task.exception()
        if fault is not None:
            self._refuse_all(Fault(503, "worker", f"no worker can be started: {fault}"))
            return
        worker = _Worker(self, *task.result())
        if self.all.closed:
            worker.end()
            return
        self.workers.append(worker)
        self.match()


@dataclass(eq=False)
class _Worker:
    """A process, its pipe, whether it is ready for its first task, and what it has in hand."""

    line: _Line
    process: Process
    pipe: Connection
    ask: _Ask | None = None
    ready: bool = False
    _timers: list[asyncio.TimerHandle] = field(default_factory=list)
    _ended: bool = False

    def __post_init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._outbox: SimpleQueue[bytes | None] = SimpleQueue()
        for work in (self._read, self._write):
            threading.Thread(target=work, name=f"worker{work.__name__}", daemon=True).start()

    @property
    def free(self) -> bool:
        return self.ready and self.ask is None and not self._ended

    @property
    def memory(self) -> int:
        return 0 if self.process.pid is None else resident(self.process.pid)

    def give(self, ask: _Ask) -> None:
        self.ask = ask
        self._timers = [self._loop.call_later(self.line.lane.seconds, self._late)]
        if ask.begun is not None:
            ask.begun()
        self._outbox.put(ask.message)

    def stop(self) -> None:
        """Ask it to leave what it has in hand; it is killed if it does not."""
        if self.ask is not None:
            self._outbox.put(json.dumps({"stop": self.ask.number}).encode("ascii"))
            self._timers.append(self._loop.call_later(self.line.all.limits.grace, self.end))

    def end(self, fault: Fault | None = None) -> None:
        """Kill it; who waits for its answer is told why."""
        if self._ended:
            return
        self._ended = True
        ask = self._dropped()
        if ask is not None:
            _answer(ask, fault or Fault(503, "worker", "the worker that had it in hand was ended; ask again"))
        self._outbox.put(None)
        self.process.kill()
        self.line.gone(self)

    def join(self) -> None:
        self.process.join(_GOODBYE_SECONDS)

    def _late(self) -> None:
        words = f"it took longer than the {self.line.lane.seconds:g} s that a task may; the command line has no limit"
        self.end(Fault(503, "time", words))

    def _dropped(self) -> _Ask | None:
        for timer in self._timers:
            timer.cancel()
        self._timers, ask, self.ask = [], self.ask, None
        return ask

    def _write(self) -> None:
        with suppress(OSError, ValueError):  # it is dead: reading from the pipe tells
            while (message := self._outbox.get()) is not None:
                self.pipe.send_bytes(message)

    def _read(self) -> None:
        try:
            while True:
                header, body = json.loads(self.pipe.recv_bytes()), self.pipe.recv_bytes()
                self._loop.call_soon_threadsafe(self._heard, header, body)
        except (EOFError, OSError):
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._died)
        except RuntimeError:
            return
        finally:
            self.pipe.close()

    def _died(self) -> None:
        self.end(Fault(503, "worker", "the worker that had it in hand died, of too little memory perhaps; ask again"))

    def _heard(self, header: dict[str, Any], body: bytes) -> None:
        kind, ask = header["kind"], self.ask
        if kind == READY and not self._ended:
            self.ready = True
            self.line.match()
        if kind == READY or ask is None or header["number"] != ask.number:
            return
        if kind == EVENT:
            if ask.heard is not None and not ask.answer.done():
                ask.heard(header["event"], body)
            return
        self._dropped()
        if kind == DONE and not ask.answer.done():
            ask.answer.set_result(body)
        elif kind == FAULT:
            _answer(ask, _told(header["status"], body))
        elif kind == STOPPED:
            _answer(ask, Fault(503, "stopped", "it was stopped"))
        if header["resident"] > self.line.all.limits.retire:
            self.end()
        else:
            self.line.match()


def _answer(ask: _Ask, fault: Fault) -> None:
    if not ask.answer.done():
        ask.answer.set_exception(fault)


def _told(status: int, body: bytes) -> Fault:
    """The fault that a worker has told of."""
    said = json.loads(body)["error"]
    known = {name: said[name] for name in ("parameter", "columns")}
    return Fault(status, said["kind"], said["message"], **known, suggestions=tuple(said["suggestions"]))
