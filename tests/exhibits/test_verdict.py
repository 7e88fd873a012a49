from dataclasses import replace

import pytest

from featlab.exhibits.verdict import Check, Finding, Outcome, Verdict, corrected, decide

HOLDS = Check("s", Outcome.HOLDS, "why", "wrong", True)


def outcome(value: Outcome) -> Check:
    return replace(HOLDS, outcome=value)


@pytest.mark.parametrize(
    ("checks", "expected"),
    [
        ([HOLDS, HOLDS], Verdict.REPRODUCED),
        ([HOLDS, replace(HOLDS, correction="2, not 3")], Verdict.CORRECTED),
        ([HOLDS, outcome(Outcome.CONVERGES)], Verdict.NOT_AT_THIS_SIZE),
        ([HOLDS, outcome(Outcome.CANNOT_TELL)], Verdict.NOT_AT_THIS_SIZE),
        ([replace(HOLDS, refused=False)], Verdict.NOT_AT_THIS_SIZE),
        ([outcome(Outcome.CANNOT_TELL), outcome(Outcome.FAILS)], Verdict.CONTRADICTED),
        ([replace(HOLDS, correction="2, not 3"), outcome(Outcome.FAILS)], Verdict.CONTRADICTED),
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
    found = corrected(replace(outcome(Outcome.FAILS), detail="3 is not 4."), amended, "4, not 3.")
    assert decide([found]) is Verdict.CORRECTED
    assert found.correction == "4, not 3. As stated: 3 is not 4. Corrected: 4 as measured."
    assert decide([corrected(outcome(Outcome.FAILS), outcome(Outcome.FAILS), "4, not 3.")]) is Verdict.CONTRADICTED
