"""Where results are kept: one SQLite file, one writer, any number of readers.

A run is stored whole, its rows with it, in one transaction: a row is there once or not at all. It is *acknowledged*
when its transaction has reached the disk (write-ahead log, synchronous=FULL) and the file is still the one at the
store's path, and survives whatever kills the process. Runs that finish within `_COMMIT_SECONDS` share one transaction.
Every run has a digest, which is checked whenever it is read.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, NamedTuple, Self

from featlab.study import store_format as form
from featlab.study.faults import DamagedStore, StoreFault
from featlab.study.records import Record
from featlab.study.store_file import copied, free_name, identity, journal_mode, locked, move_cluster
from featlab.study.store_format import told_clearly

_COMMIT_SECONDS = 0.05
_MOST_WAITING = 1000
_BUSY_SECONDS = 30.0
_NAMED = 3


class Done(NamedTuple):
    """A stored run: its outcome, its rows as JSON text, its error."""

    outcome: str
    rows: str
    error: str | None


class Reader:
    """A store opened for reading. A run may be writing to it meanwhile."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise StoreFault(f"{self.path}: there is no such store; run the study first")
        with told_clearly(self.path):
            self._connection, self.version = self._connect()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that is read within is of one moment, whatever others write meanwhile."""
        with told_clearly(self.path):
            self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.rollback()

    def outcomes(self) -> dict[str, str]:
        """Outcome by run id, of everything that is stored."""
        return {line[0]: line[3] for line in self._sound("runs")}

    def runs(self) -> dict[str, Done]:
        """Every stored run by its id."""
        return {line[0]: Done(*line[3:6]) for line in self._sound("runs")}

    def study(self) -> dict[str, Any]:
        """What was last run into the store: the study's content and what its runner said of the rows."""
        with told_clearly(self.path):
            newest = f"{form.select('studies', self.version)} ORDER BY number DESC LIMIT 1"
            found = self._connection.execute(newest).fetchone()
        if found is None:
            raise StoreFault(f"{self.path}: holds no study yet")
        if form.is_damaged("studies", found):
            raise self._damaged("the description of its study is not what was written")
        return json.loads(found[1])

    def provenance(self) -> Iterator[dict[str, Any]]:
        """Of each run: point, outcome, wall time, when it finished, and the environment it ran in."""
        environments = {name: json.loads(content) for name, content, _ in self._sound("environments")}
        points = {name: json.loads(content) for name, content, _ in self._sound("points")}
        without_rows = ((*line[:4], *line[5:9]) for line in self._sound("runs"))
        for line in sorted(without_rows, key=lambda line: (line[6], line[0])):
            name, point, repeat, outcome, error, seconds, finished, where = line
            if point not in points or where not in environments:
                raise self._damaged(f"run {name} has lost its point or its environment")
            told = {"repeat": repeat, "outcome": outcome, "error": error, "seconds": seconds, "finished": finished}
            yield {"run": name, "point": points[point], **told, "environment": environments[where]}

    def lines(self, table: str, order: str = "") -> Iterator[tuple[Any, ...]]:
        """The lines of a table with their digests, damaged or not."""
        with told_clearly(self.path):
            yield from self._connection.execute(f"{form.select(table, self.version)} {order}")

    def read_anything(self) -> None:
        """From now on, also texts that are no UTF-8 any more."""
        self._connection.text_factory = form.text_of

    def complaints(self) -> list[str]:
        """What SQLite finds wrong with the structure of the file; empty, nothing."""
        try:
            found = [str(line[0]) for line in self._connection.execute("PRAGMA integrity_check(20)")]
        except sqlite3.DatabaseError as fault:
            return [str(fault)]
        return [] if found == ["ok"] else found

    def _sound(self, table: str) -> Iterator[tuple[Any, ...]]:
        """The lines of a table; after the last, a fault if any was damaged."""
        damaged = []
        for line in self.lines(table):
            if form.is_damaged(table, line):
                damaged.append(str(line[0]))
            else:
                yield line
        if damaged:
            shown = ", ".join(damaged[:_NAMED]) + (", ..." if len(damaged) > _NAMED else "")
            raise self._damaged(f"{len(damaged):,} of its {table} are not what was written ({shown!a})")

    def _damaged(self, what: str) -> DamagedStore:
        return DamagedStore(f"{self.path}: the store is damaged: {what}; {form.remedy(self.path)}")

    def _connect(self) -> tuple[sqlite3.Connection, int]:
        file = self.path.resolve()
        address = f"{file.as_uri()}?mode=ro"
        try:
            return self._opened(address)
        except sqlite3.OperationalError:
            if file.with_name(file.name + "-wal").exists():
                raise
            # No log, nobody writing, and no right to make a log here: the file is all there is.
            return self._opened(address + "&immutable=1")

    def _opened(self, address: str) -> tuple[sqlite3.Connection, int]:
        connection = sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS)
        try:
            return connection, form.version_of(connection, self.path)
        except BaseException:
            connection.close()
            raise


class Store(Reader):
    """A store opened for writing, made if there is none. There is one at a time."""

    def __init__(self, path: str | Path, *, wait: bool = False) -> None:
        self.path = Path(path)
        if self.path.is_dir() or not self.path.resolve().parent.is_dir():
            raise StoreFault(f"{self.path}: expected the name of a file in an existing directory")
        self._lock = locked(self.path, wait=wait)
        self._waiting: list[Record] = []
        self._committed = monotonic()
        self._lost: str | None = None
        try:
            with told_clearly(self.path):
                self._connection, self.version = self._connect()
            self._identity = identity(self.path)
        except BaseException:
            self._lock.close()
            raise

    def close(self) -> None:
        """Write what is waiting, see that it is where it should be, and let go of the file."""
        try:
            self.flush()
        finally:
            self._connection.close()
            self._lock.close()

    def adopt(self, content: dict[str, Any]) -> None:
        """Remember the study that is run into the store, as the newest."""
        with told_clearly(self.path), self._connection:
            self._adopt(content)

    def start_over(self, content: dict[str, Any]) -> Path | None:
        """Copy everything aside, with what a cluster did for it, then hold nothing but this study.

        Returns the copy's path, None if there was nothing to copy.
        The file stays the same file: those who read it go on reading what they had begun to read, and nobody can take
        the log of one store for that of another, as happens when a store in use is renamed.
        """
        with told_clearly(self.path):
            aside = self.copy_aside("until") if self._holds_anything() else None
            if aside is not None:
                move_cluster(self.path, aside)
            with self._connection:
                for table in form.COLUMNS:
                    self._connection.execute(f"DELETE FROM {table}")
                self._adopt(content)
        return aside

    def copy_aside(self, why: str) -> Path:
        """A copy of everything beside the store, under a name that says why and when."""
        aside = free_name(self.path, why)
        with told_clearly(self.path):
            copied(self._connection, aside)
        return aside

    def replace_by(self, other: sqlite3.Connection) -> None:
        """Hold what another database holds, in one transaction, in the same file."""
        with told_clearly(self.path):
            other.backup(self._connection)

    def add(self, record: Record) -> list[Record]:
        """Take a record; returns those that are acknowledged by now."""
        self._waiting.append(record)
        return self.flush_if_due()

    def flush_if_due(self) -> list[Record]:
        """Write what is waiting, if the last time is long enough ago; returns what is acknowledged."""
        due = monotonic() - self._committed >= _COMMIT_SECONDS or len(self._waiting) >= _MOST_WAITING
        return self.flush() if due else []

    def flush(self) -> list[Record]:
        """Write what is waiting; returns what is acknowledged: it is on the disk, in the file at the store's path.

        Raises:
            StoreFault: if it cannot be written, or the file was deleted or replaced since it was opened.
        """
        written = self._waiting
        try:
            if written:
                with told_clearly(self.path), self._connection:
                    self._put(written)
            self._waiting = []
        finally:
            self._see_that_it_is_there()
        self._committed = monotonic()
        return written

    def _see_that_it_is_there(self) -> None:
        if self._lost is None and identity(self.path) != self._identity:
            self._lost = self._rescued()
        if self._lost is not None:
            raise StoreFault(f"{self.path}: the store was deleted or replaced while it was written to; {self._lost}")

    def _rescued(self) -> str:
        """A deleted file lives on for as long as it is open: save what it holds."""
        try:
            saved = self.copy_aside("rescued")
        except StoreFault as fault:
            return f"what it held could not be saved ({fault}); run the study again"
        return f"what it held is in {saved}: put that in its place, then run the same command again"

    def _holds_anything(self) -> bool:
        asked = "SELECT EXISTS (SELECT 1 FROM runs) OR EXISTS (SELECT 1 FROM studies)"
        return bool(self._connection.execute(asked).fetchone()[0])

    def _adopt(self, content: dict[str, Any]) -> None:
        text = json.dumps(content)  # not canonical: the order of the axes is that of the dataset's dimensions
        self._connection.execute("DELETE FROM studies WHERE content = ?", (text,))
        (newest,) = self._connection.execute("SELECT coalesce(max(number), 0) FROM studies").fetchone()
        self._connection.execute(form.PUT["studies"], form.with_digest(newest + 1, text))

    def _put(self, records: list[Record]) -> None:
        for table, lines in form.lines_of(records).items():
            self._connection.executemany(form.PUT[table], lines)

    def _connect(self) -> tuple[sqlite3.Connection, int]:
        connection = sqlite3.connect(self.path.resolve(), timeout=_BUSY_SECONDS)
        try:
            return connection, self._prepared(connection)
        except BaseException:
            connection.close()
            raise

    def _prepared(self, connection: sqlite3.Connection) -> int:
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables:
            form.made(connection)
        if form.version_of(connection, self.path) < form.SCHEMA:
            form.upgraded(connection)
        connection.execute(f"PRAGMA journal_mode = {journal_mode(self.path)}")
        connection.execute("PRAGMA synchronous = FULL")
        return form.SCHEMA
