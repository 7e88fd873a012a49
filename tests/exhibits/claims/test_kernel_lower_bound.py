from featlab.exhibits import ClaimVerdict


def test_the_samples_of_half_capture_have_the_claimed_power(shown):
    report = shown("kernel-lower-bound")
    assert report.verdict is ClaimVerdict.THROUGH_THEORY
    assert all(check.refused for check in report.checks)
