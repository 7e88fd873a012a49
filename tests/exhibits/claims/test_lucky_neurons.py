from featlab.exhibits import ClaimVerdict


def test_the_best_neuron_is_as_near_as_predicted_and_learns(shown):
    report = shown("lucky-neurons")
    assert report.verdict is ClaimVerdict.THROUGH_THEORY
    assert all(check.refused for check in report.checks)
    *overlaps, lucky, typical, slope = report.numbers
    assert all(abs(one.measured - one.predicted) < 5 * one.error for one in overlaps)
    assert lucky.measured > 2 * typical.measured
    assert abs(slope.predicted - 0.1438) < 1e-4  # log(4/3)/2
