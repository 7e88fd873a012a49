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
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtr

from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.matrices import triangular_root
from featlab.gaussian.quadrature import gaussian_density
from featlab.targets import Target
from featlab.theory.bayes.channel import Told
from featlab.theory.bayes.outer import known_fields
from featlab.theory.bayes.rules import (
    COARSE_PANELS,
    FINE_PANELS,
    REACH,
    Lines,
    View,
    crossing_places,
    extend,
    lines_through,
)

# By the number of axes across the lines: nodes on each panel and of smooth axes, panels, cells on a line.
_NODES = {0: (1, 1), 1: (4, 1), 2: (3, 1), 3: (2, 1)}
_PANELS = {0: FINE_PANELS, 1: FINE_PANELS, 2: COARSE_PANELS, 3: COARSE_PANELS}
_CELLS = {0: 1200, 1: 120, 2: 80, 3: 60}
_BINS_PER_DEVIATION = 5
_MOST_BINS = 2**16
_LEAST_NOISE = 0.05
_TAIL = 8.0
_CHUNK = 400_000
_HAIR = 1e-9
_LONG = 2.0  # bins
# Cuts around the places where a coordinate vanishes, in units of t.
_MARGINS = (0.15, 0.6)


@dataclass(frozen=True)
class Cells:
    """Cells of one omega: label from `first` to `last`, and mass with first moments of t, (cells, 1 + D)."""

    first: Floats
    last: Floats
    measure: Floats

    def chosen(self, rows: NDArray[np.bool_]) -> Cells:
        """Some of them."""
        return Cells(self.first[rows], self.last[rows], self.measure[rows])


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

    def at(self, overlap: Floats) -> Told:
        """F and H at Q (r, r)."""
        rank, order = self.target.rank, list(self.view.order)
        known = known_fields(self.target, overlap)
        covariance = np.eye(self.view.dimension)
        covariance[:rank, :rank] -= overlap
        factor = triangular_root(covariance[np.ix_(order, order)], scale=1.0)
        centres = np.zeros((len(known.omega), self.view.dimension))
        centres[:, :rank] = known.omega
        centres = centres[:, order]
        across = self.view.dimension - 1
        each = _CELLS[across] * (12 * _NODES[across][0]) ** across
        told = []
        for rows in np.array_split(np.arange(len(centres)), max(1, len(centres) * each // _CHUNK)):
            told += [self._told(cells) for cells in self._cells(centres[rows], factor)]
        moments, entropies = np.array([moment for moment, _ in told]), np.array([entropy for _, entropy in told])
        # t = L^{-1} (z - omega) in the view's order, and g_out = L^{-T} m; the rows of noise variables drop out.
        lift = np.linalg.inv(factor)
        scores = np.einsum("ai,oab,bj->oij", lift, moments, lift)
        place = [order.index(axis) for axis in range(rank)]
        return Told(known.mean(scores[:, place][:, :, place]), float(known.weights @ entropies))

    def _cells(self, centres: Floats, factor: Floats) -> list[Cells]:
        """The cells of every centre."""
        across = self.view.dimension - 1
        lines = lines_through(centres)
        for _ in range(across):
            lines = extend(lines, self.view, centres, factor, *_NODES[across], _MARGINS, _PANELS[across])
        count = _CELLS[across]
        fixed = np.broadcast_to(np.linspace(-REACH, REACH, count + 1), (len(lines.t), count + 1))
        edges = np.concatenate([fixed, crossing_places(lines, self.view, centres, factor)], axis=1)
        edges = np.sort(edges, axis=1)
        first, final = self._labels(lines, centres, factor, edges)
        density = gaussian_density(edges)
        mass = lines.weights[:, None] * np.diff(ndtr(edges), axis=1)
        measure = np.empty((*mass.shape, 2 + across))
        measure[..., 0] = mass
        measure[..., 1:-1] = mass[..., None] * lines.t[:, None, :]
        measure[..., -1] = -lines.weights[:, None] * np.diff(density, axis=1)
        bounds = np.searchsorted(lines.owner, np.arange(len(centres) + 1))
        return [
            Cells(first[a:b].ravel(), final[a:b].ravel(), measure[a:b].reshape(-1, 2 + across))
            for a, b in pairwise(bounds)
        ]

    def _labels(self, lines: Lines, centres: Floats, factor: Floats, edges: Floats) -> tuple[Floats, Floats]:
        """The noiseless labels at both ends of every cell; a hair inside, as the link may jump at an edge."""
        start = centres[lines.owner] + lines.t @ factor[:, :-1].T
        jumps = edges.shape[1] > _CELLS[self.view.dimension - 1] + 1
        sides = (edges[:, :-1] + _HAIR, edges[:, 1:] - _HAIR) if jumps else (edges,)
        labels = [self.view.link(start[:, None, :] + side[..., None] * factor[:, -1]) for side in sides]
        return (labels[0], labels[1]) if jumps else (labels[0][:, :-1], labels[0][:, 1:])

    def _told(self, cells: Cells) -> tuple[Floats, float]:
        """E[m m^T] and E[log density] at one omega."""
        cells = cells.chosen(cells.measure[:, 0] > 1e-13)
        low, high = np.minimum(cells.first, cells.last).min(), np.maximum(cells.first, cells.last).max()
        low, high = low - _TAIL * self.deviation, high + _TAIL * self.deviation
        bins = int(min((high - low) * _BINS_PER_DEVIATION / self.deviation, _MOST_BINS)) + 2
        table = self._spread(_shared(cells, np.linspace(low, high, bins + 1)), (high - low) / bins)
        kept = table[:, 0] > 1e-15
        mass, moment = table[kept, 0] / table[kept, 0].sum(), table[kept, 1:]
        entropy = float(np.sum(mass * np.log(mass * bins / (high - low))))
        return (moment / mass[:, None]).T @ moment, entropy

    def _spread(self, table: Floats, width: float) -> Floats:
        """The bins after the noise: a convolution with its density, by a fast Fourier transform.

        A hat of one bin's width has spread the labels already; the noise to come is less by its variance.
        """
        length = next_fast_len(len(table) + int(2 * _TAIL * self.deviation / width))
        frequency = 2 * np.pi * np.arange(length // 2 + 1) / (length * width)
        damping = np.exp(-0.5 * (self.target.noise - width**2 / 6) * frequency**2)
        return irfft(rfft(table, length, axis=0) * damping[:, None], length, axis=0)[: len(table)]


def _shared(cells: Cells, edges: Floats) -> Floats:
    """Each cell's measure on equal bins, with the mean label kept and its variance raised by width^2 / 6 for all.

    A short cell is cut into stretches of half a bin, each divided between the two nearest bins in proportion to
    distance. A long one is shared between the bins that it runs over; to put that into the bins' centres takes off
    width^2 / 12, which a spread of width^2 / 4 over the neighbours makes up for.
    """
    width = edges[1] - edges[0]
    long = np.abs(cells.last - cells.first) > _LONG * width
    box = _boxes(cells.chosen(long), edges)
    padded = np.pad(box, ((1, 1), (0, 0)))
    return _hats(cells.chosen(~long), edges) + 0.75 * box + 0.125 * (padded[:-2] + padded[2:])


def _hats(cells: Cells, edges: Floats) -> Floats:
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


def _boxes(cells: Cells, edges: Floats) -> Floats:
    low, high = np.minimum(cells.first, cells.last), np.maximum(cells.first, cells.last)
    bins, width = edges.size - 1, edges[1] - edges[0]
    first_bin, last_bin = (np.clip(((end - edges[0]) / width).astype(np.intp), 0, bins - 1) for end in (low, high))
    density = cells.measure / (high - low)[:, None]
    total = _collect(first_bin, density * (edges[first_bin + 1] - low)[:, None], bins)
    total += _collect(last_bin, density * (high - edges[last_bin])[:, None], bins)
    # Every bin strictly between gets density times its width: add the density at first + 1, take it off at last.
    steps = _collect(first_bin + 1, density, bins) - _collect(last_bin, density, bins)
    return total + np.cumsum(steps, axis=0) * width


def _collect(place: Integers, values: Floats, size: int) -> Floats:
    return np.column_stack([np.bincount(place, column, size) for column in values.T])
