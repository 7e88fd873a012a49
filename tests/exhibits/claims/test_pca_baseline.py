from featlab.exhibits import ClaimVerdict


def test_the_spectrum_of_spiked_inputs_and_what_pca_gets(shown):
    report = shown("pca-baseline")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
