from featlab.exhibits import ClaimVerdict


def test_the_risk_is_the_theorys_and_the_theory_has_the_steps(shown):
    report = shown("random-features-degree")
    assert report.verdict is ClaimVerdict.THROUGH_THEORY
    assert all(check.refused for check in report.checks)
    for number in report.numbers:
        assert abs(number.measured - number.predicted) < 3 * number.error + 3 / 24
