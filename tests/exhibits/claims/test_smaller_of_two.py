from featlab.exhibits import ClaimVerdict


def test_the_smaller_of_samples_and_neurons_decides(shown):
    report = shown("smaller-of-two")
    assert report.verdict is ClaimVerdict.THROUGH_THEORY
    assert all(check.refused for check in report.checks)
