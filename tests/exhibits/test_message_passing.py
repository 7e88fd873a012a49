"""Where a small overlap neither grows nor falls: the constant that is claimed is judged, not only state evolution."""

import numpy as np
import pytest
import xarray as xr

from featlab import exhibits as ex
from featlab.exhibits import CheckResult
from featlab.exhibits.message_passing import located

CRITICAL, START = 2.5, 0.002
RATIOS = np.array([2.2, 2.4, 2.6, 2.8])


class Shown:
    """Growth alpha / (alpha_c (1 + q)) by state evolution, and runs that have it up to a factor and chance."""

    def __init__(self, factor):
        self.factor = factor

    def studies(self, study):
        return [study]

    def study(self, of):
        return of.study

    def fields(self, study, where):
        return {"within": 0.01, "start_overlap": START}

    def predicted(self, of):
        return xr.DataArray(RATIOS / (CRITICAL * (1 + START)), {"ratio": RATIOS}, ("ratio",))

    def measured(self, of):
        chance = 1 + 0.002 * np.random.default_rng(0).standard_normal((24, RATIOS.size))
        return xr.DataArray(self.factor * chance, {"ratio": RATIOS}, ("run", "ratio")) * self.predicted(of)


@pytest.mark.parametrize(
    ("claimed", "factor", "result"),
    [
        (CRITICAL, 1.0, CheckResult.HOLDS),
        (0.98 * CRITICAL, 1.0, CheckResult.FAILS),
        (1.02 * CRITICAL, 1.0, CheckResult.FAILS),
        (CRITICAL, 1.01, CheckResult.FAILS),
    ],
)
def test_a_wrong_constant_is_refused_as_wrong_runs_are(claimed, factor, result):
    (check,) = located(ex.Of("growth", "growth"), claimed)(Shown(factor), "it is there")
    assert check.result is result
    assert check.refused is (factor == 1.0)
