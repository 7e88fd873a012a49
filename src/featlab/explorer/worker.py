"""A worker's life: it is given tasks over a pipe, one at a time, and sends back events and an answer, all as JSON.

A thread listens beside the work, so that the work can be stopped: `interruption.check` ends it between two pieces. Who
does not hear that in time is killed by the server, which keeps nothing in a worker that it could not lose.
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from featlab import interruption
from featlab.compiled import hand_over, keep_as_parent
from featlab.errors import FeatlabError
from featlab.explorer.faults import Fault, encoded, refusal

MOST_BYTES = 16 * 2**20
# Task -> module and function, imported when it is first asked for: who parses needs no JAX.
TASKS = {
    "parse": "questions:parse",
    "link": "questions:link",
    "analyse": "questions:analyse",
    "page": "questions:page",
    "predict": "questions:predict",
    "take-home": "questions:take_home",
    "catalogue": "questions:catalogue",
    "exhibits": "questions:exhibits",
    "learners": "learners:learners",
    "estimate": "runs:estimate",
    "simulate": "runs:simulate",
    "agreement": "runs:agreement",
    "race": "runs:race",
    "diagnose": "runs:diagnose",
}
READY, EVENT, DONE, FAULT, STOPPED = "ready", "event", "done", "fault", "stopped"


def live(pipe: Connection, niceness: int, modules: tuple[str, ...]) -> None:
    """Work until the other end of the pipe is closed, or its process dies; then end at once, whatever is in hand.

    The modules are imported first, so that whoever asks first does not wait for them.
    """
    if niceness and hasattr(os, "nice"):
        os.nice(niceness)  # a simulation must not hold up who only types
    keep_as_parent()
    for module in modules:
        importlib.import_module(module)
    serve(pipe, lambda: os._exit(0))


def serve(pipe: Connection, leave: Callable[[], None]) -> None:
    """Answer tasks; `leave` is called by the listener when there is nobody to answer any more."""
    tasks: queue.Queue[dict[str, Any] | None] = queue.Queue()
    current = _Current()
    threading.Thread(target=_listen, args=(pipe, tasks, current, leave), name="listener", daemon=True).start()
    _send(pipe, {"kind": READY})
    while (task := tasks.get()) is not None:
        stop = current.begin(task["number"])
        with interruption.stoppable(stop):
            header, body = _answered(pipe, task, stop)
        current.end()
        _send(pipe, {**header, "number": task["number"], "resident": resident(os.getpid())}, body)
        with suppress(OSError):
            hand_over()  # it may be killed at any moment


class _Current:
    """The number of the task in hand, and the event that stops it."""

    def __init__(self) -> None:
        self._lock, self._number, self._stop = threading.Lock(), -1, threading.Event()

    def begin(self, number: int) -> threading.Event:
        with self._lock:
            self._number, self._stop = number, threading.Event()
            return self._stop

    def end(self) -> None:
        with self._lock:
            self._number = -1

    def stop(self, number: int) -> None:
        """Stop that task; nothing, if it is done already."""
        with self._lock:
            if number == self._number:
                self._stop.set()


def _listen(pipe: Connection, tasks: queue.Queue[Any], current: _Current, leave: Callable[[], None]) -> None:
    with suppress(EOFError, OSError):
        while True:
            message = json.loads(pipe.recv_bytes())
            if "stop" in message:
                current.stop(message["stop"])
            else:
                tasks.put(message)
    tasks.put(None)
    leave()


def _answered(pipe: Connection, task: dict[str, Any], stop: threading.Event) -> tuple[dict[str, Any], bytes]:
    """The header of the answer, and its body."""
    name, said = task["task"], task["said"]

    def emit(event: str, content: dict[str, Any]) -> None:
        _send(pipe, {"kind": EVENT, "number": task["number"], "event": event}, encoded(content))

    try:
        module, _, function = TASKS[name].partition(":")
        work = getattr(importlib.import_module(f"featlab.explorer.{module}"), function)
        answer = encoded(work(said, emit) if module == "runs" else work(said))
        if len(answer) > MOST_BYTES:
            words = f"the answer has {len(answer):,} bytes, more than {MOST_BYTES:,}: fewer neurons, times or seeds"
            raise Fault(422, "size", f"{words}; or take the command line")
    except KeyboardInterrupt:
        return {"kind": STOPPED}, b""
    except FeatlabError as fault:
        return _faulty(refusal(fault, said.get("text") or said.get("target") or ""))
    except MemoryError:
        return _faulty(Fault(503, "memory", "it needs more memory than there is; take fewer samples or neurons"))
    except Fault as fault:
        return _faulty(fault)
    except Exception as fault:  # noqa: BLE001 - what nobody foresaw is said, and the worker lives on
        line = " ".join(f"{type(fault).__name__}: {fault}".split())
        return _faulty(Fault(500, "fault", f"a fault of featlab itself: {line}; please report it"))
    # A simulation that is stopped comes back with what it has.
    return ({"kind": STOPPED}, b"") if stop.is_set() else ({"kind": DONE}, answer)


def _faulty(fault: Fault) -> tuple[dict[str, Any], bytes]:
    return {"kind": FAULT, "status": fault.status}, fault.body


def _send(pipe: Connection, header: dict[str, Any], body: bytes = b"") -> None:
    with suppress(BrokenPipeError, ConnectionResetError):  # the server is gone: the listener hears of it, too
        pipe.send_bytes(json.dumps(header).encode("ascii"))
        pipe.send_bytes(body)


def resident(process: int) -> int:
    """The memory of a process in bytes; 0 where the system does not tell."""
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0
