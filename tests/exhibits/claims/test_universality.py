from featlab.exhibits import ClaimVerdict


def test_inputs_need_not_be_gaussian(shown):
    report = shown("universality")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
