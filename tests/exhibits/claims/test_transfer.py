from featlab.exhibits import ClaimVerdict


def test_a_new_target_on_a_known_direction_costs_no_dimension(shown):
    report = shown("transfer")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
