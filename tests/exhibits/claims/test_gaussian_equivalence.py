from featlab.exhibits import ClaimVerdict


def test_after_a_giant_step_the_equivalent_is_conditional(shown):
    report = shown("gaussian-equivalence")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    numbers = {number.name: number for number in report.numbers}
    real, plain = (numbers[f"risk, step giant, {name}"] for name in ("sigma(Wx)", "plain equivalent"))
    assert abs(real.measured - real.predicted) < 3 * real.error + real.predicted / 160**0.5
    assert plain.measured > 1.1 * real.measured
