from featlab.exhibits import ClaimVerdict


def test_the_second_step_on_one_batch_finds_he3(shown):
    report = shown("reused-batch")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    reused, fresh = report.numbers
    assert abs(reused.predicted + 0.0178) < 2e-4
    assert abs(reused.measured - reused.earlier) < 3 * (reused.error**2 + 0.0022**2) ** 0.5
    assert reused.measured < -8 * reused.error
    assert abs(fresh.measured) < 4 * fresh.error
