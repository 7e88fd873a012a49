from featlab.exhibits import ClaimVerdict


def test_the_overlap_follows_its_equation(shown):
    report = shown("online-sgd")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    assert [round(number.predicted, 3) for number in report.numbers] == [0.693, 0.707, 0.633]
    assert all(abs(number.measured - number.predicted) < 4 * number.error for number in report.numbers)
