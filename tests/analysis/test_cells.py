"""Cells of lines, shared between bins of the function's values, and bins spread by noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from featlab.analysis.cells import Sharing, convolved, cut_into_cells
from featlab.gaussian.hermite import Floats, Integers


def on_the_line(line: Integers, position: Floats) -> Floats:
    return np.column_stack([line.astype(float), position])


def test_a_function_that_jumps_is_read_inside_its_cells() -> None:
    """sign(x - c) on two lines: told of the jump, no cell sees the value 0 at it; not told, the edge at 0 does."""
    edges = np.tile([-1.0, 0.0, 1.0], (2, 1))
    places = np.array([[0.0], [0.25]])

    def function(points: Floats) -> Floats:
        return np.sign(points[:, 1] - places[points[:, 0].astype(int), 0])

    cells = cut_into_cells(function, on_the_line, edges, places)
    assert cells.line.tolist() == [0, 0, 1, 1, 1]
    assert cells.low.tolist() == [-1.0, 0.0, -1.0, 0.0, 0.25]
    assert cells.high.tolist() == [0.0, 1.0, 0.0, 0.25, 1.0]
    assert cells.first.tolist() == cells.last.tolist() == [-1, 1, -1, -1, 1]
    untold = cut_into_cells(function, on_the_line, edges, np.zeros((2, 0)))
    assert 0 in untold.last


def test_a_crossing_beyond_the_edges_makes_no_cell() -> None:
    cells = cut_into_cells(
        lambda points: points[:, 1] ** 2, on_the_line, np.array([[0.0, 2.0]]), np.array([[2.0, 2.0]])
    )
    assert (cells.low.tolist(), cells.high.tolist()) == ([0.0], [2.0])
    assert (cells.first[0], cells.last[0]) == pytest.approx((0.0, 4.0), abs=1e-8)


def test_cells_are_shared_in_proportion_and_nothing_is_lost() -> None:
    """A cell from 0.5 to 2.5 and one that falls, over bins of width 1; one inside a bin; one beyond the edges."""
    first, last = np.array([0.5, 2.0, 1.2, -3.0]), np.array([2.5, 0.0, 1.3, -1.0])
    shared = Sharing(first, last, np.array([0.0, 1.0, 2.0, 3.0])).collect(np.array([1.0, 2.0, 4.0, 8.0]))
    np.testing.assert_allclose(shared, [8.0, 0.25 + 1.0, 0.5 + 1.0 + 4.0, 0.25, 0.0])


def test_noise_spreads_a_bin_into_a_gaussian() -> None:
    """From one bin of 200: mean kept, variance raised by that of the noise; twice the variance is not."""
    table = np.zeros((200, 1))
    table[90] = 1.0
    centres = 0.1 * np.arange(200)
    after = convolved(table, 0.1, 0.49)[:, 0]
    assert after.sum() == pytest.approx(1.0, abs=1e-10)
    assert after @ centres == pytest.approx(9.0, abs=1e-9)
    assert after @ (centres - 9.0) ** 2 == pytest.approx(0.49, abs=1e-9)
    assert after[:100].sum() == pytest.approx(ndtr(0.95 / 0.7), abs=1e-3)
    assert convolved(table, 0.1, 0.98)[:, 0] @ (centres - 9.0) ** 2 > 0.9
