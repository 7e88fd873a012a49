from featlab.exhibits import ClaimVerdict


def test_one_step_on_enough_samples_finds_the_span(shown):
    report = shown("one-giant-step")
    assert report.verdict is ClaimVerdict.CORRECTED
    assert all(check.refused for check in report.checks)
    numbers = {number.name: number for number in report.numbers}
    one = numbers["cosine with the span, l = 1, d = 500, n = d^1.5"]
    assert abs(one.measured - 0.548) < 3 * one.error + 0.005
    two = numbers["coefficient of the step, l = 2"]
    assert abs(two.measured - 0.3989) < 3 * two.error
