from featlab.exhibits import ClaimVerdict


def test_the_search_takes_d_squared_steps_at_exponent_three(shown):
    report = shown("search-time")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
