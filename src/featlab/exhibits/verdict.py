"""The verdict of an exhibit is computed from its checks. Each check has a negative control: a test that refuses nothing
shows nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

# By which share of its size a mean must be larger than the one before it, unless a check asks for more: any difference
# is significant with runs enough, and one below this is nothing to speak of. Set when published orders had been seen:
# the smallest step is 8%, but with its errors one of them could not be told from 2%.
LEAST_EFFECT = 0.01


class CheckResult(StrEnum):
    """What a check says of its statement.

    Examples:
        >>> from featlab.exhibits import CheckResult
        >>> CheckResult.CONVERGES.value
        'tends to hold'
    """

    HOLDS = "holds"
    IN_THE_LIMIT = "holds in the limit"  # simulation is the prediction at finite size, which tends to what is claimed
    FAILS = "fails"
    CONVERGES = "tends to hold"  # it does not hold at this size, and the trend in the size goes towards it
    CANNOT_TELL = "cannot tell"


class ClaimVerdict(StrEnum):
    """What an exhibit says of its claim."""

    REPRODUCED = "reproduced"
    CORRECTED = "reproduced with a correction"
    THROUGH_THEORY = "reproduced through theory"
    NOT_AT_THIS_SIZE = "not reproduced at this size"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True)
class Check:
    """A statement that was put to the test.

    Attributes:
        statement: what must hold, in words and symbols.
        result: whether it does.
        detail: why, with numbers.
        control: the wrong statement, or the other run, that the same test must refuse.
        refused: whether it did.
        correction: if the source's own formula failed and another one holds: what was corrected, with both numbers.
        needs: if it does not hold at this size: what size it would need.

    Examples:
        >>> from featlab.exhibits import Check, CheckResult
        >>> check = Check("m = .8", CheckResult.HOLDS, "m = .802(3)", control="m = .96", refused=True)
        >>> check.passed
        True
        >>> Check("m = .8", CheckResult.HOLDS, "m = .8(5)", control="m = .96", refused=False).passed
        False
    """

    statement: str
    result: CheckResult
    detail: str
    control: str
    refused: bool
    correction: str | None = None
    needs: str | None = None

    @property
    def passed(self) -> bool:
        """Whether the statement holds and the test could have said otherwise."""
        return self.result in (CheckResult.HOLDS, CheckResult.IN_THE_LIMIT) and self.refused


@dataclass(frozen=True)
class Number:
    """A number of an exhibit: predicted, and measured with its standard error.

    Attributes:
        name: what it is.
        predicted: by theory, if it says so.
        measured: the mean over runs. error: its standard error.
        earlier: a reference that tests hold the measured one to; not shown.

    Examples:
        >>> from featlab.exhibits import Number
        >>> Number("overlap", predicted=0.8, measured=0.802, error=0.003).measured
        0.802
    """

    name: str
    predicted: float | None = None
    measured: float | None = None
    error: float | None = None
    earlier: float | None = None


@dataclass(frozen=True)
class Finding:
    """What an exhibit found: its checks, its numbers, and what else a reader must know.

    Attributes:
        checks, numbers: in the order in which they are shown.
        remarks: sentences.

    Examples:
        >>> from featlab.exhibits import Check, CheckResult, Finding, Number
        >>> holds = Check("m = .8", CheckResult.HOLDS, "m = .802(3)", control="m = .96", refused=True)
        >>> open_ = Check("q = .6", CheckResult.CANNOT_TELL, "q = .5(2)", control="q = .72", refused=False)
        >>> Finding([holds], [Number("overlap", 0.8, 0.802, 0.003)]).verdict.value
        'reproduced'
        >>> Finding([holds, open_]).verdict.value
        'not reproduced at this size'
    """

    checks: Sequence[Check]
    numbers: Sequence[Number] = ()
    remarks: Sequence[str] = ()

    @property
    def verdict(self) -> ClaimVerdict:
        """Computed from the checks."""
        return decide(self.checks)


def decide(checks: Sequence[Check]) -> ClaimVerdict:
    """One failed check contradicts the claim; one that cannot tell, tends to hold or refuses nothing leaves it open.
    Where one holds in the limit only, theory carries the claim, whatever was corrected besides."""
    if not checks:
        raise ValueError("an exhibit without a check has no verdict")
    if any(check.result is CheckResult.FAILS for check in checks):
        return ClaimVerdict.CONTRADICTED
    if not all(check.passed for check in checks):
        return ClaimVerdict.NOT_AT_THIS_SIZE
    if any(check.result is CheckResult.IN_THE_LIMIT for check in checks):
        return ClaimVerdict.THROUGH_THEORY
    if any(check.correction for check in checks):
        return ClaimVerdict.CORRECTED
    return ClaimVerdict.REPRODUCED


def corrected(stated: Check, amended: Check, correction: str) -> Check:
    """The source's own statement if it does not fail; if it does, the amended one, and what was corrected."""
    if stated.result is not CheckResult.FAILS:
        return stated
    both = f"{correction} As stated: {stated.detail} Corrected: {amended.detail}"
    return replace(amended, correction=both)


def through_theory(simulated: Check, limit: Check, statement: str) -> Check:
    """A statement about large sizes, from two checks: simulation is what theory says at a size that can be run, and
    theory tends to the statement. It fails if one of them does; if one cannot tell, neither can it.
    """
    both = (simulated, limit)
    result = CheckResult.IN_THE_LIMIT if all(check.passed for check in both) else CheckResult.CANNOT_TELL
    if any(check.result is CheckResult.FAILS for check in both):
        result = CheckResult.FAILS
    detail = f"At finite size: {simulated.detail} In the limit: {limit.detail}"
    control = f"{simulated.control}; in the limit, {limit.control}"
    return Check(statement, result, detail, control, all(check.refused for check in both), needs=limit.needs)
