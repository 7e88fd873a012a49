"""The channel of a label with additive Gaussian noise.

For each omega, z = omega + L t with t ~ N(0, I), and F(Q) = E_omega[L^{-T} E[m m^T] L^{-1}], m(y) = E[t | y, omega].
Lines along the axis on which the label varies most are cut into cells with exact Gaussian masses and first moments; the
noiseless label runs linearly along a cell, which is shared between equal bins of the label; the noise then spreads the
bins by a fast Fourier transform. It has to be wide enough to smooth over the lines: at least 5% of the label's
deviation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from featlab.analysis.cells import NOISE_REACH, Sharing, convolved, cut_into_cells
from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.quadrature import gaussian_density
from featlab.targets import Target
from featlab.theory.bayes.channel import ChannelAverages
from featlab.theory.bayes.rules import COARSE_PANELS, FINE_PANELS, REACH, Frame, View, frame_given, known_fields

# By the number of axes across the lines: nodes on each panel and of smooth axes, panels, cells on a line.
_NODES = {0: (1, 1), 1: (4, 1), 2: (3, 1), 3: (2, 1)}
_PANELS = {0: FINE_PANELS, 1: FINE_PANELS, 2: COARSE_PANELS, 3: COARSE_PANELS}
_CELLS = {0: 1200, 1: 120, 2: 80, 3: 60}
_BINS_PER_DEVIATION = 5
_MOST_BINS = 2**16
_LEAST_NOISE = 0.05
_LONG = 2.0  # bins
# Cuts around the places where a coordinate vanishes, in units of t.
_MARGINS = (0.15, 0.6)


@dataclass(frozen=True)
class Measured:
    """Cells of one omega: label from `first` to `last`, and mass with first moments of t, (cells, 1 + D)."""

    first: Floats
    last: Floats
    measure: Floats

    def chosen(self, rows: NDArray[np.bool_]) -> Measured:
        """Some of them."""
        return Measured(self.first[rows], self.last[rows], self.measure[rows])


def smooth_enough(target: Target) -> bool:
    """Whether the label noise fills the gaps between the lines: always for one field, whose line is cut finely."""
    fields = target.rank + target.hidden
    labels = target.link(np.random.default_rng(5).standard_normal((20_000, fields)))
    return fields == 1 or target.noise >= (_LEAST_NOISE * float(np.std(labels))) ** 2


class Noisy:
    """F and H of a target with label noise."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.deviation = float(np.sqrt(target.noise))

    @cached_property
    def view(self) -> View:
        """The fields with the one along which the label varies most put last."""
        target, dimension = self.target, self.target.rank + self.target.hidden
        generator = np.random.default_rng(5)
        points = generator.standard_normal((4000, dimension))
        labels = target.link(points)
        changes = []
        for axis in range(dimension):
            moved = points.copy()
            moved[:, axis] = generator.standard_normal(len(points))
            changes.append(np.mean(np.minimum(np.abs(target.link(moved) - labels), 3 * np.std(labels))))
        last = int(np.argmax(changes))
        return View(target, (*(axis for axis in range(dimension) if axis != last), last), origin=True)

    def at(self, overlap: Floats) -> ChannelAverages:
        """F and H at Q (r, r)."""
        rank, order = self.target.rank, list(self.view.order)
        known = known_fields(self.target, overlap)
        frame = frame_given(self.view, known.omega, overlap)
        across = self.view.dimension - 1
        parts = frame.parts(_CELLS[across] * (12 * _NODES[across][0]) ** across)
        found = [self._averages(cells) for part in parts for cells in self._cells(part)]
        moments, entropies = np.array([moment for moment, _ in found]), np.array([entropy for _, entropy in found])
        # t = L^{-1} (z - omega) in the view's order, and g_out = L^{-T} m; the rows of noise variables drop out.
        lift = np.linalg.inv(frame.factor)
        scores = np.einsum("ai,oab,bj->oij", lift, moments, lift)
        place = [order.index(axis) for axis in range(rank)]
        return ChannelAverages(known.mean(scores[:, place][:, :, place]), float(known.weights @ entropies))

    def _cells(self, frame: Frame) -> list[Measured]:
        """The cells of every centre."""
        across, dimension = self.view.dimension - 1, self.view.dimension
        lines = frame.lines(across, *_NODES[across], _MARGINS, _PANELS[across])
        start = frame.fields(lines.owner, lines.t)

        def points(line: Integers, position: Floats) -> Floats:
            return start[line] + position[:, None] * frame.factor[:, -1]

        edges = np.broadcast_to(np.linspace(-REACH, REACH, _CELLS[across] + 1), (len(start), _CELLS[across] + 1))
        cells = cut_into_cells(self.view.link, points, edges, frame.crossings(lines))
        weight = lines.weights[cells.line]
        measure = np.empty((weight.size, 1 + dimension))
        measure[:, 0] = weight * (ndtr(cells.high) - ndtr(cells.low))
        measure[:, 1:-1] = measure[:, :1] * lines.t[cells.line]
        measure[:, -1] = weight * (gaussian_density(cells.low) - gaussian_density(cells.high))
        bounds = np.searchsorted(lines.owner[cells.line], np.arange(len(frame.centres) + 1))
        return [Measured(cells.first[a:b], cells.last[a:b], measure[a:b]) for a, b in pairwise(bounds)]

    def _averages(self, cells: Measured) -> tuple[Floats, float]:
        """E[m m^T] and E[log density] at one omega."""
        cells = cells.chosen(cells.measure[:, 0] > 1e-13)
        low, high = np.minimum(cells.first, cells.last).min(), np.maximum(cells.first, cells.last).max()
        low, high = low - NOISE_REACH * self.deviation, high + NOISE_REACH * self.deviation
        bins = int(min((high - low) * _BINS_PER_DEVIATION / self.deviation, _MOST_BINS)) + 2
        width = (high - low) / bins
        # A hat of one bin's width has spread the labels already; the noise to come is less by its variance.
        shared = _shared(cells, np.linspace(low, high, bins + 1))
        table = convolved(shared, width, self.target.noise - width**2 / 6)
        kept = table[:, 0] > 1e-15
        mass, moment = table[kept, 0] / table[kept, 0].sum(), table[kept, 1:]
        entropy = float(np.sum(mass * np.log(mass * bins / (high - low))))
        return (moment / mass[:, None]).T @ moment, entropy


def _shared(cells: Measured, edges: Floats) -> Floats:
    """Each cell's measure on equal bins, with the mean label kept and its variance raised by width^2 / 6 for all.

    A short cell is cut into stretches of half a bin, each divided between the two nearest bins in proportion to
    distance. A long one is shared between the bins that it runs over; to put that into the bins' centres takes off
    width^2 / 12, which a spread of width^2 / 4 over the neighbours makes up for.
    """
    width = edges[1] - edges[0]
    long = np.abs(cells.last - cells.first) > _LONG * width
    wide = cells.chosen(long)
    sharing = Sharing(wide.first, wide.last, edges)
    box = np.column_stack([sharing.collect(column) for column in wide.measure.T])[1:-1]
    padded = np.pad(box, ((1, 1), (0, 0)))
    return _hats(cells.chosen(~long), edges) + 0.75 * box + 0.125 * (padded[:-2] + padded[2:])


def _hats(cells: Measured, edges: Floats) -> Floats:
    bins, width = edges.size - 1, edges[1] - edges[0]
    start, length = np.minimum(cells.first, cells.last), np.abs(cells.last - cells.first)
    parts = np.maximum(1, np.ceil(2 * length / width)).astype(np.intp)
    owner = np.repeat(np.arange(parts.size), parts)
    number = np.arange(owner.size) - np.repeat(np.cumsum(parts) - parts, parts)
    label = start[owner] + length[owner] * (number + 0.5) / parts[owner]
    measure = cells.measure[owner] / parts[owner, None]
    place = (label - edges[0]) / width - 0.5
    left = np.clip(np.floor(place).astype(np.intp), 0, bins - 2)
    right_share = (place - left)[:, None]
    return _collect(left, measure * (1 - right_share), bins) + _collect(left + 1, measure * right_share, bins)


def _collect(place: Integers, values: Floats, size: int) -> Floats:
    return np.column_stack([np.bincount(place, column, size) for column in values.T])
