from featlab.exhibits import ClaimVerdict


def test_one_step_under_a_spike_across_the_target(shown):
    report = shown("misaligned-step")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
