from featlab.exhibits import ClaimVerdict


def test_a_spike_along_the_target_stops_the_spherical_flow(shown):
    report = shown("spherical-flow-exponents")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    stopped = report.numbers[-1]  # k = 2, d = 10^4, theta = 10: sqrt(2/3)/theta
    assert abs(stopped.measured / ((2 / 3) ** 0.5 / 10) - 1) < 1e-3
