from featlab.exhibits import ClaimVerdict


def test_the_published_cosines_come_out(shown):
    report = shown("squared-loss-extragradient")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    assert [number.earlier for number in report.numbers] == [0.365, 0.127, 0.425, 0.045]
    for number in report.numbers:  # read off a figure, of a few seeds
        assert abs(number.measured - number.earlier) < 4 * number.error + 0.005, number
