import numpy as np
import pytest

from featlab.exhibits import CheckResult, ClaimVerdict
from featlab.exhibits.claims.iterations import CRITICAL, RATE, RATIO, slope


def test_iterations_grow_with_the_logarithm_of_d_from_random_starts_only(shown):
    report = shown("iterations")
    # So few runs cannot tell slopes that are 20% apart; growth and none they can.
    assert report.verdict is ClaimVerdict.NOT_AT_THIS_SIZE
    grows, flat = report.checks
    assert (grows.result, flat.result, flat.refused) == (CheckResult.HOLDS, CheckResult.HOLDS, True)
    first, *_, last = (number for number in report.numbers if number.predicted is not None)
    # State evolution multiplies q by alpha/alpha_c = 3: 16 times the dimension takes log(16)/log(3) iterations more.
    assert last.predicted - first.predicted == pytest.approx(RATE * np.log(16), abs=0.1)
    assert pytest.approx(1 / np.log(RATIO / CRITICAL)) == RATE


def test_the_slope_of_medians():
    logs = np.log([10.0, 100.0, 1000.0])
    times = 2 * logs + np.linspace(-1, 1, 101)[:, None]
    found, reach = slope(logs, times)
    assert found == pytest.approx(2.0)
    assert 0 < reach < 0.5
