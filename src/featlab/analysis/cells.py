"""Lines cut into cells, with the values of a function at both ends; cells shared between bins of its values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from featlab.gaussian.hermite import Floats, Integers

NOISE_REACH = 8.0  # deviations; the mass beyond is 1e-15
_HAIR, _SHORTEST = 1e-10, 1e-8


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


class Sharing:
    """How the weight of each cell, of value `first` to `last`, is divided among the bins between ascending edges (B,).

    There are B + 1 bins, the outer ones open. The function runs linearly along a cell.
    """

    def __init__(self, first: Floats, last: Floats, edges: Floats) -> None:
        low, high = np.minimum(first, last), np.maximum(first, last)
        self.edges, self.bins = edges, edges.size + 1
        self.first_bin = np.searchsorted(edges, low, side="right")
        self.last_bin = np.searchsorted(edges, high, side="right")
        self.whole = self.first_bin == self.last_bin
        self.low, self.high = low, high

    def collect(self, weight: Floats) -> Floats:
        """The total of each bin, (B + 1,)."""
        total = np.zeros(self.bins)
        total += np.bincount(self.first_bin[self.whole], weight[self.whole], self.bins)
        wide = ~self.whole
        if not wide.any():
            return total
        low, high = self.low[wide], self.high[wide]
        density = weight[wide] / (high - low)
        first, last = self.first_bin[wide], self.last_bin[wide]
        total += np.bincount(first, density * (self.edges[first] - low), self.bins)
        total += np.bincount(last, density * (high - self.edges[last - 1]), self.bins)
        # Every bin strictly between gets density times its width: add the density at first + 1, take it off at last.
        steps = np.bincount(first + 1, density, self.bins + 1) - np.bincount(last, density, self.bins + 1)
        total[1:-1] += np.cumsum(steps)[1 : self.bins - 1] * np.diff(self.edges)
        return total


def convolved(table: Floats, width: float, variance: float) -> Floats:
    """Equal bins (bins, columns) of this width after Gaussian noise: a convolution, by a fast Fourier transform."""
    length = next_fast_len(len(table) + int(2 * NOISE_REACH * np.sqrt(variance) / width), real=True)
    frequency = 2 * np.pi * np.arange(length // 2 + 1) / (length * width)
    damping = np.exp(-0.5 * variance * frequency**2)
    return irfft(rfft(table, length, axis=0) * damping[:, None], length, axis=0)[: len(table)]
