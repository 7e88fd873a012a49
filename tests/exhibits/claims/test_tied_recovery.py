from featlab.exhibits import ClaimVerdict


def test_the_direction_is_found_to_the_predicted_precision(shown):
    report = shown("tied-recovery")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    few, _, found, unlikely, likely, _ = report.numbers
    # 1 - |m| = K d/n: within 5 standard errors, and 2 d/n = 4% of itself.
    assert abs(found.measured - found.predicted) < 5 * found.error + 0.04 * (1 - found.predicted)
    assert few.predicted is None  # n < d: there is no first order in d/n
    assert unlikely.measured < 0.49 <= likely.measured
