"""What a report may hold. A results directory may come from anyone: every value is read by its type, or refused.

A reader takes a value as JSON gives it and where it stands, and returns it; `Refused` says what was expected there.
"""

from __future__ import annotations

import json
import math
import re
import stat
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from featlab.exhibits.beforehand import Fixed
from featlab.exhibits.protocol import Size
from featlab.exhibits.verdict import Check, CheckResult, Number

MOST_BYTES = 2**23
_MOST_ENTRIES, _LONGEST_TEXT, _SHOWN = 10_000, 20_000, 60
_LARGEST_COUNT = 2**53
# Suffix by kind of picture; a name is a plain one, so that it lies beside its report.
_PICTURES = {"svg": ".svg", "png": ".png", "gif": ".gif", "still": ".png"}
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}(\.[A-Za-z0-9]{1,8})")

Reader = Callable[[Any, str], Any]
Word = TypeVar("Word", bound=StrEnum)


class Refused(ValueError):
    """A value that no report has; the message says where it stands and what was expected there."""

    def __init__(self, where: str, given: object, expected: str) -> None:
        shown = repr(given)
        shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."
        super().__init__(f"{where}: got {shown}, expected {expected}")


def read_record(path: Path) -> dict[str, Any]:
    """The JSON object in a file, as plain values.

    Raises:
        OSError: if it cannot be read. Refused: if it is too large, no JSON, nested too deeply, or no object.
    """
    try:
        record = json.loads(read_plain(path, MOST_BYTES).decode("utf-8"), parse_constant=_no_number)
    except Refused:
        raise
    except (ValueError, RecursionError) as fault:  # of JSON, of UTF-8, of a number with thousands of digits
        raise Refused("the file", f"{type(fault).__name__}: {fault}", "JSON in UTF-8, nested a few levels") from None
    if not isinstance(record, dict):
        raise Refused("the file", record, "a JSON object")
    return record


def read_plain(path: Path, most: int) -> bytes:
    """The content of a plain file that is no link; a pipe would be waited for, a link may lead anywhere.

    Raises:
        OSError: if it cannot be read. Refused: if it is something else, or larger than `most` bytes.
    """
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise Refused("the file", stat.filemode(found.st_mode), "a plain file, and no link")
    if found.st_size > most:
        raise Refused("the file", f"{found.st_size:,} bytes", f"at most {most:,}")
    return path.read_bytes()


def report_fields(record: Mapping[str, Any], exhibit: str, size: Size) -> dict[str, Any]:
    """The fields of the report of that exhibit at that size, each read by its type; `format` is not among them."""
    readers: dict[str, Reader] = {
        "verdict": text,
        "exhibit": _exactly(exhibit),
        "size": _exactly(str(size)),
        "checks": _listed(_checked, least=1),
        "numbers": _listed(_numbered),
        "remarks": _listed(text),
        "seconds": _duration,
        "runs": _count,
        "machines": _listed(_machine),
        "made": _moment,
        "looks": _looks,
        "fixed": _listed(_fixed),
        "pictures": _picture_names,
    }
    given = {name: value for name, value in record.items() if name != "format"}
    found = _object(given, "", readers, frozenset(["looks", "fixed"]))
    del found["verdict"]  # computed from the checks
    return {**found, "size": size}


def text(value: Any, where: str) -> str:
    """A text that can be shown: no control characters, which a terminal would obey, and no halves of characters."""
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        raise Refused(where, value, f"a text of at most {_LONGEST_TEXT:,} letters")
    if any(unicodedata.category(letter) in ("Cc", "Cs") and letter not in "\n\t" for letter in value):
        raise Refused(where, value, "a text without control characters")
    return value


def _no_number(word: str) -> Any:
    raise Refused("the file", word, "finite numbers, or null")


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300 or not math.isfinite(value):
        raise Refused(where, value, "a finite number")
    return value


def _duration(value: Any, where: str) -> float:
    if _number(value, where) < 0:
        raise Refused(where, value, "a number of seconds, not below 0")
    return value


def _count(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST_COUNT:
        raise Refused(where, value, "a whole number, not below 0")
    return value


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise Refused(where, value, "true or false")
    return value


def _moment(value: Any, where: str) -> str:
    try:
        datetime.fromisoformat(text(value, where))
    except ValueError:
        raise Refused(where, value, "a date and time in ISO 8601") from None
    return value


def _exactly(expected: str) -> Reader:
    def read(value: Any, where: str) -> str:
        if value != expected:
            raise Refused(where, value, f"{expected!r}, as its place says")
        return expected

    return read


def _one_of(words: type[Word]) -> Callable[[Any, str], Word]:
    def read(value: Any, where: str) -> Word:
        if not isinstance(value, str) or value not in list(words):
            raise Refused(where, value, "one of " + ", ".join(map(repr, map(str, words))))
        return words(value)

    return read


def _or_none(reader: Reader) -> Reader:
    return lambda value, where: None if value is None else reader(value, where)


def _listed(reader: Reader, least: int = 0) -> Reader:
    def read(value: Any, where: str) -> list[Any]:
        if not isinstance(value, list) or not least <= len(value) <= _MOST_ENTRIES:
            raise Refused(where, value, f"a list of {least} to {_MOST_ENTRIES:,} entries")
        return [reader(entry, f"{where}[{place}]") for place, entry in enumerate(value)]

    return read


def _object(value: Any, where: str, readers: Mapping[str, Reader], optional: frozenset[str] = frozenset()) -> Any:
    """A mapping with these names and no others; what may be missing is `optional`."""
    if not isinstance(value, dict):
        raise Refused(where, value, "an object")
    begin = f"{where}." if where else ""
    for name in value:
        if name not in readers:
            raise Refused(where or "the file", name, f"no other names than {', '.join(readers)}")
    for name in readers:
        if name not in value and name not in optional:
            raise Refused(f"{begin}{name}", None, "a value")
    return {name: reader(value[name], f"{begin}{name}") for name, reader in readers.items() if name in value}


def _mapping(reader: Reader) -> Reader:
    def read(value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict) or len(value) > _MOST_ENTRIES:
            raise Refused(where, value, "an object")
        return {text(name, where): reader(entry, f"{where}.{name:.40}") for name, entry in value.items()}

    return read


def _optional(kind: type) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind) if field.default is not MISSING)


def _checked(value: Any, where: str) -> Check:
    readers: dict[str, Reader] = dict.fromkeys(("statement", "detail", "control"), text)
    readers |= {"result": _one_of(CheckResult), "refused": _flag}
    readers |= dict.fromkeys(("correction", "needs"), _or_none(text))
    return Check(**_object(value, where, readers, _optional(Check)))


def _numbered(value: Any, where: str) -> Number:
    readers: dict[str, Reader] = dict.fromkeys(("predicted", "measured", "error", "earlier"), _or_none(_number))
    return Number(**_object(value, where, {"name": text, **readers}, _optional(Number)))


def _looks(value: Any, where: str) -> tuple[int, int]:
    found = tuple(_listed(_count, least=2)(value, where))
    if len(found) != 2 or not 1 <= found[0] <= found[1]:
        raise Refused(where, value, "at which look, and of how many")
    return found


def _fixed(value: Any, where: str) -> Fixed:
    return Fixed(**_object(value, where, {"digest": text, "since": _moment, "runs": _count}))


def _machine(value: Any, where: str) -> dict[str, Any]:
    git = {"commit": text, "changed": _flag}
    readers = {
        "device": _or_none(text),
        "cores": _or_none(_count),
        "python": _or_none(text),
        "packages": _or_none(_mapping(_or_none(text))),
        "git": _or_none(lambda entry, at: _object(entry, at, git)),
    }
    return _object(value, where, readers)


def _picture_names(value: Any, where: str) -> dict[str, str]:
    """Those that were kept with the report: all, one or none."""
    found = _object(value, where, dict.fromkeys(_PICTURES, text), frozenset(_PICTURES))
    for kind, name in found.items():
        plain = _FILE_NAME.fullmatch(name)
        if plain is None or plain[1] != _PICTURES[kind]:
            expected = f"the plain name of a {_PICTURES[kind]} file beside the report, such as figure{_PICTURES[kind]}"
            raise Refused(f"{where}.{kind}", name, expected)
    return found
