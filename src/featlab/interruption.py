"""Ctrl-C and SIGTERM: a flag that long work looks at, and an end that nothing can hold up.

Python's own handler raises wherever the program happens to be: within a callback of JAX, which swallows it, or beside a
running device call, under which the interpreter then takes XLA down and crashes. Here a signal raises nothing. It sets
a flag; `check` raises KeyboardInterrupt where long work calls it, between device calls, and what is done is shown.

A thread hears of signals even while the main one is deep in compiled code, and ends the process: at once where there is
nothing to be saved; where there is (`saving`), after `PATIENCE_SECONDS` or a second signal. What is half written is
removed, worker processes are stopped, streams flushed; the exit code is 128 plus the signal's number (130, 143).

`in_time` is for work that may not last: `check` stops it when its time is over, too.

Only the command line calls `listen`. In a program or a notebook nothing is installed, and Ctrl-C is Python's own.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import NoReturn, TypeVar

PATIENCE_SECONDS = 2.0
_FLUSH_SECONDS, _UNDIVIDED_SECONDS = 0.3, 0.5
_TICK_SECONDS, _GRACE_SECONDS = 0.05, 1.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = b"\x1b[?25h"

_caught: int | None = None
# Whether there was something to be saved when the signal came: the thread that hears of it may do so only after that.
_worth_waiting = False
# Taken by whoever says first that there was an interruption, and never given back: it is said once.
_said = threading.Lock()
_last_words = ""
_savers = 0
_half_written: set[Path] = set()
# Held while something is done that must not be torn; whoever ends the process waits for it, though not for ever.
_undivided = threading.RLock()
_time_is_over: ContextVar[threading.Event | None] = ContextVar("time_is_over", default=None)
_left_alone: list[threading.Thread] = []

Result = TypeVar("Result")


def listen() -> None:
    """From now on signals set the flag; to be called once, by the main thread. What is ignored stays ignored."""
    inbox, outbox = socket.socketpair()
    outbox.setblocking(False)
    signal.set_wakeup_fd(outbox.detach(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(inbox,), name="signals", daemon=True).start()
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _note)


def caught() -> int | None:
    """The number of the signal that asked for an end; None if there was none."""
    return _caught


def check() -> None:
    """Go on, or raise KeyboardInterrupt because the program is to end, or the time of `in_time` is over."""
    over = _time_is_over.get()
    if _caught is not None or (over is not None and over.is_set()):
        raise KeyboardInterrupt


def in_time(work: Callable[[], Result], seconds: float) -> Result:
    """The result of `work`, which `check` stops after so many seconds, so that what is done by then may come back.

    It is done in a thread of its own. What does not stop is left alone, and ends when it next calls `check`.

    Raises:
        TimeoutError: it did not end in time. KeyboardInterrupt: the program is to end.
    """
    over, results, faults = threading.Event(), list[Result](), list[BaseException]()

    def run() -> None:
        _time_is_over.set(over)
        try:
            results.append(work())
        except BaseException as fault:  # noqa: BLE001 - it is raised where the result is waited for
            faults.append(fault)

    thread = threading.Thread(target=run, name="in time")
    thread.start()
    try:
        _wait(thread, seconds)
        over.set()
        _wait(thread, _GRACE_SECONDS)
    finally:
        over.set()
        if thread.is_alive():
            _left_alone.append(thread)
    if results:
        return results[0]
    if not faults or isinstance(faults[0], KeyboardInterrupt):
        raise TimeoutError
    raise faults[0]


@contextmanager
def stoppable(stop: threading.Event) -> Iterator[None]:
    """Within, in this thread, `check` ends the work when the event is set, as by a signal."""
    token = _time_is_over.set(stop)
    try:
        yield
    finally:
        _time_is_over.reset(token)


def somebody_works() -> bool:
    """Whether work that was left alone goes on: taking the interpreter down would wait for it."""
    return any(thread.is_alive() for thread in _left_alone)


def _wait(thread: threading.Thread, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while thread.is_alive() and time.monotonic() < deadline:
        check()
        thread.join(_TICK_SECONDS)


def say_at_end(words: str) -> None:
    """What to add to "interrupted" should the process have to be ended: how to go on, for example."""
    global _last_words
    _last_words = words


def first_to_say() -> bool:
    """Whether it is still to be said that the program was interrupted. To whom that is answered once, has to say it."""
    return _caught is None or _said.acquire(blocking=False)


@contextmanager
def saving(worth: bool = True) -> Iterator[None]:
    """Within, there is something to lose, and `check` is called: who interrupts waits until it is shown or stored."""
    global _savers
    with _undivided:
        _savers += worth
    try:
        yield
    finally:
        with _undivided:
            _savers -= worth


@contextmanager
def undivided() -> Iterator[None]:
    """What is done within is done wholly or not at all: the process is not ended in its midst. Keep it short."""
    with _undivided:
        yield


@contextmanager
def half_written(*paths: Path) -> Iterator[None]:
    """Files or directories that are to vanish if the process is ended within."""
    with _undivided:
        _half_written.update(paths)
    try:
        yield
    finally:
        with _undivided:
            _half_written.difference_update(paths)


def end(code: int) -> NoReturn:
    """End the process in order, but without taking the interpreter down, which threads of XLA would not survive."""
    try:
        _undivided.acquire(timeout=_UNDIVIDED_SECONDS)  # kept: nothing is begun any more
        for path in _half_written:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        if "multiprocessing" in sys.modules:
            from multiprocessing import active_children

            for child in active_children():
                child.kill()
        flushing = threading.Thread(target=_flush, daemon=True)  # whoever should read may have stopped
        flushing.start()
        flushing.join(_FLUSH_SECONDS)
    finally:
        os._exit(code)


def _note(number: int, frame: FrameType | None) -> None:
    global _caught, _worth_waiting
    if _savers:
        _worth_waiting = True
    _caught = _caught or number


def _watch(inbox: socket.socket) -> None:
    """Wait for a signal; then, where something is saved, for its effect or for another one."""
    number = _next(inbox)
    _note(number, None)
    if _worth_waiting:
        with suppress(TimeoutError):
            _next(inbox, time.monotonic() + PATIENCE_SECONDS)
    with suppress(OSError):  # nobody may be there to read it
        if os.isatty(2):
            os.write(2, _SHOW_CURSOR)
        if first_to_say():
            os.write(2, f"featlab: interrupted{_last_words}\n".encode())
    end(128 + number)


def _next(inbox: socket.socket, deadline: float | None = None) -> int:
    while True:
        inbox.settimeout(None if deadline is None else max(deadline - time.monotonic(), 1e-3))
        (number,) = inbox.recv(1)
        if number in _SIGNALS:
            return number


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # closed, or nobody reads it
            stream.flush()
