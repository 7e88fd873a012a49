"""A word to whoever waits, on standard error, where it is in nobody's way; and times as a person says them."""

from __future__ import annotations

import sys
from time import monotonic

# A time that is left is measured over so long, and said if it is longer than that.
_MEASURED_SECONDS, _WORTH_TELLING = 5.0, 20.0
_NEVER = 1000 * 365 * 86400.0  # whoever would be told so waits for something that does not advance
_UNITS = ((365 * 86400, "years"), (86400, "days"), (3600, "hours"), (60, "minutes"), (1, "seconds"))


def tell(words: str) -> None:
    """One line, at once."""
    print(f"featlab: {words}", file=sys.stderr, flush=True)


class Waiting:
    """Work of which it is known what share is done: once, if that is long, it says about how long the rest takes."""

    def __init__(self, what: str) -> None:
        self._what, self._begin, self._told = what, monotonic(), False

    def reached(self, share: float) -> None:
        """That share of the work, from 0 to 1, is done."""
        took = monotonic() - self._begin
        if not self._told and took > _MEASURED_SECONDS and share > 0:
            self._told = self._say("about", took, share)

    def begun(self, share: float) -> None:
        """The first piece is done, which is at most that share of the work: a word before the rest can be measured."""
        self._say("at least", monotonic() - self._begin, share)

    def _say(self, how: str, took: float, share: float) -> bool:
        left = took * (1 - share) / share
        if left > _NEVER:
            tell(f"{self._what} hardly advances, and may end without a result")
        elif left > _WORTH_TELLING:
            tell(f"{self._what} takes {how} {duration(left)} more")
        return left > _WORTH_TELLING


def duration(seconds: float) -> str:
    """A time as a person says it."""
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}" if seconds < 1000 * size else f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.2g} seconds" if seconds >= 0.01 else f"{1000 * seconds:.2g} ms"
