from featlab.exhibits import ClaimVerdict


def test_no_step_size_helps_below_the_threshold(shown):
    report = shown("below-the-threshold")
    assert report.verdict is ClaimVerdict.CORRECTED
    assert all(check.refused for check in report.checks)
