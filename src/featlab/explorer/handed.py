"""One worker, as the server sees it: a process, the pipe to it, and what it has in hand."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, Protocol

from featlab.explorer.faults import Fault
from featlab.explorer.lanes import Lane, Limits, Process
from featlab.explorer.worker import DONE, EVENT, FAULT, READY, STOPPED, resident

Heard = Callable[[str, bytes], None]
_GOODBYE_SECONDS = 1.0


@dataclass(eq=False)
class Ask:
    """One task: who wants it, and what is to be done with what comes."""

    number: int
    client: str
    message: bytes
    answer: asyncio.Future[bytes]
    heard: Heard | None
    begun: Callable[[], None] | None


class Line(Protocol):
    """Whom a worker works for."""

    @property
    def lane(self) -> Lane: ...

    @property
    def limits(self) -> Limits: ...

    def match(self) -> None:
        """It is free."""

    def gone(self, worker: Worker) -> None:
        """It is no more."""


@dataclass(eq=False)
class Worker:
    """A process, its pipe, whether it is ready for its first task, and what it has in hand."""

    line: Line
    process: Process
    pipe: Connection
    ask: Ask | None = None
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

    def give(self, ask: Ask) -> None:
        self.ask = ask
        self._timers = [self._loop.call_later(self.line.lane.seconds, self._late)]
        if ask.begun is not None:
            ask.begun()
        self._outbox.put(ask.message)

    def stop(self) -> None:
        """Ask it to leave what it has in hand; it is killed if it does not."""
        if self.ask is not None:
            self._outbox.put(json.dumps({"stop": self.ask.number}).encode("ascii"))
            self._timers.append(self._loop.call_later(self.line.limits.grace, self.end))

    def end(self, fault: Fault | None = None) -> None:
        """Kill it; who waits for its answer is told why."""
        if self._ended:
            return
        self._ended = True
        ask = self._dropped()
        if ask is not None:
            refuse(ask, fault or Fault(503, "worker", "the worker that had it in hand was ended; ask again"))
        self._outbox.put(None)
        self.process.kill()
        self.line.gone(self)

    def join(self) -> None:
        self.process.join(_GOODBYE_SECONDS)

    def _late(self) -> None:
        words = f"it took longer than the {self.line.lane.seconds:g} s that a task may; the command line has no limit"
        self.end(Fault(503, "time", words))

    def _dropped(self) -> Ask | None:
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
            refuse(ask, _told(header["status"], body))
        elif kind == STOPPED:
            refuse(ask, Fault(503, "stopped", "it was stopped"))
        if header["resident"] > self.line.limits.retire:
            self.end()
        else:
            self.line.match()


def refuse(ask: Ask, fault: Fault) -> None:
    """Tell who waits for it why there is no answer."""
    if not ask.answer.done():
        ask.answer.set_exception(fault)


def _told(status: int, body: bytes) -> Fault:
    """The fault that a worker has told of."""
    said = json.loads(body)["error"]
    known = {name: said[name] for name in ("parameter", "columns")}
    return Fault(status, said["kind"], said["message"], **known, suggestions=tuple(said["suggestions"]))
