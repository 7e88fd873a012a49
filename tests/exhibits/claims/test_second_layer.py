from featlab.exhibits import ClaimVerdict


def test_the_second_layer_stays_above_what_is_unknown(shown):
    report = shown("second-layer")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    numbers = {number.name: number for number in report.numbers}
    equal, opposite = (numbers[f"example {place}, biases N(0, 1): risk after 2 steps"].measured for place in (2, 1))
    assert opposite < 2 < equal
