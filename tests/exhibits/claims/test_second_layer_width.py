import numpy as np
import pytest

from featlab.exhibits import ClaimVerdict
from featlab.exhibits.claims.second_layer_width import LEFT
from featlab.theory import unexplained_variance


def test_many_neurons_reach_the_bound(shown):
    report = shown("second-layer-width")
    assert report.verdict is ClaimVerdict.THROUGH_THEORY
    assert all(check.refused for check in report.checks)
    assert len(report.checks) == 4


@pytest.mark.parametrize("text", LEFT)
def test_what_is_left(text):
    """E Var(f | P_U x) given h1 + h2, and after two steps given the plane, if U is that."""
    known = np.array([[1.0, 1.0]]) / 2**0.5
    one, two = LEFT[text]
    assert unexplained_variance(text, known).value == pytest.approx(one)
    assert two == (one if one == 2 else pytest.approx(unexplained_variance(text, np.eye(2)).value, abs=1e-9))
