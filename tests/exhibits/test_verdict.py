from dataclasses import replace

import pytest

from featlab.exhibits.verdict import Check, CheckResult, ClaimVerdict, Finding, corrected, decide

HOLDS = Check("s", CheckResult.HOLDS, "why", "wrong", True)


def outcome(value: CheckResult) -> Check:
    return replace(HOLDS, outcome=value)


@pytest.mark.parametrize(
    ("checks", "expected"),
    [
        ([HOLDS, HOLDS], ClaimVerdict.REPRODUCED),
        ([HOLDS, replace(HOLDS, correction="2, not 3")], ClaimVerdict.CORRECTED),
        ([HOLDS, outcome(CheckResult.CONVERGES)], ClaimVerdict.NOT_AT_THIS_SIZE),
        ([HOLDS, outcome(CheckResult.CANNOT_TELL)], ClaimVerdict.NOT_AT_THIS_SIZE),
        ([replace(HOLDS, refused=False)], ClaimVerdict.NOT_AT_THIS_SIZE),
        ([outcome(CheckResult.CANNOT_TELL), outcome(CheckResult.FAILS)], ClaimVerdict.CONTRADICTED),
        ([replace(HOLDS, correction="2, not 3"), outcome(CheckResult.FAILS)], ClaimVerdict.CONTRADICTED),
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
    found = corrected(replace(outcome(CheckResult.FAILS), detail="3 is not 4."), amended, "4, not 3.")
    assert decide([found]) is ClaimVerdict.CORRECTED
    assert found.correction == "4, not 3. As stated: 3 is not 4. Corrected: 4 as measured."
    assert (
        decide([corrected(outcome(CheckResult.FAILS), outcome(CheckResult.FAILS), "4, not 3.")])
        is ClaimVerdict.CONTRADICTED
    )
