from featlab.exhibits import ClaimVerdict


def test_a_giant_step_beats_linear_methods(shown):
    """The reference is of d = 160: within three standard errors, and the 1/sqrt(d) = 10% that d = 100 may differ."""
    report = shown("beyond-linear")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    numbers = {number.name: number for number in report.numbers}
    for name in ("excess risk, tanh, n = 2d", "excess risk, erf, n = 8d"):
        number = numbers[name]
        assert abs(number.measured - number.earlier) < 3 * number.error + 0.1 * number.earlier
    assert abs(numbers["K*, relu on relu"].predicted - 0.0401) < 1e-4
