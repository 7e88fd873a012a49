"""A word to whoever waits, on standard error, where it is in nobody's way; and times as a person says them."""

from __future__ import annotations

import sys

_UNITS = ((365 * 86400, "years"), (86400, "days"), (3600, "hours"), (60, "minutes"), (1, "seconds"))


def tell(words: str) -> None:
    """One line, at once."""
    print(f"featlab: {words}", file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """A time as a person says it."""
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}" if seconds < 1000 * size else f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.2g} seconds" if seconds >= 0.01 else f"{1000 * seconds:.2g} ms"
