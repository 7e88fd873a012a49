from featlab.exhibits import ClaimVerdict


def test_features_have_the_predicted_spectrum_once_corrected(shown):
    """The printed slope misses by far; the corrected one to within five eigenvalues."""
    report = shown("feature-spectrum")
    assert report.verdict is ClaimVerdict.CORRECTED
    assert all(check.refused for check in report.checks)
    distances, numbers = (
        {one.name: getattr(one, what) for one in report.numbers} for what in ("predicted", "measured")
    )
    full, rank_one, printed = (
        distances[f"distance of the distributions, {name}"]
        for name in ("in full", "gradient of rank one", "slope as printed")
    )
    assert full < 0.05
    assert min(rank_one, printed) > 2 * full
    # With n >> d theory says 2.47 where 1.86 is without a step, and less than that if all |a_i| are equal.
    none, after, equal = (
        numbers[f"90% quantile over median, gamma = {which}"] for which in ("0", "8", "8, all |a_i| equal")
    )
    assert after > 1.2 * none > 1.2 * equal
