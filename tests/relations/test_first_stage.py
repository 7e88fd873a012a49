"""The first stage of the analysis = linearised state evolution = the growth of message passing at d = 10^5.

A small overlap grows by alpha / alpha_c in one iteration. State evolution at q = 1e-5 differs from that by a part of
order q, and by what alpha_c is off (1e-3). Message passing starts from q = 0.02, where it is compared with the growth
that state evolution has there, 5 to 10% less than alpha / alpha_c; with 16 seeds its standard error is below 1%, and no
finite-size allowance is made: at d = 10^5 it would be a tenth of that.
"""

from __future__ import annotations

import pytest
from benchmarks.growth import CASES, critical_ratios, growth

from featlab.targets import target


@pytest.mark.parametrize(("text", "alpha"), CASES[:2])
def test_three_ways_to_the_first_stage(text: str, alpha: float) -> None:
    found = growth(text, alpha)
    assert found.tiny == pytest.approx(found.analysis, rel=1e-3)
    assert found.error < 0.015 * found.measured
    assert abs(found.small - found.measured) < 4 * found.error
    for wrong in (0.9, 1.1):  # negative control: alpha_c off by 10%
        assert found.tiny != pytest.approx(wrong * found.analysis, rel=1e-3)
        assert abs(wrong * found.small - found.measured) > 4 * found.error


@pytest.mark.parametrize("text", ["sign(h1*h2)", "h1*h2*h3", "He2(h1) + h1*h2", "He4(h1) + sign(h1*h2*h3)"])
def test_state_evolution_at_a_small_overlap_has_the_ratio_of_the_analysis(text: str) -> None:
    """Goal: 1e-3 up to three directions. The whole catalogue: `python -m benchmarks.growth --catalogue`."""
    found = critical_ratios(target(text))
    assert found.error < 1e-3 * found.analysis
    assert abs(found.difference) < 1e-3
