"""Pictures of races: every panel can be read, also where hardly anything was measured."""

import numpy as np
import pytest

from featlab.figures import RacedCurve, race_figure
from featlab.figures.race import RISK, SHARE

RATIOS = np.array([0.5, 1.0, 2.0, 4.0])
FLAT = np.full(4, 0.3)


def ticks(curves):
    return [[float(tick) for tick in panel.get_xticks()] for panel in race_figure(curves, "a race").axes]


def test_both_panels_have_the_ticks_of_all_that_was_measured():
    found = RacedCurve("SIR", SHARE, (RATIOS, FLAT, FLAT), None)
    risk = RacedCurve("kernel ridge", RISK, (RATIOS[:1], FLAT[:1], FLAT[:1]), (RATIOS, FLAT))
    assert ticks([found, risk]) == [RATIOS.tolist()] * 2


@pytest.mark.parametrize("measured", [None, (RATIOS[:1], FLAT[:1], FLAT[:1])])
def test_theory_alone_has_ticks(measured):
    assert ticks([RacedCurve("SIR", SHARE, measured, (RATIOS, FLAT))]) == [RATIOS.tolist()]
