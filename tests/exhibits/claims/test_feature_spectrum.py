from featlab.exhibits import ClaimVerdict


def test_features_have_the_predicted_spectrum_once_corrected(shown):
    """The printed slope misses by far; the corrected one to within five eigenvalues."""
    report = shown("feature-spectrum")
    assert report.verdict is ClaimVerdict.CORRECTED
    assert all(check.refused for check in report.checks)
    numbers = {number.name: number.measured for number in report.numbers}
    full, rank_one, printed = (
        numbers[f"distance of the distributions, {name}"]
        for name in ("in full", "gradient of rank one", "slope as printed")
    )
    assert full < 0.025
    assert min(rank_one, printed) > 4 * full
    assert abs(numbers["99% quantile over median, gamma = 4"] - 9) < 0.9, "the reference: 9 to 10 up to gamma = 4"
