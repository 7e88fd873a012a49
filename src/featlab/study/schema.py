"""The store's tables, their version, and how SQLite's own errors read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from featlab.study.faults import NewerStore, StoreFault

# Raised when the tables change. A store of a higher number was made by a newer featlab.
SCHEMA = 1
# Marks the file as a featlab study, so that any other database is refused ("feat" in ASCII).
APPLICATION_ID = 0x66656174

TABLES = """
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


@contextmanager
def told_clearly(path: Path) -> Iterator[None]:
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


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a database that is no study store, or one of a newer version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
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
