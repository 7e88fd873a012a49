"""What the tables of a store hold, its versions, and the digests by which damage is noticed.

Version 1 had no digests. It is read as it is, its runs being *unchecked*; opened for writing it becomes version 2, in
which everything written from then on has a digest:

    of a run      hash(id, point id, repeat, outcome, rows, error, seconds, finished, environment id)
    of a point    hash(id, content)                 of a study    hash(number, content)
    of an environment: its id is the hash of its content, in every version
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import strftime
from typing import Any

import featlab
from featlab.lines import digest
from featlab.study.canonical import canonical_text
from featlab.study.faults import DamagedStore, NewerStore, StoreFault
from featlab.study.records import FAILED, OK, Record

# Raised when the tables change. A store of a higher number was made by a newer featlab.
SCHEMA = 2
# Marks the file as a featlab study, so that any other database is refused ("feat" in ASCII).
_APPLICATION_ID = 0x66656174
# SQLITE_ERROR is a query that does not fit the tables; the queries being right, the tables are not.
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR)

_TABLES = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE studies (number INTEGER PRIMARY KEY, content TEXT NOT NULL UNIQUE, digest TEXT);
CREATE TABLE points (id TEXT PRIMARY KEY, content TEXT NOT NULL, digest TEXT) WITHOUT ROWID;
CREATE TABLE environments (id TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (
    id TEXT PRIMARY KEY, point TEXT NOT NULL REFERENCES points, repeat INTEGER NOT NULL, outcome TEXT NOT NULL,
    rows TEXT NOT NULL, error TEXT, seconds REAL NOT NULL, finished REAL NOT NULL,
    environment TEXT NOT NULL REFERENCES environments, digest TEXT
) WITHOUT ROWID;
"""
_WITH_DIGESTS = ("studies", "points", "runs")
_UPGRADE = "".join(f"ALTER TABLE {table} ADD COLUMN digest TEXT;" for table in _WITH_DIGESTS)

# The columns of each table, but for its digest.
COLUMNS = {
    "studies": "number, content",
    "points": "id, content",
    "environments": "id, content",
    "runs": "id, point, repeat, outcome, rows, error, seconds, finished, environment",
}

# A failed run may be tried again; an acknowledged result is never overwritten.
_PUT_RUN = f"""
INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET outcome = excluded.outcome, rows = excluded.rows, error = excluded.error,
    seconds = excluded.seconds, finished = excluded.finished, environment = excluded.environment,
    digest = excluded.digest
WHERE runs.outcome = '{FAILED}'
"""
PUT = {
    "studies": "INSERT INTO studies VALUES (?, ?, ?)",
    "points": "INSERT OR IGNORE INTO points VALUES (?, ?, ?)",
    "environments": "INSERT OR IGNORE INTO environments VALUES (?, ?)",
    "runs": _PUT_RUN,
}


def text_of(raw: bytes) -> str:
    """A text from a store that may be no UTF-8 any more: its digest will tell."""
    return raw.decode("utf-8", "surrogateescape")


def select(table: str, version: int) -> str:
    """The query for a table's columns and its digest; NULL for what has none."""
    checked = table in _WITH_DIGESTS and version > 1
    return f"SELECT {COLUMNS[table]}, {'digest' if checked else 'NULL'} FROM {table}"


def with_digest(*columns: Any) -> tuple[Any, ...]:
    """The columns of a line of a table, and their digest."""
    return (*columns, _digest(columns))


def is_damaged(table: str, line: Sequence[Any]) -> bool:
    """Whether a line of a table is not what was written; of one without a digest, whether it cannot be read."""
    columns, expected = tuple(line[:-1]), line[-1]
    return not _is_readable(table, columns) if expected is None else _digest(columns) != expected


def _digest(columns: tuple[Any, ...]) -> str:
    """Of Python's spelling in ASCII: it tells types apart, exists for whatever a damaged file holds, and is quick."""
    return digest(ascii(columns))


def _is_readable(table: str, columns: Sequence[Any]) -> bool:
    if table == "environments":
        name, content = columns
        return _is_json(content) and digest(content) == name
    if table == "runs":
        return columns[3] in (OK, FAILED) and _is_json(columns[4])
    return _is_json(columns[1])


def _is_json(text: Any) -> bool:
    """Whether a text is JSON as this package writes it, in ASCII."""
    if not isinstance(text, str) or not text.isascii():
        return False
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def lines_of(records: Sequence[Record]) -> dict[str, Iterable[tuple[Any, ...]]]:
    """The lines of records in the tables of environments, points and runs."""
    points, runs, environments = {}, [], {}
    for record in records:
        where = canonical_text(record.environment)
        environment = digest(where)
        environments[environment] = (environment, where)
        points[record.point_id] = with_digest(record.point_id, canonical_text(record.point))
        run = (record.id, record.point_id, record.repeat, record.outcome, record.rows, record.error)
        runs.append(with_digest(*run, record.seconds, record.finished, environment))
    return {"environments": environments.values(), "points": points.values(), "runs": runs}


def made(connection: sqlite3.Connection) -> None:
    """The tables, in one transaction: a process killed here leaves an empty file, not half a store."""
    about = {"featlab": featlab.__version__, "made": strftime("%Y-%m-%dT%H:%M:%S%z")}
    statements = "".join(f"INSERT INTO about VALUES ('{name}', '{value}');" for name, value in about.items())
    marks = f"PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {SCHEMA};"
    connection.executescript(f"BEGIN; {_TABLES} {statements} {marks} COMMIT;")


def upgraded(connection: sqlite3.Connection) -> None:
    """From version 1, in one transaction; what is in the store stays unchecked."""
    connection.executescript(f"BEGIN; {_UPGRADE} PRAGMA user_version = {SCHEMA}; COMMIT;")


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """The version of a store; a database that is none, or is of a newer version, is refused."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION_ID:
        raise StoreFault(f"{path}: is no featlab study store")
    if version < 1:
        raise DamagedStore(f"{path}: the file is damaged: it says that its store format is {version}")
    if version > SCHEMA:
        maker = connection.execute("SELECT value FROM about WHERE name = 'featlab'").fetchone()
        raise NewerStore(
            f"{path}: made by a newer version of featlab ({maker[0] if maker else 'unknown'}, store format {version}; "
            f"this one knows {SCHEMA}); upgrade featlab, or choose another --store. Nothing was changed"
        )
    for table in COLUMNS:  # an error here, not where a half of it has been read
        connection.execute(f"{select(table, version)} LIMIT 0")
    return int(version)


@contextmanager
def told_clearly(path: Path) -> Iterator[None]:
    """SQLite's errors as faults of this store, in words."""
    try:
        yield
    except sqlite3.DatabaseError as fault:
        kind = DamagedStore if _code(fault) in _DAMAGE or _is_undecodable(fault) else StoreFault
        raise kind(f"{path}: {_words(fault, path)}") from fault


def remedy(path: Path) -> str:
    """What to do about a damaged store."""
    return f"`featlab study check {path} --repair` keeps what is sound, and what is not is pending again"


def _is_undecodable(fault: sqlite3.DatabaseError) -> bool:
    """Python's own complaint about a text, which has no code of SQLite's."""
    return not hasattr(fault, "sqlite_errorcode") and "decode" in str(fault)


def _code(fault: sqlite3.DatabaseError) -> int:
    return getattr(fault, "sqlite_errorcode", 0) & 0xFF


def _words(fault: sqlite3.DatabaseError, path: Path) -> str:
    code = _code(fault)
    if code == sqlite3.SQLITE_FULL:
        return "the disk is full; what was acknowledged before is safe. Make room, then run the same command again"
    if code == sqlite3.SQLITE_IOERR:
        return f"the disk is in trouble ({fault}): it may be full or failing; what was acknowledged is safe"
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return "the store is read-only; make it writable, or copy it to where you may write (--store)"
    if code == sqlite3.SQLITE_CANTOPEN:
        return "cannot be opened; is there such a directory, and may you write there?"
    if code == sqlite3.SQLITE_NOTADB:
        return "is no featlab study store"
    if _is_undecodable(fault):
        return f"the store is damaged: it holds a text that is no UTF-8; {remedy(path)}"
    if code in _DAMAGE:
        return f"the file is damaged ({fault}); {remedy(path)}"
    return f"SQLite says: {fault}"
