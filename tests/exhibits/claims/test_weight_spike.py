from featlab.exhibits import ClaimVerdict


def test_a_singular_value_leaves_the_bulk(shown):
    """The reference numbers, of d = 1000 and 2000, within three standard errors and the 5% that d = 400 may differ."""
    report = shown("weight-spike")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    assert len(report.numbers) == 6
    for number in report.numbers:
        assert abs(number.measured - number.earlier) < 3 * number.error + 0.05 * number.earlier
