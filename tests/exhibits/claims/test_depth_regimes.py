import numpy as np
import pytest

from featlab.exhibits import ClaimVerdict
from featlab.exhibits.claims.depth_regimes import LEVEL, crossing


def test_three_layers_leave_less_than_the_best_two(shown):
    report = shown("depth-regimes")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    one, two, best, three, *linear = (number.measured for number in report.numbers)
    assert three < best < two < one
    assert linear[0] < linear[1]  # of a linear g the order is the other way round


def test_where_a_risk_falls():
    """On a straight line in log n; NaN where it is below from the first, or never."""
    ratios = np.array([2, 4, 8])
    assert crossing(np.array([1.0, LEVEL + 0.1, LEVEL - 0.1]), ratios) == pytest.approx(2.5)
    assert np.isnan(crossing(np.array([0.5, 0.4, 0.3]), ratios))
    assert np.isnan(crossing(np.array([1.0, 0.9, 0.8]), ratios))
