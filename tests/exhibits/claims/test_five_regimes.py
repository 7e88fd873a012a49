from featlab.exhibits import ClaimVerdict
from featlab.exhibits.verdict import CheckResult


def test_the_limits_are_the_talks_and_small_dimensions_are_far_from_them(shown):
    report = shown("five-regimes")
    assert report.verdict is ClaimVerdict.NOT_AT_THIS_SIZE
    variances, bound, *_ = report.checks
    assert variances.passed
    assert bound.passed
    assert not any(check.result is CheckResult.FAILS for check in report.checks)
    left = [number.predicted for number in report.numbers if number.name.startswith("risk")]
    assert [round(value, 6) for value in left] == [56, 54, 52, 4, 0]
