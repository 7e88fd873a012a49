from featlab.exhibits import ClaimVerdict


def test_the_inner_step_finds_an_even_target(shown):
    report = shown("extragradient-even")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    found, plain, _ = report.numbers
    assert abs(found.predicted - 0.695) < 0.006
    assert plain.measured < 0.2
