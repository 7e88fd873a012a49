from featlab.exhibits import ClaimVerdict


def test_gradients_shrink_with_the_information_exponent(shown):
    report = shown("gradient-size")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    means = [number for number in report.numbers if "|E G|" in number.name]
    assert [number.predicted for number in means] == [0, -0.5, -1]
    assert all(abs(number.measured - number.predicted) < 3 * number.error for number in report.numbers)
