"""The channel of a label with additive Gaussian noise.

For each omega, z = omega + L t with t ~ N(0, I), and F(Q) = E_omega[L^{-T} E[m m^T] L^{-1}], m(y) = E[t | y, omega].
Lines along the axis on which the label varies most are cut into cells with exact Gaussian masses and first moments; the
noiseless label runs linearly along a cell, which is shared between equal bins of the label; the noise then spreads the
bins by a fast Fourier transform. It has to be wide enough to smooth over the lines: at least 5% of the label's
deviation. What a cell misses, the part of t that the label tells within it, falls with the square of its length: cells
of half the length say how much that is (Richardson).
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
from featlab.theory.bayes.rules import FINE_PANELS, SIX_PANELS, Frame, Lines, View, frame_given, known_fields

# By the number of axes across the lines: nodes on each panel and of smooth axes, panels, the length of a cell in t.
_NODES = {0: (1, 1), 1: (4, 1), 2: (3, 1), 3: (2, 1)}
_PANELS = {0: FINE_PANELS, 1: FINE_PANELS, 2: SIX_PANELS, 3: SIX_PANELS}
_LENGTHS = {0: 0.02, 1: 0.16, 2: 0.3, 3: 0.45}
_REACH = 6.0  # along a line; the mass beyond is 2e-9
_LEAST_WEIGHT, _LEAST_KNOWN = 1e-8, 1e-7  # of a line; of an omega
_BINS_PER_DEVIATION = 5
_MOST_BINS = 2**16
_LEAST_NOISE = 0.05
_LONG = 2.0  # bins
# Of F, by the number of fields: at small overlaps, and where omega has panels.
_RELATIVE_ERROR, _MUCH_KNOWN = {1: (1e-4, 1e-4), 2: (5e-4, 5e-4), 3: (2e-3, 5e-3), 4: (1e-2, 5e-2)}, 0.3
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
        known = known_fields(self.target, overlap).above(_LEAST_KNOWN)
        frame = frame_given(self.view, known.omega, overlap)
        across = self.view.dimension - 1
        parts = frame.parts(int(4 * _REACH / _LENGTHS[across]) * (12 * _NODES[across][0]) ** across)
        moments, entropies = (np.concatenate(column) for column in zip(*map(self._told, parts), strict=True))
        # t = L^{-1} (z - omega) in the view's order, and g_out = L^{-T} m; the rows of noise variables drop out.
        lift = np.linalg.inv(frame.factor)
        scores = np.einsum("ai,oab,bj->oij", lift, moments, lift)
        place = [order.index(axis) for axis in range(rank)]
        return ChannelAverages(known.mean(scores[:, place][:, :, place]), float(known.weights @ entropies))

    def relative_error(self, overlap: Floats) -> float:
        """Against the analysis at small overlaps, finer rules at others and closed forms of the same rule for omega."""
        known = bool(np.max(np.diag(overlap)) > _MUCH_KNOWN)
        return _RELATIVE_ERROR[self.view.dimension][known]

    def _told(self, frame: Frame) -> tuple[Floats, Floats]:
        """E[m m^T] (O, D, D) and E[log density] (O,) of every centre, by cells of two lengths."""
        across = self.view.dimension - 1
        lines = frame.lines(across, *_NODES[across], _MARGINS, _PANELS[across])
        lines = lines.chosen(lines.weights > _LEAST_WEIGHT, 1.0)
        whole, halved = (
            [self._averages(cells) for cells in self._cells(frame, lines, length)]
            for length in (_LENGTHS[across], 0.5 * _LENGTHS[across])
        )
        moments, entropies = (
            (4 * np.array(fine) - np.array(coarse)) / 3
            for fine, coarse in zip(zip(*halved, strict=True), zip(*whole, strict=True), strict=True)
        )
        return moments, entropies

    def _cells(self, frame: Frame, lines: Lines, length: float) -> list[Measured]:
        """The cells of every centre, of that length in t.

        They begin where z, not t, is a multiple of it. So z and -z, which may have the same label, lie in cells that
        have: otherwise the cells of the one and of the other, where they run over several deviations of the noise,
        would tell apart what the label does not.
        """
        dimension = self.view.dimension
        start = frame.fields(lines.owner, lines.t)

        def points(line: Integers, position: Floats) -> Floats:
            return start[line] + position[:, None] * frame.factor[:, -1]

        number = np.arange(-int(_REACH / length), int(_REACH / length) + 2)
        edges = length * (number - np.mod(start[:, -1:] / (frame.factor[-1, -1] * length), 1.0))
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
        # A spline of three bins has spread the labels already; the noise to come is less by its variance.
        shared = _shared(cells, np.linspace(low, high, bins + 1))
        table = convolved(shared, width, self.target.noise - width**2 / 4)
        kept = table[:, 0] > 1e-15
        mass, moment = table[kept, 0] / table[kept, 0].sum(), table[kept, 1:]
        entropy = float(np.sum(mass * np.log(mass * bins / (high - low))))
        return (moment / mass[:, None]).T @ moment, entropy


def _shared(cells: Measured, edges: Floats) -> Floats:
    """Each cell's measure on equal bins, with the mean label kept and its variance raised by width^2 / 4 for all.

    A short cell is cut into stretches of half a bin, each divided between the nearest bin and its neighbours by a
    quadratic spline: of any label, wherever it lies in its bin, the variance is the same, while that of the two nearest
    bins in proportion to distance depends on the place, which atoms do not average over. A long one is shared between
    the bins that it runs over; to put that into the bins' centres takes off width^2 / 12, and a spread of width^2 / 3
    over the neighbours makes up for it.
    """
    width = edges[1] - edges[0]
    long = np.abs(cells.last - cells.first) > _LONG * width
    wide = cells.chosen(long)
    sharing = Sharing(wide.first, wide.last, edges)
    box = np.column_stack([sharing.collect(column) for column in wide.measure.T])[1:-1]
    padded = np.pad(box, ((1, 1), (0, 0)))
    return _splines(cells.chosen(~long), edges) + (padded[:-2] + 4 * box + padded[2:]) / 6


def _splines(cells: Measured, edges: Floats) -> Floats:
    bins, width = edges.size - 1, edges[1] - edges[0]
    start, length = np.minimum(cells.first, cells.last), np.abs(cells.last - cells.first)
    parts = np.maximum(1, np.ceil(2 * length / width)).astype(np.intp)
    owner = np.repeat(np.arange(parts.size), parts)
    number = np.arange(owner.size) - np.repeat(np.cumsum(parts) - parts, parts)
    label = start[owner] + length[owner] * (number + 0.5) / parts[owner]
    place = (label - edges[0]) / width
    nearest = np.floor(place).astype(np.intp)
    off = place - nearest - 0.5
    shares = 0.5 * (0.5 - off) ** 2, 0.75 - off**2, 0.5 * (0.5 + off) ** 2
    total = np.zeros((bins, cells.measure.shape[1]))
    for column, measure in enumerate((cells.measure / parts[:, None]).T):
        spread = measure[owner]
        for step, share in enumerate(shares, -1):
            total[:, column] += np.bincount(nearest + step, spread * share, bins)
    return total
