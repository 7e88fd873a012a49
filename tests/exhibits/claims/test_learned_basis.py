from featlab.exhibits import ClaimVerdict


def test_a_giant_step_leaves_the_predicted_basis(shown):
    """The means are as printed, the slopes once corrected."""
    report = shown("learned-basis")
    assert report.verdict is ClaimVerdict.CORRECTED
    assert all(check.refused for check in report.checks)
