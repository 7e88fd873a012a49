from featlab.exhibits import ClaimVerdict


def test_the_staircase_is_on_its_way(shown):
    """No plateau at d = 200; all else holds, and the earlier numbers are those with label noise, to their digits."""
    report = shown("spiked-krr-staircase")
    assert report.verdict is ClaimVerdict.NOT_AT_THIS_SIZE
    assert all(check.refused for check in report.checks)
    assert [check.passed for check in report.checks] == [True] * (len(report.checks) - 1) + [False]
    assert "1e+09" in report.checks[-1].needs
    assert all(abs(number.predicted - number.earlier) < 0.0035 for number in report.numbers)
