import numpy as np
import pytest

import featlab
from featlab.exhibits import ClaimVerdict
from featlab.exhibits.claims.reuse_even import EVEN, HARD, slope


def test_one_batch_finds_what_fresh_ones_lose(shown):
    report = shown("reuse-even")
    assert report.verdict is ClaimVerdict.REPRODUCED
    assert all(check.refused for check in report.checks)
    reused, fresh = report.numbers
    assert reused.measured > 0.5 > 0.1 > abs(fresh.measured)


def test_the_control_has_the_same_information_exponent_and_another_generative_one():
    even, hard = (featlab.analyse(featlab.target(text)) for text in (EVEN, HARD))
    assert even.information_exponent == hard.information_exponent == 4
    assert (even.generative_exponent, hard.generative_exponent) == (2, 4)
    draws = np.random.default_rng(0).standard_normal((200_000, 1))
    labels = featlab.target(HARD).link(draws)
    assert labels.mean() == pytest.approx(0.0, abs=0.05)
    assert labels.var() == pytest.approx(24.0, rel=0.02)


def test_the_slope_of_medians():
    logs = np.log([10.0, 100.0, 1000.0])
    found, reach = slope(logs, 2 * logs + 1, np.array([0.1, 0.1, 0.1]))
    assert found == pytest.approx(2.0)
    assert reach == pytest.approx(2.576 * 0.1 / np.sqrt(2 * np.log(10) ** 2))
