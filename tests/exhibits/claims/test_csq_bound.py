from featlab.exhibits import ClaimVerdict


def test_correlations_are_powers_and_the_bound_follows(shown):
    report = shown("csq-bound")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    numbers = {number.name: number for number in report.numbers}
    quadratic = numbers["correlation of He2 at <u, v> = 1/2"]
    assert abs(quadratic.measured - 0.25) < 5 * quadratic.error < 0.02
    assert abs(numbers["exponent of the bound for He3, largest d"].measured - 1.5) < 0.01
