"""Files that survive a kill while they grow: one JSON object a line with its digest, appended whole, on the disk.

A kill can leave a torn last line, a disk a damaged one. Both are told from what was written, and only they are lost.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_DIGITS = 32


def digest(text: str) -> str:
    """128 bits of the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def to_line(content: Mapping[str, Any]) -> str:
    """The content as one line with its digest; non-finite numbers are spelled NaN and Infinity."""
    return _json({**content, "digest": digest(_json(content))}) + "\n"


def checked(content: Any) -> dict[str, Any]:
    """What a line holds besides its digest; ValueError if that does not fit."""
    found = dict(content) if isinstance(content, dict) else {}
    expected = found.pop("digest", None)
    if expected is None or digest(_json(found)) != expected:
        raise ValueError("the line is not what was written")
    return found


def read_lines(path: Path) -> Iterator[dict[str, Any] | None]:
    """The content of every line; None for one that is torn or damaged."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                yield checked(json.loads(line))
            except ValueError:
                yield None


class LineFile:
    """A file that one process appends to; what an earlier one has left torn stays a line of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        torn = path.is_file() and _is_torn(path)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        if torn:
            os.write(self._file, b"\n")

    def append(self, content: Mapping[str, Any]) -> None:
        """Append a line; when this returns it is on the disk."""
        line = to_line(content).encode()
        written = os.write(self._file, line)
        if written < len(line):  # a full disk takes a part of it: the rest fails with the reason
            os.write(self._file, line[written:])
        os.fsync(self._file)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)


def _is_torn(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":"))
