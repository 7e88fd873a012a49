import numpy as np
import pytest
import xarray as xr

from featlab.exhibits import ClaimVerdict
from featlab.exhibits.claims.tied_risk import LINKS, RECOVERED, _expected, flow_from_the_right_side


def test_enough_neurons_have_no_other_critical_points(shown):
    report = shown("tied-risk")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)


@pytest.mark.parametrize(("s", "dim", "frozen_time", "finds"), [(1, 10**4, 0.0, True), (3, 10**4, 3.0, False)])
def test_the_time_for_which_the_second_layer_is_kept(s, dim, frozen_time, finds):
    """s = 1 needs none; for s = 3 one that does not grow with d is too short."""
    (row,) = flow_from_the_right_side({"s": s, "dim": dim, "frozen_time": frozen_time}, key=1)
    assert (row["cosine"] > RECOVERED) is finds


@pytest.mark.parametrize("s", [1, 2])
def test_the_expected_risk_falls_like_d_over_n(s):
    """To first order 2 s K (d - 1)/n above what the neurons leave at m = 1; not said of few samples."""
    knots, signs = np.linspace(-3, 3, 40), np.resize([1.0, -1.0], 40)

    def expected(samples, dim):
        fixed = {"target": LINKS[s], "noise": 0.01, "penalty": 0.01, "cosine": 1.0, "dim": dim, "samples": samples}
        return _expected(xr.Dataset({**fixed, "knots": ("unit", knots), "signs": ("unit", signs)}))

    floor = expected(10**9, 11)
    first, more, larger = (expected(*sizes) - floor for sizes in ((1000, 11), (2000, 11), (2000, 21)))
    assert first / more == pytest.approx(2, rel=0.02)
    assert first == pytest.approx(larger, rel=1e-9)
    assert np.isnan(expected(100, 11))
