from featlab.exhibits import ClaimVerdict


def test_one_step_learns_what_kernels_do_not(shown):
    report = shown("one-step-under-spike")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    by_name = {number.name: number for number in report.numbers}
    early = [
        by_name[f"He2 + He3, theta = d^0.4: risk, {who}"].measured for who in ("network, one step", "kernel ridge")
    ]
    assert early[0] < 0.35 < 0.7 < early[1]
    far = report.numbers[-1].predicted
    assert abs(far - 0.518) < 0.0015  # a reference value of k = 2 at d = 10^12, computed independently
