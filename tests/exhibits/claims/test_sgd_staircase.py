from featlab.exhibits import ClaimVerdict


def test_sgd_climbs_a_staircase_at_a_pace_that_does_not_depend_on_the_dimension(shown):
    report = shown("sgd-staircase")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
