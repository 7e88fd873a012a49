"""What can go wrong with a study, by name. A point that fails is no such fault: it is recorded with its error."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from featlab.errors import FeatlabError


class InvalidStudy(FeatlabError):
    """A description that cannot be run: unreadable, misspelt, empty, ambiguous.

    Examples:
        >>> from featlab.study import read_study
        >>> read_study("missing.toml")
        Traceback (most recent call last):
            ...
        featlab.study.faults.InvalidStudy: missing.toml: cannot be read: No such file or directory
    """


class StoreFault(FeatlabError):
    """A store that cannot be read or written. What it has acknowledged before is safe.

    Examples:
        >>> from pathlib import Path
        >>> import featlab
        >>> _ = Path("other.sqlite").write_bytes(b"x" * 4096)
        >>> featlab.study.open("other.sqlite")
        Traceback (most recent call last):
            ...
        featlab.study.faults.StoreFault: other.sqlite: is no featlab study store
    """


class StudyInUse(StoreFault):
    """Another process is writing to the store."""


class DamagedStore(StoreFault):
    """A store that does not hold what was written to it, such as after a fault of the disk."""


class NewerStore(StoreFault):
    """A store made by a newer version of featlab."""


class EngineFault(FeatlabError):
    """The engine cannot work on: its executor broke, its scheduler is gone, its command failed."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or nothing if no known name is close."""
    close = get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
