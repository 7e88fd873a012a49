"""One writer at a time, told by a lock that ends with its process, however it ends.

The lock is an exclusive transaction on a small SQLite file beside the store: the operating system lets go of it when
the process dies, on every platform that SQLite runs on.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from featlab.study.faults import StoreFault, StudyInUse

_WAIT_SECONDS = 10**6


class WriterLock:
    """Held from its making to `release`."""

    def __init__(self, store: Path, *, wait: bool) -> None:
        path = store.with_name(store.name + ".lock")
        seconds = _WAIT_SECONDS if wait else 0
        try:
            self._connection = sqlite3.connect(path, timeout=seconds, isolation_level=None)
            self._connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as fault:
            if fault.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                raise StudyInUse(
                    f"{store}: another process is writing to it; wait for it (--wait), or stop it"
                ) from None
            raise StoreFault(f"{store}: cannot be written: {fault} ({path})") from None

    def release(self) -> None:
        """Let the next one in."""
        self._connection.close()
