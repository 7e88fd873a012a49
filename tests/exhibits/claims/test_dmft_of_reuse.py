from featlab.exhibits import ClaimVerdict


def test_the_kink_belongs_to_the_mean_field(shown):
    report = shown("dmft-of-reuse")
    assert report.verdict is ClaimVerdict.CORRECTED
    assert all(check.refused for check in report.checks)
    full, without = report.numbers
    assert abs(full.measured - full.predicted) < 4 * full.error
    assert abs(full.measured - full.earlier) < 4 * (full.error**2 + 0.0034**2) ** 0.5
    assert without.predicted - without.measured > 8 * without.error
