from featlab.exhibits import ClaimVerdict


def test_only_the_poles_are_minima(shown):
    report = shown("tied-critical-points")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    at_the_pole = next(number for number in report.numbers if number.name == "lowest loss at m = 1, s = 1")
    assert abs(at_the_pole.measured - at_the_pole.predicted) < 5 * at_the_pole.error < 0.005
