from featlab.exhibits import ClaimVerdict


def test_the_direction_is_found_to_the_predicted_precision(shown):
    report = shown("tied-recovery")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    found = report.numbers[0]
    # 1 - |m| = K d/n: within 5 standard errors, and d/n = 4% of itself.
    assert abs(found.measured - found.predicted) < 5 * found.error + 0.04 * (1 - found.predicted)
