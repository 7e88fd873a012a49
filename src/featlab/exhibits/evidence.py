"""The numbers that each check was given, kept beside the report: later rules judge them again, without a run.

A run takes hours, and rules of judging change. With its evidence a published verdict is held to the rules of today:
what `judged_again` says must be what the report says, or the report is no longer true. What was run is another
question, which `featlab.exhibits.beforehand` answers. How it is written: `featlab.exhibits.evidence_file`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ParamSpec

from featlab.exhibits.verdict import Check, CheckResult

P = ParamSpec("P")


@dataclass(frozen=True)
class Evidence:
    """One test of numbers, and what it said.

    Attributes:
        test: the function of `featlab.exhibits.checks` that made it.
        given: its arguments after the statement. named: those given by name.
        statement, result, refused: as those of `Check`.

    Examples:
        >>> from featlab.exhibits import CheckResult, Evidence
        >>> Evidence("exponent", ([1, 2], [1, 2], None, 1.0), {"wrong": 2.0}, "y = x", CheckResult.HOLDS, True).test
        'exponent'
    """

    test: str
    given: Sequence[Any]
    named: Mapping[str, Any]
    statement: str
    result: CheckResult
    refused: bool


_tests: dict[str, Callable[..., Check]] = {}
_kept: ContextVar[list[Evidence] | None] = ContextVar("kept", default=None)


def evident(test: Callable[P, Check]) -> Callable[P, Check]:
    """A test of numbers that is kept while `keeping`; one that it asks itself is a part of it, and is not."""

    @functools.wraps(test)
    def judged(*given: P.args, **named: P.kwargs) -> Check:
        kept = _kept.get()
        token = _kept.set(None)
        try:
            check = test(*given, **named)
        finally:
            _kept.reset(token)
        if kept is not None:
            kept.append(Evidence(test.__name__, given[1:], named, check.statement, check.result, check.refused))
        return check

    _tests[test.__name__] = judged
    return judged


@contextmanager
def keeping() -> Iterator[list[Evidence]]:
    """Collects the evidence of the checks that are made within."""
    kept: list[Evidence] = []
    token = _kept.set(kept)
    try:
        yield kept
    finally:
        _kept.reset(token)


def judged_again(evidence: Evidence) -> Check:
    """What the rules of today say of the same numbers.

    Args:
        evidence: a test, as `read_evidence` gives them.

    Examples:
        >>> from featlab.exhibits import CheckResult, Evidence, judged_again
        >>> runs = {"a": [0.5, 0.52, 0.51], "b": [0.7, 0.71, 0.69]}
        >>> kept = Evidence("ordered", (runs,), {}, "b beats a", CheckResult.HOLDS, refused=True)
        >>> judged_again(kept).result == kept.result
        True
    """
    return known_tests()[evidence.test](evidence.statement, *evidence.given, **evidence.named)


def known_tests() -> Mapping[str, Callable[..., Check]]:
    """All tests that are kept: those of the modules that have any, which see this one."""
    from featlab.exhibits import checks, message_passing  # noqa: F401  # which register theirs

    return _tests
