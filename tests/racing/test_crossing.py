"""Where a curve crosses: interpolation, ends, and an interval that covers the truth."""

from __future__ import annotations

import numpy as np
import pytest

from featlab.racing.crossing import crossing

RATIOS = np.array([0.5, 1.0, 2.0, 4.0, 8.0])


def _steps(*values: float) -> np.ndarray:
    return np.repeat(np.array(values)[:, None], 6, axis=1)


def test_linear_in_log_n_between_neighbours() -> None:
    found = crossing(RATIOS, _steps(0, 0, 0.25, 0.75, 1))
    assert found is not None
    assert found.at == pytest.approx(np.sqrt(8.0))  # half way from 2 to 4 in log n
    assert (found.low, found.high) == (2.0, 4.0)  # seeds agree, but nobody has looked in between
    assert found.text == "2.8 (2 to 4)"
    assert found.samples(1000) == "2,800 (2,000 to 4,000)"


def test_ends_of_the_grid_are_said() -> None:
    never, always = crossing(RATIOS, _steps(0, 0, 0, 0, 0.1)), crossing(RATIOS, _steps(0.9, 1, 1, 1, 1))
    assert never is not None
    assert always is not None
    assert (never.text, never.samples(100)) == ("not up to 8", "")
    assert always.text == "below 0.5"


def test_seeds_that_disagree_widen_the_interval() -> None:
    values = _steps(0, 0, 0.2, 0.6, 1)
    values[3, :3] = 0.1  # half of the seeds at n/d = 4: a mean of 0.35, above 1/2 in 11% of bootstrap samples
    found = crossing(RATIOS, values)
    assert found is not None
    assert (found.low, found.high) == (2.0, 8.0)
    assert 4 < found.at < 8


def test_missing_ratios_are_left_out_and_one_is_not_enough() -> None:
    values = _steps(0, np.nan, 0, 1, np.nan)
    found = crossing(RATIOS, values)
    assert found is not None
    assert (found.low, found.high, found.last) == (2.0, 4.0, 4.0)
    assert crossing(RATIOS, _steps(np.nan, np.nan, 1, np.nan, np.nan)) is None


@pytest.mark.parametrize("true", [0.8, 1.5, 3.3])
def test_the_interval_covers_the_crossing_of_a_noisy_curve(true: float) -> None:
    """A logistic curve in log n, crossing at `true`; runs that succeed or fail, 8 at each n. The interval must hold the
    truth in about 95% of 200 experiments (at least 90%: three standard errors below), and must not be all there is."""
    random = np.random.default_rng(5)
    chance = 1 / (1 + (true / RATIOS) ** 3)
    inside, width = 0, []
    for _ in range(200):
        found = crossing(RATIOS, (random.random((len(RATIOS), 8)) < chance[:, None]).astype(float))
        assert found is not None
        inside += found.low <= true <= found.high
        width.append(np.log2(min(found.high, 16.0) / max(found.low, 0.25)))
    assert inside >= 180
    assert np.mean(width) < 3.5
