"""A budget of processor time: what the analysis is doing, and the signal to stop once the time is spent.

The steps of the analysis that may be long call `doing` when they begin and `check_time` on the way. Outside of a
`time_budget` both do nothing, so that the steps can be used by themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import isfinite

from featlab import interruption
from featlab.errors import InvalidParameter

DEFAULT_BUDGET = 60.0  # seconds of processor time

Tell = Callable[[str], None]


class OutOfTime(Exception):
    """The budget is spent; the text says what was not finished and how to give more time."""


@dataclass
class _Clock:
    seconds: float
    tell: Tell | None
    task: str = "the analysis"
    started: float = field(default_factory=lambda: time.process_time())  # looked up when it is called

    @property
    def spent(self) -> float:
        return time.process_time() - self.started


_running: ContextVar[_Clock | None] = ContextVar("running", default=None)


@contextmanager
def time_budget(seconds: float, tell: Tell | None = None) -> Iterator[None]:
    """Let `check_time` raise `OutOfTime` after these seconds of processor time; `tell` hears what is being done."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not (isfinite(seconds) and seconds > 0):
        raise InvalidParameter("budget", seconds, "seconds of processor time, a finite number above 0")
    token = _running.set(_Clock(float(seconds), tell))
    try:
        yield
    finally:
        _running.reset(token)


def doing(task: str) -> None:
    """Say which step begins."""
    clock = _running.get()
    if clock is not None:
        clock.task = task
        if clock.tell is not None:
            clock.tell(task)
    check_time()


def check_time() -> None:
    """Go on, or stop because the budget is spent, or by Ctrl-C."""
    interruption.check()
    clock = _running.get()
    if clock is not None and clock.spent > clock.seconds:
        raise OutOfTime(
            f"{clock.task} is not finished after {clock.seconds:g} s of processor time, the budget of the analysis; "
            f"a larger one (`--analysis-budget`) gives it more"
        )
