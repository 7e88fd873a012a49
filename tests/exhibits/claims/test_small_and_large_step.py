from featlab.exhibits import ClaimVerdict


def test_only_the_large_step_goes_below_the_floor(shown):
    report = shown("small-and-large-step")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    *small, large = (number.measured for number in report.numbers)
    assert min(small) > 1.3, "risks over the floor"
    assert large < 0.7
