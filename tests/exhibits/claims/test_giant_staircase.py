from featlab.exhibits import ClaimVerdict


def test_opposite_teachers_climb_and_equal_ones_stop(shown):
    report = shown("giant-staircase")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    climbed, stopped = (number.measured for number in report.numbers)
    assert 0.171 / 2 < climbed < 2 * 0.171
    assert stopped < 2 / 1000**0.5
