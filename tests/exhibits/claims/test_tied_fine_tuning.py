from featlab.exhibits import ClaimVerdict


def test_the_excess_risk_falls_to_what_the_direction_leaves(shown):
    report = shown("tied-fine-tuning")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    numbers = {number.name: number for number in report.numbers}
    least = numbers["excess risk, s = 2, n' = 10000"]
    assert least.predicted < least.measured < 1.1 * least.predicted
    assert numbers["excess risk of random features, s = 2, most samples"].measured > 0.5
