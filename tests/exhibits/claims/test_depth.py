from featlab.exhibits import ClaimVerdict


def test_three_layers_leave_less_than_two_can(shown):
    report = shown("depth")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    two, three = report.numbers
    assert abs(two.predicted - 0.190) < 1e-3
    assert abs(two.measured - two.earlier) < 3 * two.error
    assert abs(three.measured - three.earlier) < 3 * three.error
