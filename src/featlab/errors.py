"""Named exceptions: a misuse quotes what it got, what was expected, and what to do.

A numerical failure (not converged, diverged) is *not* an exception in featlab; it is a value with its remedy.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def or_meant(given: object, known: Iterable[str]) -> str:
    """The end of a sentence that refuses a word: the known one that is like it, if there is one.

    Examples:
        >>> or_meant("orthognal", ["sphere", "orthogonal"])
        "; did you mean 'orthogonal'?"
    """
    close = get_close_matches(str(given), list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


class FeatlabError(Exception):
    """Base class of every exception that featlab raises on purpose."""


class Unwritable(FeatlabError):
    """A file or directory that cannot be written; what was there before still is."""


class InvalidTarget(FeatlabError):
    """A target that cannot be used: not in the language, or not an admissible function.

    Attributes:
        reason: what is wrong, in words.
        text: the text as given (shortened when long), or None for a target that was not given as text.
        column: the 1-based column where the fault was seen, or None.
        suggestion: what to do instead, or None.
    """

    def __init__(
        self,
        reason: str,
        *,
        text: str | None = None,
        column: int | None = None,
        suggestion: str | None = None,
    ) -> None:
        self.reason = reason
        self.text = text if text is None or len(text) <= 80 else text[:77] + "..."
        self.column = column
        self.suggestion = suggestion
        where = f" at column {column}" if column is not None else ""
        given = f"got {self.text!r}: " if self.text is not None else ""
        remedy = f"; {suggestion}" if suggestion else ""
        super().__init__(f"{given}{reason}{where}{remedy}")


class InvalidParameter(FeatlabError, ValueError):
    """A parameter outside its range; the message names it, quotes it and says what is allowed.

    Examples:
        >>> import featlab
        >>> featlab.OnlineSgd(step_size=-1.0)
        Traceback (most recent call last):
            ...
        featlab.errors.InvalidParameter: step_size: got -1.0, expected a step ...
    """

    def __init__(self, name: str, given: object, expected: str) -> None:
        self.name, self.given, self.expected = name, given, expected
        super().__init__(f"{name}: got {given!r}, expected {expected}")


class MissingParameter(InvalidParameter):
    """A parameter that was not given and is needed; the message says by whom, where that is known, and what it is."""

    def __init__(self, name: str, what: str, by: str = "") -> None:
        super().__init__(name, None, what)
        self.by = by
        self.args = (f"{name}: {by} needs it: {what}" if by else f"{name} is needed: {what}",)
