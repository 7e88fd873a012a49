"""Is a store what was written to it? And what is not can be put right: a damaged run is pending again.

A run is damaged if its digest does not fit, if its point or its environment is damaged or gone, or if it has no digest
(an earlier version stored it) and its rows are no JSON. A run that an earlier version stored and that can be read is
*unchecked*: nobody can tell whether it has changed.
"""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from featlab.interruption import half_written
from featlab.study import store_format as form
from featlab.study.faults import DamagedStore
from featlab.study.store import Reader, Store

Lines = dict[Any, tuple[Any, ...]]


@dataclass(frozen=True)
class Health:
    """What was found in a store.

    Attributes:
        sound: runs that are what was written.
        unchecked: runs without a digest, which an earlier version of featlab stored.
        damaged: the ids of runs that are not what was written.
        complaints: what else is wrong: with the structure of the file, or with the description of a study.
        aside: after a repair, the name of a copy of the store as it was; None otherwise.
    """

    sound: int
    unchecked: int
    damaged: tuple[str, ...] = ()
    complaints: tuple[str, ...] = ()
    aside: Path | None = None

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.damaged and not self.complaints


@dataclass
class _Found:
    """The sound lines of each table by their first column, the ids of the damaged runs, and complaints."""

    tables: dict[str, Lines] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def health(self, aside: Path | None = None) -> Health:
        unchecked = sum(line[-1] is None for line in self.tables["runs"].values())
        sound = len(self.tables["runs"]) - unchecked
        return Health(sound, unchecked, tuple(self.damaged), tuple(self.complaints), aside)


def check(store: str | Path, *, repair: bool = False, wait: bool = False) -> Health:
    """Read everything in a store and say what is not what was written.

    Args:
        store: the file.
        repair: keep what is sound, so that the next `run` makes what is not. A copy of the store as it was is left.
        wait: with `repair`, if another process is writing to the store, wait for it instead of refusing.

    Examples:
        >>> import featlab
        >>> def square(point, key):
        ...     return [{"square": point["x"] ** 2}]
        ...
        >>> _ = featlab.study.run(featlab.study.Study(axes={"x": [1, 2, 3]}), square, "squares.sqlite")
        >>> featlab.study.check("squares.sqlite").sound
        3
    """
    if not repair:
        with Reader(store) as reader, reader.snapshot():
            return _examined(reader).health()
    with _opened(store, wait) as results:
        found = _examined(results)
        if found.health().good:
            return found.health()
        aside = results.copy_aside("damaged")
        _rebuild(results, found.tables)
        return found.health(aside)


def _opened(store: str | Path, wait: bool) -> Store:
    try:
        with Reader(store):  # it refuses what is no store, which a writer would make
            return Store(store, wait=wait)
    except DamagedStore as fault:
        reason = fault.__cause__ or fault
        raise DamagedStore(
            f"{store}: damaged beyond repair ({reason}); move it away, then run the study again"
        ) from fault


def _examined(reader: Reader) -> _Found:
    reader.read_anything()
    found = _Found(complaints=reader.complaints())
    lines = {table: _readable(reader, table, found) for table in form.COLUMNS}
    sound = found.tables
    for table, read in lines.items():
        sound[table] = {name: line for name, line in read.items() if not form.is_damaged(table, line)}
    sound["runs"] = {
        name: line
        for name, line in sound["runs"].items()
        if line[1] in sound["points"] and line[8] in sound["environments"]
    }
    found.damaged = sorted(ascii(name).strip("'") for name in lines["runs"].keys() - sound["runs"].keys())
    for number in lines["studies"].keys() - sound["studies"].keys():
        found.complaints.append(f"the description of study {number!a} is not what was written")
    return found


def _readable(reader: Reader, table: str, found: _Found) -> Lines:
    """The lines of a table, from both ends if a page between them is damaged."""
    lines: Lines = {}
    first = form.COLUMNS[table].split(",")[0]
    for order in ("", f"ORDER BY {first} DESC"):
        try:
            for line in reader.lines(table, order):
                lines.setdefault(line[0], line)
        except DamagedStore as fault:
            if not found.complaints:
                found.complaints.append(str(fault.__cause__))
        else:
            break
    return lines


def _rebuild(store: Store, tables: dict[str, Lines]) -> None:
    """A new database from the sound lines, then put in the place of the old one in one transaction."""
    beside = tempfile.TemporaryDirectory(dir=store.path.resolve().parent, prefix=".repair")
    with (
        beside as directory,
        half_written(Path(directory)),
        closing(sqlite3.connect(Path(directory) / "sound.sqlite")) as fresh,
    ):
        form.made(fresh)
        with fresh:
            for table, put in form.PUT.items():
                whole = tables[table].values()
                fresh.executemany(put, (line[:-1] for line in whole) if table == "environments" else whole)
        store.replace_by(fresh)
