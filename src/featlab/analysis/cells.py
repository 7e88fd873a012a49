"""Lines cut into cells, with the values of a function at both ends; cells shared between bins of its values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from featlab.gaussian.hermite import Floats, Integers

Booleans = NDArray[np.bool_]

NOISE_REACH = 8.0  # deviations; the mass beyond is 1e-15
_HAIR, _SHORTEST = 1e-10, 1e-8
# Two cells meet if the function's values at their common end differ by so small a part of the smaller rise.
_MEETING = 1e-4
_GOLDEN = 0.5 * (np.sqrt(5) - 1)
_OCTAVES, _MOST_GROUPS = 16, 60  # cells whose lengths differ by less than 2^16 are summed together
_NUDGES = 2.0**-50 * np.array([-2.0, -1.0, 1.0, 2.0])


@dataclass(frozen=True)
class Cells:
    """Cell i lies on line `line[i]` from `low` to `high`; the function is `first` at the one end, `last` at the other.

    Cells of one line follow one another.
    """

    line: Integers
    low: Floats
    high: Floats
    first: Floats
    last: Floats

    @cached_property
    def rise(self) -> Floats:
        return self.last - self.first

    @cached_property
    def continues(self) -> Booleans:
        """Whether each cell goes on where the one before it ended: on the same line, and without a jump.

        The yardstick is the function's own change close by, so that a scale, an offset or a power of it says the same.
        """
        size = np.abs(self.rise)
        near = np.abs(self.first[1:] - self.last[:-1]) <= _MEETING * np.minimum(size[1:], size[:-1])
        return np.append(False, (self.line[1:] == self.line[:-1]) & near)

    @cached_property
    def turns(self) -> Integers:
        """The cells at whose beginning the function turns round."""
        way = np.sign(self.rise)
        return np.nonzero(self.continues & (way * np.append(0.0, way[:-1]) < 0))[0]


SomeCells = TypeVar("SomeCells", bound=Cells)


def cut_into_cells(
    function: Callable[[Floats], Floats],
    points: Callable[[Integers, Floats], Floats],
    edges: Floats,
    crossings: Floats,
) -> Cells:
    """The stretches between neighbouring places of every line, those shorter than 1e-8 left out.

    Args:
        points: points(line numbers (m,), positions (m,)) -> (m, dimension).
        edges: (L, E), ascending.
        crossings: (L, K) places between them at which the function may jump: there it is read a hair inside the cell,
            as it may have a third value at the jump itself (sign(0) = 0).
    """
    places = edges
    if crossings.size:
        places = np.concatenate([edges, crossings], axis=1)
        order = np.argsort(places, axis=1)
        places = np.take_along_axis(places, order, axis=1)
    lines, count = places.shape
    values = function(points(np.repeat(np.arange(lines), count), places.ravel())).reshape(places.shape)
    line = np.repeat(np.arange(lines), count - 1)
    ends = (places[:, :-1], places[:, 1:], values[:, :-1], values[:, 1:])
    low, high, first, last = (np.array(column, dtype=float).ravel() for column in ends)
    if not crossings.size:
        return Cells(line, low, high, first, last)
    jumps = order >= edges.shape[1]
    wide = np.diff(places, axis=1) > _SHORTEST
    beside = ~wide & (jumps[:, :-1] | jumps[:, 1:])  # an edge that lies on a jump is one
    jumps[:, :-1] |= beside
    jumps[:, 1:] |= beside
    begin, end = np.flatnonzero(jumps[:, :-1]), np.flatnonzero(jumps[:, 1:])
    first[begin] = function(points(line[begin], low[begin] + _HAIR))
    last[end] = function(points(line[end], high[end] - _HAIR))
    kept = np.flatnonzero(wide)
    return Cells(line[kept], low[kept], high[kept], first[kept], last[kept])


def turned_at_extrema(cells: SomeCells, value: Callable[[Integers, Floats], Floats]) -> SomeCells:
    """The same cells, the common end of two between which the function turns round moved to the extremum itself.

    Args:
        value: value(line numbers (m,), positions (m,)) -> (m,).
    """
    turn = cells.turns
    if not turn.size:
        return cells
    way = np.sign(cells.rise[turn - 1])
    place = _extrema(lambda at: way * value(cells.line[turn], at), cells.low[turn - 1], cells.high[turn])
    low, high, first, last = (column.copy() for column in (cells.low, cells.high, cells.first, cells.last))
    low[turn] = high[turn - 1] = place
    first[turn] = last[turn - 1] = value(cells.line[turn], place)
    return replace(cells, low=low, high=high, first=first, last=last)


def _extrema(value: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """The maximum of a function on each [low, high], by golden sections (to half the digits, as extrema allow).

    One of the two inner points of a section is one of the next, so that each costs one value.
    """
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = value(left), value(right)
    for _ in range(40):
        lower = at_left > at_right
        low, high = np.where(lower, low, left), np.where(lower, right, high)
        kept, at_kept = np.where(lower, left, right), np.where(lower, at_left, at_right)
        new = np.where(lower, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        at_new = value(new)
        left, right = np.where(lower, new, kept), np.where(lower, kept, new)
        at_left, at_right = np.where(lower, at_new, at_kept), np.where(lower, at_kept, at_new)
    return 0.5 * (low + high)


def rounding_of(function: Callable[[Floats], Floats], points: Floats) -> Floats:
    """How much of each value is rounding: its own last digit, and its change when the point moves by some last digits.

    A function that is constant but for rounding, such as sin^2 + cos^2, changes by about as much between any points.
    """
    here = function(points)
    with np.errstate(invalid="ignore"):
        moved = [np.abs(function(points * (1 + nudge)) - here) for nudge in _NUDGES]
    return np.spacing(np.abs(here)) + np.max(moved, axis=0)


def clusters(values: Floats, reach: Floats) -> tuple[Integers, Floats, Floats]:
    """Values that are equal but for rounding: the number of each one's cluster, each cluster's least and largest value.

    Neighbours in size belong together if they differ by no more than the larger of their reaches.
    """
    order = np.argsort(values, kind="stable")
    ascending, far = values[order], reach[order]
    apart = np.append(True, np.diff(ascending) > np.maximum(far[1:], far[:-1]))[: values.size]
    number = np.empty(values.size, dtype=np.intp)
    number[order] = np.cumsum(apart) - 1
    begins = np.flatnonzero(apart)
    return number, ascending[begins], ascending[np.append(begins[1:], values.size)[: begins.size] - 1]


@dataclass(frozen=True)
class Bends:
    """Cells along which the function is a power of the distance to a vertex.

    The part of the weight of cell `cell[i]` whose value is nearer than y to that of the vertex is
    (x^exponent - inside) / (1 - inside), x = (y - vertex) / (outer - vertex), `outer` being the value at the far end.
    """

    cell: Integers
    vertex: Floats
    outer: Floats
    exponent: Floats
    inside: Floats

    def part(self, number: Integers, values: Floats) -> Floats:
        """The part of the weight of the bent cells with these numbers up to values on their way."""
        vertex, inside = self.vertex[number], self.inside[number]
        x = np.clip((values - vertex) / (self.outer[number] - vertex), 0.0, 1.0)
        return np.clip((x ** self.exponent[number] - inside) / (1 - inside), 0.0, 1.0)


class Sharing:
    """How the weight of each cell, of value `first` to `last`, is divided among the bins between ascending edges (B,).

    There are B + 1 bins, the outer ones open. The function runs linearly along a cell, but for those that are bent.
    What does not depend on the weights is found once: the same cells have many columns of weights.

    Args:
        table: (cells,) numbers of the tables into which the cells are sorted, 0 to `tables` - 1; one if not given.
    """

    def __init__(
        self,
        first: Floats,
        last: Floats,
        edges: Floats,
        bends: Bends | None = None,
        table: Integers | None = None,
        tables: int = 1,
    ) -> None:
        low, high = np.minimum(first, last), np.maximum(first, last)
        self.edges, self.bins, self.tables = edges, edges.size + 1, tables
        self.first_bin = np.searchsorted(edges, low, side="right")
        self.last_bin = np.searchsorted(edges, high, side="right")
        self._low, self._high = low, high
        whole = self.first_bin == self.last_bin
        linear = ~whole
        shares = [(np.flatnonzero(whole), self.first_bin[whole], np.ones(np.count_nonzero(whole)))]
        if bends is not None:
            shares.append(self._bent_shares(bends, whole))
            linear[bends.cell] = False
        wide = np.flatnonzero(linear)
        below, above = self.first_bin[wide], self.last_bin[wide]
        length = high[wide] - low[wide]
        if wide.size:
            shares.append((wide, below, (edges[below] - low[wide]) / length))
            shares.append((wide, above, (high[wide] - edges[above - 1]) / length))
        self._cell, bins, self._share = (np.concatenate(column) for column in zip(*shares, strict=True))
        self._place = bins if table is None else bins + self.bins * table[self._cell]
        of_table = np.zeros(wide.size, dtype=np.intp) if table is None else table[wide]
        self._stretches = self._stretches_of(wide, below, above, length, of_table)

    def _bent_shares(self, bends: Bends, whole: Booleans) -> tuple[Integers, Integers, Floats]:
        """Cell, bin and share for every bin that a bent cell runs through."""
        wide = np.flatnonzero(~whole[bends.cell])
        counts = self.last_bin[bends.cell[wide]] - self.first_bin[bends.cell[wide]] + 1
        number = np.repeat(wide, counts)
        cell = bends.cell[number]
        bins = self.first_bin[cell] + np.arange(cell.size) - np.repeat(np.cumsum(counts) - counts, counts)
        # What lies below the upper end of each bin: that is also what lies below the lower end of the next one.
        inner = bins < self.last_bin[cell]
        ends = np.where(inner, self.edges[np.minimum(bins, self.edges.size - 1)], self._high[cell])
        upper = bends.part(number, ends)
        starts = np.cumsum(counts) - counts
        lower = np.append(0.0, upper)[: upper.size]
        lower[starts] = bends.part(wide, self._low[bends.cell[wide]])
        return cell, bins, np.abs(upper - lower)

    def _stretches_of(
        self, wide: Integers, below: Integers, above: Integers, length: Floats, table: Integers
    ) -> list[_Stretch]:
        """Cells of very different length apart: the labels of h1^40 spread over a hundred powers of ten, and in a sum
        with the density of the shortest cells that of the long ones would be lost."""
        stretches, after = [], self.bins + 1
        through = above > below + 1
        size = np.frexp(length)[1] // _OCTAVES
        for group in np.unique(size[through]):
            members = through & (size == group)
            unit = float(np.ldexp(1.0, -_OCTAVES * int(np.clip(group, -_MOST_GROUPS, _MOST_GROUPS))))
            begin, end = below[members] + 1, above[members]
            steps = np.bincount(begin, minlength=after) - np.bincount(end, minlength=after)
            inside = np.flatnonzero(np.cumsum(steps)[:-1] > 0)
            width = (self.edges[inside] - self.edges[inside - 1]) * unit
            offset = after * table[members]
            stretches.append(
                _Stretch(wide[members], begin + offset, end + offset, 1 / (length[members] * unit), inside, width)
            )
        return stretches

    def collect(self, weight: Floats) -> Floats:
        """The total of each bin, (B + 1,), or (tables, B + 1) where there are several tables."""
        count = self.tables * self.bins
        shares: Floats = np.bincount(self._place, weight[self._cell] * self._share, count).astype(float)
        total = shares.reshape(self.tables, self.bins)
        after = self.tables * (self.bins + 1)
        for one in self._stretches:
            # What lies strictly between the first and the last bin of a cell: its density times the width of each bin.
            density = weight[one.cell] * one.per_length
            steps = np.bincount(one.begin, density, after) - np.bincount(one.end, density, after)
            running = np.cumsum(steps.reshape(self.tables, -1), axis=1)
            total[:, one.inside] += running[:, one.inside] * one.width
        return total if self.tables > 1 else total[0]


@dataclass(frozen=True)
class _Stretch:
    """Cells that run through whole bins: the density is added at `begin` and taken off at `end`.

    `inside` are the bins that any of them runs through, `width` theirs; `per_length` is one over a cell's rise, both in
    one unit.
    """

    cell: Integers
    begin: Integers
    end: Integers
    per_length: Floats
    inside: Integers
    width: Floats


def convolved(table: Floats, width: float, variance: float) -> Floats:
    """Equal bins (bins, columns) of this width after Gaussian noise: a convolution, by a fast Fourier transform."""
    length = next_fast_len(len(table) + int(2 * NOISE_REACH * np.sqrt(variance) / width), real=True)
    frequency = 2 * np.pi * np.arange(length // 2 + 1) / (length * width)
    damping = np.exp(-0.5 * variance * frequency**2)
    return irfft(rfft(table, length, axis=0) * damping[:, None], length, axis=0)[: len(table)]
