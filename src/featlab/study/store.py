"""Where results are kept: one SQLite file, one writer, any number of readers.

A run is stored whole, its rows with it, in one transaction: a row is there once or not at all. It is *acknowledged*
when its transaction has reached the disk (write-ahead log, synchronous=FULL), and survives whatever kills the process.
Runs that finish within `_COMMIT_SECONDS` share one transaction.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, strftime
from types import TracebackType
from typing import Any, NamedTuple, Self

import featlab
from featlab.study.canonical import canonical_text, digest
from featlab.study.faults import NewerStore, StoreFault, StudyInUse
from featlab.study.records import FAILED, Record

_COMMIT_SECONDS = 0.05
_MOST_WAITING = 1000
_READ_SECONDS = 30.0
_WAIT_SECONDS = 10**6
# Raised when the tables change. A store of a higher number was made by a newer featlab.
SCHEMA = 1
# Marks the file as a featlab study, so that any other database is refused ("feat" in ASCII).
_APPLICATION_ID = 0x66656174

_TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE studies (number INTEGER PRIMARY KEY, content TEXT NOT NULL UNIQUE);
CREATE TABLE points (id TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE environments (id TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (
    id TEXT PRIMARY KEY, point TEXT NOT NULL REFERENCES points, repeat INTEGER NOT NULL, outcome TEXT NOT NULL,
    rows TEXT NOT NULL, error TEXT, seconds REAL NOT NULL, finished REAL NOT NULL,
    environment TEXT NOT NULL REFERENCES environments
) WITHOUT ROWID;
"""

# A write-ahead log needs memory shared between processes, which these do not give.
_NETWORK_FILE_SYSTEMS = ("nfs", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb", "afs", "glusterfs", "fuse", "9p")

# A failed run may be tried again; an acknowledged result is never overwritten.
_PUT = f"""
INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET outcome = excluded.outcome, rows = excluded.rows, error = excluded.error,
    seconds = excluded.seconds, finished = excluded.finished, environment = excluded.environment
WHERE runs.outcome = '{FAILED}'
"""


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
        with _told_clearly(self.path):
            self._connection = self._connect()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def outcomes(self) -> dict[str, str]:
        """Outcome by run id, of everything that is stored."""
        with _told_clearly(self.path):
            return dict(self._connection.execute("SELECT id, outcome FROM runs"))

    def runs(self) -> dict[str, Done]:
        """Every stored run by its id."""
        with _told_clearly(self.path):
            found = self._connection.execute("SELECT id, outcome, rows, error FROM runs")
            return {name: Done(outcome, rows, error) for name, outcome, rows, error in found}

    def study(self) -> dict[str, Any]:
        """What was last run into the store: the study's content and what its runner said of the rows."""
        with _told_clearly(self.path):
            newest = "SELECT content FROM studies ORDER BY number DESC LIMIT 1"
            found = self._connection.execute(newest).fetchone()
        if found is None:
            raise StoreFault(f"{self.path}: holds no study yet")
        return json.loads(found[0])

    def provenance(self) -> Iterator[dict[str, Any]]:
        """Of each run: point, outcome, wall time, when it finished, and the environment it ran in."""
        with _told_clearly(self.path):
            asked = """SELECT runs.id, points.content, repeat, outcome, error, seconds, finished, environments.content
                FROM runs JOIN points ON runs.point = points.id JOIN environments ON environment = environments.id
                ORDER BY finished, runs.id"""
            for name, point, repeat, outcome, error, seconds, finished, where in self._connection.execute(asked):
                told = {"repeat": repeat, "outcome": outcome, "error": error, "seconds": seconds, "finished": finished}
                yield {"run": name, "point": json.loads(point), **told, "environment": json.loads(where)}

    def _connect(self) -> sqlite3.Connection:
        address = f"{self.path.resolve().as_uri()}?mode=ro"
        connection = sqlite3.connect(address, uri=True, timeout=_READ_SECONDS)
        try:
            _check_version(connection, self.path)
        except sqlite3.OperationalError:
            connection.close()
            if self.path.with_name(self.path.name + "-wal").exists():
                raise
            # No log, nobody writing, and no right to make a log here: the file is all there is.
            connection = sqlite3.connect(address + "&immutable=1", uri=True)
            _check_version(connection, self.path)
        return connection


class Store(Reader):
    """A store opened for writing, made if there is none. There is one at a time."""

    def __init__(self, path: str | Path, *, wait: bool = False) -> None:
        self.path = Path(path)
        if self.path.is_dir() or not self.path.parent.is_dir():
            raise StoreFault(f"{self.path}: expected the name of a file in an existing directory")
        self._lock = _locked(self.path, wait=wait)
        self._waiting: list[Record] = []
        self._committed = monotonic()
        try:
            with _told_clearly(self.path):
                self._connection = self._connect()
        except BaseException:
            self._lock.close()
            raise

    def close(self) -> None:
        """Write what is waiting and let go of the file."""
        try:
            self.flush()
        finally:
            self._connection.close()
            self._lock.close()

    def adopt(self, content: dict[str, Any]) -> None:
        """Remember the study that is run into the store, as the newest."""
        text = json.dumps(content)  # not canonical: the order of the axes is that of the dataset's dimensions
        with _told_clearly(self.path), self._connection:
            self._connection.execute("DELETE FROM studies WHERE content = ?", (text,))
            self._connection.execute("INSERT INTO studies (content) VALUES (?)", (text,))

    def add(self, record: Record) -> list[Record]:
        """Take a record; returns those that are acknowledged by now."""
        self._waiting.append(record)
        return self.flush_if_due()

    def flush_if_due(self) -> list[Record]:
        """Write what is waiting, if the last time is long enough ago; returns what is acknowledged."""
        due = monotonic() - self._committed >= _COMMIT_SECONDS or len(self._waiting) >= _MOST_WAITING
        return self.flush() if due else []

    def flush(self) -> list[Record]:
        """Write what is waiting; returns what is acknowledged: it is on the disk."""
        written = self._waiting
        if written:
            with _told_clearly(self.path), self._connection:
                self._put(written)
        self._waiting = []
        self._committed = monotonic()
        return written

    def _put(self, records: list[Record]) -> None:
        points, runs, environments = {}, [], {}
        for record in records:
            where = canonical_text(record.environment)
            environment = digest(where)
            environments[environment] = where
            points[record.point_id] = canonical_text(record.point)
            run = (record.id, record.point_id, record.repeat, record.outcome, record.rows, record.error)
            runs.append((*run, record.seconds, record.finished, environment))
        self._connection.executemany("INSERT OR IGNORE INTO environments VALUES (?, ?)", environments.items())
        self._connection.executemany("INSERT OR IGNORE INTO points VALUES (?, ?)", points.items())
        self._connection.executemany(_PUT, runs)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_READ_SECONDS)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables:
            self._make(connection)
        _check_version(connection, self.path)
        connection.execute(f"PRAGMA journal_mode = {journal_mode(self.path)}")
        connection.execute("PRAGMA synchronous = FULL")

    def _make(self, connection: sqlite3.Connection) -> None:
        """The tables, in one transaction: a process killed here leaves an empty file, not half a store."""
        about = {"featlab": featlab.__version__, "made": strftime("%Y-%m-%dT%H:%M:%S%z")}
        statements = "".join(f"INSERT INTO about VALUES ('{name}', '{value}');" for name, value in about.items())
        marks = f"PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {SCHEMA};"
        connection.executescript(f"BEGIN; {_TABLES} {statements} {marks} COMMIT;")


def _locked(store: Path, *, wait: bool) -> sqlite3.Connection:
    """One writer at a time, told by a lock that ends with its process, however it ends; closing it lets the next in.

    It is an exclusive transaction on a small SQLite file beside the store: the operating system lets go of it when the
    process dies, on every platform that SQLite runs on.
    """
    path = store.with_name(store.name + ".lock")
    try:
        connection = sqlite3.connect(path, timeout=_WAIT_SECONDS if wait else 0, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as fault:
        if fault.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            raise StudyInUse(f"{store}: another process is writing to it; wait for it (--wait), or stop it") from None
        raise StoreFault(f"{store}: cannot be written: {fault} ({path})") from None
    return connection


@contextmanager
def _told_clearly(path: Path) -> Iterator[None]:
    """SQLite's errors as faults of this store, in words."""
    try:
        yield
    except sqlite3.DatabaseError as fault:
        raise StoreFault(f"{path}: {_words(fault)}") from fault


def _words(fault: sqlite3.DatabaseError) -> str:
    code = getattr(fault, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return "the disk is full; what was acknowledged before is safe. Make room, then run the same command again"
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return "the store is read-only; make it writable, or copy it to where you may write (--store)"
    if code == sqlite3.SQLITE_CANTOPEN:
        return "cannot be opened; is there such a directory, and may you write there?"
    if code == sqlite3.SQLITE_NOTADB:
        return "is no featlab study store"
    return f"SQLite says: {fault}"


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a database that is no study store, or one of a newer version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION_ID:
        raise StoreFault(f"{path}: is no featlab study store")
    if version > SCHEMA:
        maker = connection.execute("SELECT value FROM about WHERE name = 'featlab'").fetchone()
        raise NewerStore(
            f"{path}: made by a newer version of featlab ({maker[0] if maker else 'unknown'}, store format {version}; "
            f"this one knows {SCHEMA}); upgrade featlab, or choose another --store. Nothing was changed"
        )


def journal_mode(path: Path) -> str:
    """WAL, unless the store lies on a network file system."""
    kind = file_system(path)
    return "DELETE" if any(kind.startswith(name) for name in _NETWORK_FILE_SYSTEMS) else "WAL"


def file_system(path: Path, mounts: Path = Path("/proc/mounts")) -> str:
    """The type of the file system that holds `path`; empty where the system does not tell."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    best, kind, home = -1, "", path.resolve()
    for line in lines:
        fields = line.split()
        if len(fields) > 2 and home.is_relative_to(fields[1]) and len(fields[1]) >= best:
            best, kind = len(fields[1]), fields[2]
    return kind


def cluster_directory(store: str | Path) -> Path:
    """Where what a cluster does for a store lies: submissions and shards."""
    return Path(store).with_suffix(".cluster")
