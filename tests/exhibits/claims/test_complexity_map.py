from featlab.exhibits import ClaimVerdict


def test_a_spike_is_worth_samples(shown):
    report = shown("complexity-map")
    assert report.verdict is ClaimVerdict.THROUGH_THEORY
    assert all(check.refused for check in report.checks)
    numbers = {number.name: number for number in report.numbers}
    dear, cheap = (
        numbers[f"n of equal signal and noise, d = 48, (g1, g2) = {place}"] for place in ("(0.5, 0)", "(0, 0.9)")
    )
    assert dear.measured > 20 * cheap.measured
