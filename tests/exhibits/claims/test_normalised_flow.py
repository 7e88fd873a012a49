from featlab.exhibits import ClaimVerdict


def test_only_the_normalised_flow_finds_the_target(shown):
    report = shown("normalised-flow")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    normalised, spherical, *_, weak = report.numbers
    assert normalised.predicted > 0.999  # the population's, from the same starts
    assert normalised.measured > 0.8
    assert max(spherical.predicted, spherical.measured) < 0.25
    assert weak.predicted > 0.999  # theta = d^-1/2 stops nothing
