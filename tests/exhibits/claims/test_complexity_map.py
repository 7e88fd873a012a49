from featlab.exhibits import ClaimVerdict


def test_a_spike_is_worth_samples(shown):
    report = shown("complexity-map")
    start, order, *bounds = report.checks
    assert start.passed
    assert order.passed
    assert report.verdict is ClaimVerdict.NOT_AT_THIS_SIZE
    assert len(bounds) == 4
    assert all("paper size" in check.needs for check in bounds)
