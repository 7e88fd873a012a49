from featlab.exhibits import ClaimVerdict


def test_two_neurons_specialise(shown):
    report = shown("committee")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    assert report.pictures.keys() >= {"gif", "still"}
