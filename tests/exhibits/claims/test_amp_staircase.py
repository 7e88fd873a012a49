import numpy as np
import pytest

from featlab.exhibits import ClaimVerdict
from featlab.exhibits.claims.amp_staircase import TARGET, staircase_errors
from featlab.theory.bayes.errors import bayes_errors


def test_one_direction_comes_before_the_others(shown):
    report = shown("amp-staircase")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    measured = {number.name: number.measured for number in report.numbers}
    assert measured["overlap of h1, n = 2 d, d = 500"] > 0.9
    assert measured["overlap of h2, h3, n = 2 d, d = 500"] < 0.1


def test_errors_in_closed_form():
    """Up to the quadrature in three fields, good to .3%; the two are not each other."""
    found = bayes_errors(TARGET, np.diag([0.8, 0.3, 0.3]))
    plug_in, posterior = staircase_errors(np.array(0.8), np.array(0.3))
    assert (plug_in, posterior) == pytest.approx((found.plug_in, found.squared), rel=3e-3)
    assert plug_in != pytest.approx(found.squared, rel=0.1)
