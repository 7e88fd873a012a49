"""Files that are whole or not there: written beside their place under another name, then moved to it.

A file that was there before is kept until the new one is complete: a full disk or a kill never leaves half of one.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from featlab.interruption import half_written

# What the umask of the user allows, but never writing by everybody: who writes to a results directory decides what a
# reader of it sees.
_MODE, _DIRECTORY_MODE = 0o664, 0o775
# Enough to notice a full disk before a run; a page is a few times larger.
_TRIED_BYTES = 2**16


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give a path to write to; what is there at the end is moved to `path`, or removed if anything was raised.

    A link is followed, and a file that is replaced keeps its permissions. What is no plain file (a pipe, a device) is
    written to at the end, for it cannot be moved to.

    Raises:
        OSError: if it cannot be written; then `path` is as it was.
    """
    place = _place(path)
    if place.exists() and not place.is_file():
        with tempfile.TemporaryDirectory(prefix="featlab-") as directory, half_written(Path(directory)):
            beside = Path(directory) / f"whole{place.suffix}"
            yield beside
            with beside.open("rb") as source, place.open("wb") as sink:
                shutil.copyfileobj(source, sink)
        return
    with _new_beside(place) as beside:
        yield beside
        _settle(beside)
        os.replace(beside, place)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    with whole(path) as beside:
        beside.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    """The same for a text, in UTF-8."""
    write_bytes(path, text.encode("utf-8"))


def make_directory(path: Path) -> None:
    """A directory and all that are missing above it; none that everybody may write to. What is there already stays."""
    for one in (*(above for above in reversed(path.parents) if not above.exists()), path):
        one.mkdir(_DIRECTORY_MODE, exist_ok=True)


def check_writable(path: Path) -> None:
    """Notice before a run that its result could not be written: a little is written beside it, and removed.

    Raises:
        OSError: if the directory is missing or read-only, the disk full, the name too long, the file not one's own.
    """
    place = _place(path)
    if place.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if place.exists() and not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
    if place.exists() and not place.is_file():
        return
    with _new_beside(place) as beside:
        beside.write_bytes(bytes(_TRIED_BYTES))
        _settle(beside)


def fault_words(fault: OSError) -> str:
    """Why a file cannot be used, in the words of the system."""
    return fault.strerror or str(fault)


def _place(path: Path) -> Path:
    """Where a path leads; links of a circle, and names that are too long, are refused by asking the system."""
    with suppress(FileNotFoundError):  # a new file, or a link to one
        os.stat(path)
    return Path(os.path.realpath(path))


@contextmanager
def _new_beside(place: Path) -> Iterator[Path]:
    """An empty file in the same directory, with a short name that nobody has, and the permissions of the old one.

    What is still there at the end, however it comes, is removed.
    """
    beside = place.with_name(f".featlab-{secrets.token_hex(8)}{place.suffix[:8]}")
    with half_written(beside):
        os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), _MODE))
        try:
            if place.exists():
                os.chmod(beside, stat.S_IMODE(place.stat().st_mode))
            yield beside
        finally:
            beside.unlink(missing_ok=True)


def _settle(path: Path) -> None:
    """Wait until it is on the disk: some file systems notice only then that they are full."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
