"""Worker processes for a server: lanes with a queue each, turns for clients, limits, and a clean answer whatever dies.

Everything here happens in the event loop but for reading and writing a pipe, which have a thread each. What is asked
waits in its lane; clients take turns there. A worker whose task lasts too long, takes too much memory, or is not wanted
any more and does not stop, is killed, and another one started when there is need of it.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import deque
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

from featlab.explorer.faults import Fault
from featlab.explorer.handed import Ask, Heard, Worker, refuse
from featlab.explorer.lanes import Lane, Limits, Process, in_process, usual_lanes

_LOOK_SECONDS = 0.25
_FALSE_STARTS = 3


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
    def workers(self) -> list[Worker]:
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
        ask, line = Ask(number, client, message, answer, heard, begun), self._of[task]
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
        self.lane, self.all, self.limits = lane, all_workers, all_workers.limits
        self.waiting: dict[str, deque[Ask]] = {}
        self.workers: list[Worker] = []
        self._starting: set[asyncio.Future[tuple[Process, Connection]]] = set()
        self._ended: list[Worker] = []
        self.false_starts = 0

    def put(self, ask: Ask) -> None:
        self.waiting.setdefault(ask.client, deque()).append(ask)
        self.match()

    def forget(self, ask: Ask) -> None:
        """It is answered, or nobody wants it any more."""
        if ask in self.waiting.get(ask.client, ()):
            self.waiting[ask.client].remove(ask)
            self._drop_empty(ask.client)
        for worker in self.workers:
            if worker.ask is ask:
                worker.stop()

    def match(self) -> None:
        """Give what waits to who is free; start another worker if nobody is."""
        for worker in [one for one in self.workers if one.free and not one.process.is_alive()]:
            worker.end()  # killed while it waited, and its pipe not read yet
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

    def gone(self, worker: Worker) -> None:
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

    def _next(self) -> Ask:
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
            refuse(ask, fault)
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
        worker = Worker(self, *task.result())
        if self.all.closed:
            worker.end()
            return
        self.workers.append(worker)
        self.match()
