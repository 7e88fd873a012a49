"""Cells of lines, shared between bins of the function's values, and bins spread by noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from featlab.analysis.bends import bends_of
from featlab.analysis.cells import Sharing, clusters, convolved, cut_into_cells, rounding_of, turned_at_extrema
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


def test_cells_of_two_tables_are_shared_as_by_two_sharings() -> None:
    """Cells that end inside a bin, run through several, or are bent, in either table; all in one would differ."""

    def value(line: Integers, x: Floats) -> Floats:
        return parabola(on_the_line(line, x))

    cells = cut_into_cells(parabola, on_the_line, np.linspace(-1, 1, 21)[None], np.zeros((1, 0)))
    turns = cells.turns
    cells = turned_at_extrema(cells, value)
    bends = bends_of(cells, turns, 1, value)
    edges = np.linspace(0.001, 1.2, 60)
    weight = np.arange(1.0, 21.0)
    table = np.arange(20) % 2
    both = Sharing(cells.first, cells.last, edges, bends, table, 2).collect(weight)
    alone = Sharing(cells.first, cells.last, edges, bends)
    for number in (0, 1):
        np.testing.assert_allclose(both[number], alone.collect(np.where(table == number, weight, 0.0)), atol=1e-12)
    assert not np.allclose(both[0], alone.collect(weight))


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


def test_cells_of_very_different_lengths_are_shared_exactly() -> None:
    """x^40 on (0, 1], a cell for each of 400 steps: the bin below x = 0.5 gets half of the weight, though labels there
    are below 1e-12 of the largest."""
    x = np.linspace(0, 1, 401)
    places = np.arange(0.05, 1, 0.1)
    shared = Sharing(x[:-1] ** 40, x[1:] ** 40, places**40).collect(np.full(400, 1 / 400))
    assert shared == pytest.approx(np.diff([0, *places, 1]), abs=1e-12)


def parabola(points: Floats) -> Floats:
    return (points[:, 1] - 0.23) ** 2


def test_ends_are_moved_to_the_extrema() -> None:
    cells = cut_into_cells(parabola, on_the_line, np.linspace(-1, 1, 11)[None], np.zeros((1, 0)))
    turned = turned_at_extrema(cells, lambda line, x: parabola(on_the_line(line, x)))
    (turn,) = cells.turns
    assert cells.first[turn] == pytest.approx(0.03**2)
    assert turned.low[turn] == turned.high[turn - 1] == pytest.approx(0.23, abs=1e-7)
    assert turned.first[turn] == turned.last[turn - 1] == pytest.approx(0, abs=1e-14)


def test_near_an_extremum_weight_goes_by_the_root_of_the_distance() -> None:
    """The share of labels below s of (x - 0.23)^2 is that of |x - 0.23| < sqrt(s); by linear cells it is not."""

    def value(line: Integers, x: Floats) -> Floats:
        return parabola(on_the_line(line, x))

    cells = cut_into_cells(parabola, on_the_line, np.linspace(-1, 1, 21)[None], np.zeros((1, 0)))
    turns = cells.turns
    cells = turned_at_extrema(cells, value)
    bends = bends_of(cells, turns, 1, value)
    edges = np.array([1e-6, 1e-4, 1e-2, 0.3])
    weight = cells.high - cells.low
    shares = [Sharing(cells.first, cells.last, edges, bent).collect(weight) for bent in (bends, None)]
    expected = np.diff(np.append(0, 2 * np.sqrt(edges)))
    assert shares[0][:-1] == pytest.approx(expected, rel=1e-6)
    assert shares[1][0] < 0.1 * expected[0]


def test_rounding_is_told_from_change() -> None:
    points = np.random.default_rng(0).standard_normal((100, 1))
    constant = rounding_of(lambda x: np.sin(x[:, 0]) ** 2 + np.cos(x[:, 0]) ** 2, points)
    assert np.all((constant > 1e-16) & (constant < 2e-15))
    small = rounding_of(lambda x: x[:, 0] ** 40, points)
    assert np.all(small <= 1e-12 * np.abs(points[:, 0]) ** 40)


def test_clusters_of_equal_values() -> None:
    number, least, largest = clusters(np.array([1.0, 3.0, 1.1, 2.0]), np.array([0.2, 0.2, 0.2, 0.2]))
    assert number.tolist() == [0, 2, 0, 1]
    assert (least.tolist(), largest.tolist()) == ([1.0, 2.0, 3.0], [1.1, 2.0, 3.0])
    assert clusters(np.zeros(0), np.zeros(0))[1].size == 0
