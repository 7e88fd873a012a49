"""What a request is answered with when it is not answered: a status and one record for all."""

from __future__ import annotations

import json
import re
from typing import Any

from featlab.errors import FeatlabError, InvalidParameter, InvalidTarget

SCHEMA = "featlab.explorer/1"
_LONGEST = 1000
_OTHER_NAME = re.compile(r"[a-gi-zA-Z]_?([1-9]|[12]\d|3[0-2])")
_MEANT = re.compile(r"'([^']{1,80})'")


class Fault(Exception):
    """A request that is refused or failed, with its HTTP status."""

    def __init__(
        self,
        status: int,
        kind: str,
        message: str,
        *,
        parameter: str | None = None,
        columns: list[int] | None = None,
        suggestions: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        said = message if len(message) <= _LONGEST else message[: _LONGEST - 3] + "..."
        self.record: dict[str, Any] = {
            "kind": kind,
            "message": said,
            "parameter": parameter,
            "columns": columns,
            "suggestions": list(suggestions),
        }

    @property
    def body(self) -> bytes:
        """The answer."""
        return encoded({"error": self.record})


def encoded(content: dict[str, Any]) -> bytes:
    """An answer as bytes: JSON in ASCII, the version of the schema first; numbers that are not finite are faults."""
    return json.dumps({"schema": SCHEMA, **content}, allow_nan=False).encode("ascii")


def refusal(fault: FeatlabError, text: str = "") -> Fault:
    """A misuse in the words of the command line; of a target, with the characters that it speaks of."""
    if isinstance(fault, InvalidTarget):
        said = f"{fault.reason}; {fault.suggestion}" if fault.suggestion else fault.reason
        meant = tuple(_MEANT.findall(fault.suggestion or "")) if "did you mean" in (fault.suggestion or "") else ()
        columns = _columns(fault.column, text)
        meant = meant or _habit(fault.reason, columns, text)
        return Fault(422, "target", said, parameter="target", columns=columns, suggestions=meant)
    name = fault.name if isinstance(fault, InvalidParameter) else None
    meant = tuple(_MEANT.findall(str(fault).rpartition("did you mean")[2])) if "did you mean" in str(fault) else ()
    return Fault(422, "value" if name else "question", str(fault), parameter=name, suggestions=meant)


def _habit(reason: str, columns: list[int] | None, text: str) -> tuple[str, ...]:
    """What to write in the place of a habit from elsewhere: h1^2, 2h1, x1."""
    if columns is None:
        return ()
    word = text[columns[0] - 1 : columns[1]]
    if word == "^":
        return ("**",)
    if reason.startswith("an operator is missing"):
        return (f"*{word}",)
    other = _OTHER_NAME.fullmatch(word)
    return () if other is None else (f"h{other[1]}",)


def _columns(column: int | None, text: str) -> list[int] | None:
    """The first and the last character of the word that begins there, from 1 on."""
    if column is None:
        return None
    word = re.compile(r"\w+|.", re.DOTALL).match(text, column - 1)
    return [column, column if word is None else word.end()]
