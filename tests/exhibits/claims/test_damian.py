from featlab.exhibits import ClaimVerdict


def test_one_step_finds_the_directions(shown):
    report = shown("damian")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    cosine, risk, random_features = report.numbers
    assert abs(cosine.measured - cosine.predicted) < 4 * cosine.error + cosine.predicted / 40
    assert risk.measured < 0.75 * random_features.measured
