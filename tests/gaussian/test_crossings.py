"""A crossing is found where it is, and noise does not bring it forward."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from featlab.errors import InvalidParameter
from featlab.gaussian import crossing, crossing_with_error
from featlab.gaussian.crossings import hitting_times


def test_a_straight_line_in_log_x() -> None:
    x = np.geomspace(1, 100, 7)
    assert crossing(x, np.log(x), np.log(30)) == pytest.approx(30, rel=1e-12)
    assert crossing(x[::-1], np.log(x)[::-1], np.log(30)) == pytest.approx(30, rel=1e-12)
    assert crossing([10, 20], [0.8, 0.9], 0.9) == pytest.approx(20)


def test_a_lucky_point_is_no_crossing() -> None:
    x, lucky = [10, 20, 40, 80], [0.5, 0.92, 0.6, 0.96]
    assert crossing(x, lucky, 0.9) > 40
    assert crossing(x, [0.5, 0.92, 0.93, 0.96], 0.9) < 20  # a steady one is


def test_errors_of_measurement_average_out() -> None:
    rng = np.random.default_rng(0)
    x = np.geomspace(10, 1000, 13)
    law = 0.5 + 0.5 * np.tanh(np.log(x / 100))
    truth = np.log(100) + np.arctanh(0.5)
    measured = law + 0.03 * rng.standard_normal((400, 13))

    def unbiased(found: list[float]) -> bool:
        error = np.std(np.log(found)) / 20
        return bool(abs(np.mean(np.log(found)) - truth) < 4 * error + 0.01)  # curvature between points: below 0.01

    assert unbiased([crossing(x, y, 0.75) for y in measured])
    assert not unbiased([x[np.argmax(y > 0.75)] for y in measured])  # the first point above the level is not


def test_what_is_never_reached_or_always() -> None:
    assert crossing([1, 2, 3], [0.1, 0.2, 0.3], 0.9) == inf
    assert crossing([1, 2, 3], [0.91, 0.95, 1.0], 0.9) == 0


@pytest.mark.parametrize(
    ("x", "y", "name"),
    [([0, 1], [1, 2], "x"), ([1, 1], [1, 2], "x"), ([], [], "x"), ([1, 2], [1], "y"), ([1, 2], [1, float("nan")], "y")],
)
def test_what_is_refused(x: list[float], y: list[float], name: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{name}:"):
        crossing(x, y, 0.5)


def test_hitting_times_of_curves():
    times = [0.0, 1.0, 3.0, 4.0]
    rising, early, never, noisy = [0, 0.2, 0.8, 1.0], [0.6, 0.1, 0.2, 0.3], [0, 0.1, 0.2, 0.3], [0, 0.6, 0.1, 0.9]
    found = hitting_times(times, [[rising, early], [never, noisy]], 0.5)
    assert found.shape == (2, 2)
    assert found.ravel() == pytest.approx([2.0, 0.0, np.inf, 0.5 / 0.6])
    assert hitting_times(times, rising, 0.9) == pytest.approx(3.5)
    with pytest.raises(InvalidParameter, match="increasing"):
        hitting_times([0.0, 0.0, 1.0, 2.0], rising, 0.5)


def test_looks_that_are_missing_are_passed_over():
    """Two curves on the times of both: each crosses where it does on its own."""
    times, hole = [0.0, 1.0, 1.1, 2.0, 2.1], np.nan
    one, other = [0.0, 0.4, hole, 0.8, hole], [0.0, hole, 0.4, hole, 0.8]
    own = [hitting_times(at, [0.0, 0.4, 0.8], 0.5).item() for at in ([0.0, 1.0, 2.0], [0.0, 1.1, 2.1])]
    assert hitting_times(times, [one, other], 0.5) == pytest.approx(own)
    assert hitting_times([0.0, 1.0], [[hole, 0.9], [0.1, hole], [hole, hole]], 0.5) == pytest.approx([1.0, inf, inf])


def test_the_error_of_a_crossing_is_its_scatter() -> None:
    """Over 300 repetitions the stated error, root mean square, is the scatter of log x within 15%: the scatter itself
    is known to 4%, a jackknife over 12 seeds has a bias of a few percent. Half of it is refused."""
    rng = np.random.default_rng(1)
    x = np.geomspace(10, 1000, 7)
    law = 0.5 + 0.5 * np.tanh(np.log(x / 100))
    found, errors = np.transpose(
        [crossing_with_error(x, law + 0.2 * rng.standard_normal((12, 7)), 0.75) for _ in range(300)]
    )
    stated, scatter = np.sqrt(np.mean((errors / found) ** 2)), np.std(np.log(found))
    assert abs(stated / scatter - 1) < 0.15
    assert abs(0.5 * stated / scatter - 1) > 0.15


def test_a_crossing_that_hangs_on_one_seed_has_no_error() -> None:
    assert crossing_with_error([1, 2], [[0.0, 1.0], [0.0, 0.9]], 0.95) == (pytest.approx(2.0), inf)
    assert crossing_with_error([1, 2], [[0.0, 0.1], [0.0, 0.2]], 0.5) == (inf, inf)
    with pytest.raises(InvalidParameter, match=r"^samples:"):
        crossing_with_error([1, 2], [[0.0, 1.0]], 0.5)
