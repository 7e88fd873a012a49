from featlab.exhibits import ClaimVerdict


def test_one_step_learns_what_kernels_do_not(shown):
    report = shown("one-step-under-spike")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    network, kernel, features, *_, far = report.numbers
    assert network.measured < 0.35 < 0.7 < min(kernel.measured, features.measured)
    assert abs(far.predicted - far.earlier) < 0.0015
