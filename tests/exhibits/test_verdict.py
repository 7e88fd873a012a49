from dataclasses import replace

import pytest

from featlab.exhibits.verdict import Check, CheckResult, ClaimVerdict, Finding, corrected, decide, through_theory

HOLDS = Check("s", CheckResult.HOLDS, "why", "wrong", True)


def resulting(value: CheckResult) -> Check:
    return replace(HOLDS, result=value)


@pytest.mark.parametrize(
    ("checks", "expected"),
    [
        ([HOLDS, HOLDS], ClaimVerdict.REPRODUCED),
        ([HOLDS, replace(HOLDS, correction="2, not 3")], ClaimVerdict.CORRECTED),
        ([HOLDS, resulting(CheckResult.CONVERGES)], ClaimVerdict.NOT_AT_THIS_SIZE),
        ([HOLDS, resulting(CheckResult.CANNOT_TELL)], ClaimVerdict.NOT_AT_THIS_SIZE),
        ([HOLDS, resulting(CheckResult.IN_THE_LIMIT)], ClaimVerdict.THROUGH_THEORY),
        ([resulting(CheckResult.IN_THE_LIMIT), replace(HOLDS, correction="2")], ClaimVerdict.THROUGH_THEORY),
        ([resulting(CheckResult.IN_THE_LIMIT), resulting(CheckResult.CANNOT_TELL)], ClaimVerdict.NOT_AT_THIS_SIZE),
        ([resulting(CheckResult.IN_THE_LIMIT), resulting(CheckResult.FAILS)], ClaimVerdict.CONTRADICTED),
        ([replace(HOLDS, refused=False)], ClaimVerdict.NOT_AT_THIS_SIZE),
        ([resulting(CheckResult.CANNOT_TELL), resulting(CheckResult.FAILS)], ClaimVerdict.CONTRADICTED),
        ([replace(HOLDS, correction="2, not 3"), resulting(CheckResult.FAILS)], ClaimVerdict.CONTRADICTED),
    ],
)
def test_the_verdict_follows_from_the_checks(checks, expected):
    assert decide(checks) is expected
    assert Finding(checks).verdict is expected


def test_without_a_check_there_is_no_verdict():
    with pytest.raises(ValueError, match="without a check"):
        decide([])


def test_a_correction_counts_only_where_the_source_fails():
    amended = replace(HOLDS, detail="4 as measured.")
    assert corrected(HOLDS, amended, "4, not 3.") is HOLDS
    found = corrected(replace(resulting(CheckResult.FAILS), detail="3 is not 4."), amended, "4, not 3.")
    assert decide([found]) is ClaimVerdict.CORRECTED
    assert found.correction == "4, not 3. As stated: 3 is not 4. Corrected: 4 as measured."
    assert (
        decide([corrected(resulting(CheckResult.FAILS), resulting(CheckResult.FAILS), "4, not 3.")])
        is ClaimVerdict.CONTRADICTED
    )


@pytest.mark.parametrize(
    ("simulated", "limit", "result"),
    [
        (HOLDS, HOLDS, CheckResult.IN_THE_LIMIT),
        (resulting(CheckResult.FAILS), HOLDS, CheckResult.FAILS),
        (HOLDS, resulting(CheckResult.FAILS), CheckResult.FAILS),
        (resulting(CheckResult.CANNOT_TELL), HOLDS, CheckResult.CANNOT_TELL),
        (HOLDS, replace(HOLDS, refused=False), CheckResult.CANNOT_TELL),
    ],
)
def test_theory_carries_what_simulation_confirms(simulated, limit, result):
    assert through_theory(simulated, limit, "s").result is result
