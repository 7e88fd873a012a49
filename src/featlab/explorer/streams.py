"""Long work as a stream of events: simulations seed by seed, sweeps, races, diagnoses; paused, resumed and cancelled.

A simulation is a task for each seed, so that clients take turns between seeds, a pause holds no worker, and a seed that
was simulated once is kept. Whoever closes the stream ends the work.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from featlab.explorer.answers import Answers
from featlab.explorer.faults import Fault, encoded

_ALIVE_SECONDS = 5.0
_ALIVE = b": still there\n\n"
_AGREEMENT_BYTES = 32 * 2**20

Work = Callable[["Stream"], Awaitable[dict[str, Any] | bytes]]


def as_event(name: str, body: bytes) -> bytes:
    """An event as it goes over the wire; the body is JSON in one line."""
    return b"event: " + name.encode("ascii") + b"\ndata: " + body + b"\n\n"


class Streams:
    """The open streams, by id."""

    def __init__(self, answers: Answers, of_client: int = 8, of_all: int = 64) -> None:
        self.answers, self._of_client, self._of_all = answers, of_client, of_all
        self._open: dict[str, Stream] = {}

    def opened(self, client: str, task: str, work: Work) -> Stream:
        """A stream for a client, which begins when it is read."""
        if sum(one.client == client for one in self._open.values()) >= self._of_client:
            raise Fault(429, "limit", f"at most {self._of_client} open streams of one client; close one")
        if len(self._open) >= self._of_all:
            raise Fault(503, "limit", f"at most {self._of_all} open streams; try again in a moment")
        stream = Stream(self, client, task, work)
        self._open[stream.id] = stream
        return stream

    def find(self, id: str) -> Stream:
        """The open stream of an id."""
        if id not in self._open:
            raise Fault(404, "job", "there is no such job, or it is done", parameter="id")
        return self._open[id]

    def closed(self, stream: Stream) -> None:
        self._open.pop(stream.id, None)


class Stream:
    """One piece of long work and whoever reads of it.

    Attributes:
        id: by which it is paused, resumed and cancelled.
        client: who has asked.
        pausable: whether it has pauses between its tasks.
    """

    def __init__(self, streams: Streams, client: str, task: str, work: Work) -> None:
        self.id, self.client, self.pausable = secrets.token_urlsafe(12), client, task in ("simulate", "sweep")
        self._streams, self._task, self._work = streams, task, work
        self._events: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()
        self._goes_on = asyncio.Event()
        self._goes_on.set()
        self._running: asyncio.Task[None] | None = None
        self.answers = streams.answers

    async def events(self) -> AsyncIterator[bytes]:
        """Everything that happens, to the last event."""
        self._running = asyncio.create_task(self._run())
        try:
            while True:
                try:
                    name, body = await asyncio.wait_for(self._events.get(), _ALIVE_SECONDS)
                except TimeoutError:
                    yield _ALIVE
                    continue
                last = name in ("done", "cancelled", "error")
                if last:
                    self._streams.closed(self)
                yield as_event(name, body)
                if last:
                    return
        finally:
            self._running.cancel()
            self._streams.closed(self)

    def tell(self, name: str, content: Mapping[str, Any] | bytes) -> None:
        """An event for the reader."""
        self._events.put_nowait((name, content if isinstance(content, bytes) else encoded(dict(content))))

    def control(self, what: str) -> None:
        """Pause, resume or cancel it."""
        if what == "cancel":
            if self._running is not None:
                self._running.cancel()
            return
        if not self.pausable:
            raise Fault(422, "job", "a race and a diagnosis cannot be paused; cancel them", parameter="id")
        if what == "pause" and self._goes_on.is_set():
            self._goes_on.clear()
            self.tell("paused", {})
        elif what == "resume" and not self._goes_on.is_set():
            self._goes_on.set()
            self.tell("resumed", {})

    async def ask(self, task: str, said: Mapping[str, Any]) -> bytes:
        """The answer of a task of its own, once it is not paused."""
        await self._goes_on.wait()
        return await self.answers.to(task, said, self.client)

    async def _run(self) -> None:
        self.tell("queued", {"job": self.id, "place": self.answers.workers.place(self._task_lane)})
        try:
            self.tell("done", await self._work(self))
        except asyncio.CancelledError:
            self.tell("cancelled", {})
            raise
        except Fault as fault:
            self.tell("error", fault.body)

    @property
    def _task_lane(self) -> str:
        return "predict" if self._task == "sweep" else self._task


async def simulation(said: Mapping[str, Any], stream: Stream) -> dict[str, Any]:
    """Every seed of an experiment, then what theory says of them."""
    experiment = said["experiment"]
    start = json.loads(await stream.ask("estimate", {"experiment": experiment}))
    stream.tell("started", {"seconds": start["seconds"], "seeds": start["seeds"]})
    runs: list[bytes] = []
    for seed in start["seeds"]:
        runs.append(await stream.ask("simulate", {"experiment": experiment, "seed": seed}))
        stream.tell("seed", runs[-1])
    try:
        stream.tell("agreement", await _agreement(stream, experiment, runs))
    except Fault as fault:  # the seeds are there, whatever theory says
        stream.tell("agreement", {"agreement": None, "reason": str(fault)})
    return {"seeds": len(runs)}


async def _agreement(stream: Stream, experiment: Mapping[str, Any], runs: list[bytes]) -> bytes:
    if sum(map(len, runs)) > _AGREEMENT_BYTES:
        raise Fault(422, "size", "the seeds hold too many numbers to be compared here; `featlab compare` does it")
    records = [json.loads(run)["simulation"] for run in runs]
    return await stream.ask("agreement", {"experiment": experiment, "runs": records})


async def sweep(said: Mapping[str, Any], stream: Stream) -> dict[str, Any]:
    """An experiment at several n/d: what is predicted, and seeds that are simulated."""
    given, dim = said["experiment"], said["dim"]
    stream.tell("started", {"seconds": None, "seeds": list(range(said["simulate"]))})
    for ratio in said["ratios"]:
        samples = max(1, round(ratio * dim))
        asked = {**given, "samples": samples}
        tasks: list[tuple[str, dict[str, Any]]] = [("predict", {"experiment": asked, "draft": False})]
        tasks += [("simulate", {"experiment": asked, "seed": seed}) for seed in range(said["simulate"])]
        for task, question in tasks:
            about = {"ratio": ratio, "samples": samples}
            try:
                found = json.loads(await stream.ask(task, question))
            except Fault as fault:
                if fault.status != 422:
                    raise
                found = {"reason": str(fault)}
            stream.tell("point", about | {name: value for name, value in found.items() if name != "schema"})
    return {"points": len(said["ratios"])}


def whole(task: str, said: Mapping[str, Any], seconds: float | None) -> Work:
    """Work that is one task, which tells of itself."""

    async def work(stream: Stream) -> bytes:
        def begun() -> None:
            stream.tell("started", {"seconds": seconds})

        return await stream.answers.workers.run(task, said, stream.client, stream.tell, begun)

    return work


async def until_gone(work: Awaitable[bytes], gone: Callable[[], Awaitable[Any]]) -> bytes:
    """An answer, unless the client leaves before: then the work is cancelled."""
    answer, leaving = asyncio.ensure_future(work), asyncio.ensure_future(gone())
    try:
        await asyncio.wait({answer, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
        raise Fault(499, "gone", "the client has left")
    finally:
        for one in (answer, leaving):
            one.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await one
