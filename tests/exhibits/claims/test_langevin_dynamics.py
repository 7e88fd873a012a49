import numpy as np
import pytest

from featlab.exhibits import CheckResult
from featlab.exhibits.claims.langevin_dynamics import POWER, fitted_rate, jackknife, steadiness

LOOKS = np.linspace(0, 3, 301)


def test_rate_distance_and_annealing_are_those_of_the_mean_field(shown):
    report = shown("langevin-dynamics")
    # So few neurons do not refuse a rate that is 20% off, nor such a distance; what can be told holds.
    assert {check.result for check in report.checks} <= {CheckResult.HOLDS, CheckResult.CANNOT_TELL}
    told = [check for check in report.checks if check.refused]
    assert len(told) >= 8
    assert all(check.result is CheckResult.HOLDS for check in told)
    first, *_ = report.numbers
    assert first.measured == pytest.approx(first.predicted, abs=4 * first.error)


def test_an_exponential_keeps_its_rate_and_a_power_does_not():
    assert fitted_rate(LOOKS, np.exp(-1.3 * LOOKS)) == pytest.approx(1.3)
    assert steadiness(LOOKS, np.exp(-1.3 * LOOKS)) == pytest.approx(1.0)
    assert steadiness(LOOKS[1:], LOOKS[1:] ** -2.0) == pytest.approx(POWER, abs=0.03)


def test_the_jackknife_of_a_mean_is_its_error():
    runs = np.random.default_rng(1).normal(2.0, 0.5, (40, 1))
    found, reach = jackknife(lambda _, mean: float(mean[0]), LOOKS, runs)
    assert found == pytest.approx(runs.mean())
    assert reach == pytest.approx(2.576 * runs.std(ddof=1) / 40**0.5, rel=1e-3)
