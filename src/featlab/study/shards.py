"""On a cluster every task writes a file of its own: one record a line, appended whole and brought to the disk.

A killed task can leave a torn last line. It is skipped when the shards are read, and its run counts as not done.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from time import time_ns
from typing import NamedTuple

from featlab.study.faults import StoreFault
from featlab.study.records import Record, from_line

_SUFFIX = ".jsonl"


def cluster_directory(store: str | Path) -> Path:
    """Where what a cluster does for a store lies: submissions and shards."""
    return Path(store).with_suffix(".cluster")


class Shard:
    """A file that one process appends to. Its name is new in every process, so that no two ever share one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as fault:
            raise _unwritable(path, fault) from fault

    def append(self, record: Record) -> None:
        """Append a record; when this returns it is on the disk."""
        line = record.to_line().encode()
        try:
            written = os.write(self._file, line)
            if written < len(line):  # a full disk takes a part of it: the rest fails with the reason
                os.write(self._file, line[written:])
            os.fsync(self._file)
        except OSError as fault:
            raise _unwritable(self.path, fault) from fault

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)


class Line(NamedTuple):
    """A line of a shard: its record, or None if it is torn."""

    shard: Path
    record: Record | None


def read_shards(directory: Path, prefix: str = "") -> Iterator[Line]:
    """Every line of the shards in a directory, in the order of their names."""
    for path in sorted(directory.glob(f"{prefix}*{_SUFFIX}")):
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                yield Line(path, _record(line))


def new_shard(directory: Path, name: str) -> Shard:
    """A shard of this process for the task `name`."""
    return Shard(directory / f"{name}-{time_ns()}-{os.getpid()}{_SUFFIX}")


def _record(line: str) -> Record | None:
    if not line.endswith("\n"):
        return None
    try:
        return from_line(line)
    except (ValueError, TypeError):
        return None


def _unwritable(path: Path, fault: OSError) -> StoreFault:
    reason = fault.strerror or fault
    return StoreFault(f"{path}: cannot be written: {reason}; what was acknowledged before is safe")
