from featlab.exhibits import ClaimVerdict


def test_the_inner_step_finds_the_direction(shown):
    report = shown("extragradient")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    with_inner, plain, half_time = report.numbers
    assert abs(with_inner.measured - 0.964) < 3 * (with_inner.error**2 + 0.003**2 / 32) ** 0.5 + 0.005
    assert plain.measured < 0.1
    assert abs(half_time.measured - 25.6) < 4 * half_time.error + 0.5
