"""The files of a store on the disk: who may write, which file it is, how it is copied, what lies beside it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from time import strftime

from featlab.interruption import half_written
from featlab.study.faults import StoreFault, StudyInUse

_WAIT_SECONDS = 10**6
# A write-ahead log needs memory shared between processes, which these do not give.
_NETWORK_FILE_SYSTEMS = ("nfs", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb", "afs", "glusterfs", "fuse", "9p")


def locked(store: Path, *, wait: bool) -> sqlite3.Connection:
    """One writer at a time, told by a lock that ends with its process, however it ends; closing it lets the next in.

    It is an exclusive transaction on a small SQLite file beside the store: the operating system lets go of it when the
    process dies, on every platform that SQLite runs on. It lies beside the file itself, wherever links to it lie.
    """
    _refuse_second_names(store)
    file = store.resolve()
    path = file.with_name(file.name + ".lock")
    try:
        connection = sqlite3.connect(path, timeout=_WAIT_SECONDS if wait else 0, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as fault:
        if fault.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            raise StudyInUse(f"{store}: another process is writing to it; wait for it (--wait), or stop it") from None
        raise StoreFault(f"{store}: cannot be written: {fault} ({path})") from None
    return connection


def _refuse_second_names(store: Path) -> None:
    """A file with two hard links would have two locks and two logs, of which neither knows the other."""
    if store.exists() and (links := store.stat().st_nlink) > 1:
        raise StoreFault(
            f"{store}: the file has {links} names (hard links), which SQLite cannot keep apart; "
            "copy it to a name of its own (cp), and use that"
        )


def identity(path: Path) -> tuple[int, int] | None:
    """Which file lies at a path now: its device and number; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def copied(source: sqlite3.Connection, destination: Path) -> None:
    """A copy of a database with all that is committed, its log included, on the disk, whole or not at all.

    SQLite copies page by page in one transaction, whoever is reading meanwhile.
    """
    unfinished = destination.with_name(f".{destination.name}.{os.getpid()}")
    every = [unfinished.with_name(unfinished.name + suffix) for suffix in ("", "-wal", "-shm", "-journal")]
    try:
        with half_written(*every):
            with closing(sqlite3.connect(unfinished)) as target:
                source.backup(target)
            unfinished.rename(destination)
        _to_disk(destination.parent)
    except OSError as fault:
        raise StoreFault(f"{destination}: cannot be written: {fault.strerror or fault}") from fault
    finally:
        for file in every:
            file.unlink(missing_ok=True)


def _to_disk(directory: Path) -> None:
    """Bring the names in a directory to the disk, where a directory can be opened."""
    if os.name == "posix":
        opened = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def free_name(store: Path, why: str) -> Path:
    """A name beside the store's file that nothing has: `sweep.until-20260131-120000.sqlite`."""
    file = store.resolve()
    stamp, number = f"{file.stem}.{why}-{strftime('%Y%m%d-%H%M%S')}", 1
    name = file.with_name(stamp + file.suffix)
    while name.exists():
        number += 1
        name = file.with_name(f"{stamp}-{number}{file.suffix}")
    return name


def cluster_directory(store: str | Path) -> Path:
    """Where what a cluster does for a store lies: submissions and shards. One for each file, whatever links to it.

    It has the whole name of the file before it: `a.sqlite` and `a.db` are two stores.
    """
    file = Path(store).resolve()
    return file.with_name(file.name + ".cluster")


def move_cluster(store: Path, aside: Path) -> None:
    """Let what a cluster did for a store go with the copy that was set aside."""
    home = cluster_directory(store)
    try:
        if home.exists():
            home.rename(cluster_directory(aside))
    except OSError as fault:
        raise StoreFault(
            f"{home}: cannot be set aside: {fault.strerror or fault}; the store is as it was, and {aside} a copy of it"
        ) from fault


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
