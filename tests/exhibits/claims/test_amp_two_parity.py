import numpy as np
import pytest

from featlab.exhibits import ClaimVerdict
from featlab.exhibits.claims.amp_two_parity import TARGET, parity_errors
from featlab.theory.bayes.errors import bayes_errors


def test_found_above_the_transition_only(shown):
    report = shown("amp-two-parity")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    below, above, falls, grows = report.numbers
    assert below.measured < 0.05
    # .924 +- .007 over 8 runs at d = 500
    assert abs(above.measured - 0.924) < 3 * (above.error**2 + 0.007**2 / 8) ** 0.5 + 0.25 / 500**0.5
    assert falls.measured < 1 < grows.measured


@pytest.mark.parametrize("q", [0.2, 0.8])
def test_errors_in_closed_form(q):
    found = bayes_errors(TARGET, q * np.eye(2))
    assert parity_errors(np.array(q)) == pytest.approx((found.plug_in, found.squared), abs=1e-4)
    assert parity_errors(np.array(q)) != pytest.approx((found.squared, found.plug_in), abs=1e-1)
