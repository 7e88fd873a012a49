"""What a label tells around a point that message passing knows: lines through the point's own neighbourhood.

Given omega the fields are z = omega + L t with t ~ N(0, I), L L^T = V. The label tells E[m m^T], with
m(y) = E[t | y, omega]: a matrix between 0 and I, which is n n^T where the label's level sets are planes of normal n on
the scale of V.

Lines run along u, the normal that is most common close by. Their places across are the nodes of a product of
Gauss-Hermite rules, turned around u at random. A line is cut at the kinks. Between neighbouring places the label runs
linearly, so that it crosses the edges of bins of the label at known places, between which the mass and the first
moments of t are exact. With the mass p and the moment x of each bin, E[m m^T] = sum x x^T / p, less by what m varies
within a bin. Every other edge is a quantile of the label with t ~ N(0, 3) along the line: the density of bins that
loses least is the third root of that of the label (Panter and Dite 1951). The others halve the bins between them; a
third of what that adds is added again (Richardson), except where m differs by more than it can on one branch, as across
a gap.

Two rules are laid. Where they differ, with d = x_a - p_a x / p of the one, half of the square of their difference,
d d^T / p, is what their scatter adds to x x^T / p on average. It is taken off, and tells where more lines are worth
their time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from featlab.analysis.cells import Cells, cut_into_cells
from featlab.analysis.label_law import LabelLaw
from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.quadrature import crossings_on_lines, gauss_pieces, gaussian_density, product_rule
from featlab.targets import Target

_REACH = 5.5  # the mass beyond is 4e-8
_SPREAD = np.sqrt(3.0)
_OUTERMOST = 0.1  # of a bin
_SMOOTH = 2.0  # |difference of m|^2 between the halves of a bin above which they are different branches
_LEAST_WEIGHT = 1e-7  # of a line
_STEP = 1e-4
_GOLDEN = 0.5 * (np.sqrt(5) - 1)


@dataclass(frozen=True)
class Detail:
    """Lines across on every axis (one more in the second rule), cells on a line, bins of the label before halving."""

    lines: int
    cells: int
    bins: int


@dataclass(frozen=True)
class Told:
    """E[m m^T] (N, D, D), E[log density of the label] (N,), and how much of the former's trace was scatter (N,)."""

    moments: Floats
    entropy: Floats
    scatter: Floats


@dataclass(frozen=True)
class Across:
    """Where lines stand across: t (K, D - 1) in the frame of their rule, weights (K,), which of the two rules (K,)."""

    places: Floats
    weights: Floats
    rule: Integers

    @classmethod
    def of(cls, dimension: int, nodes: int) -> Across:
        """Two rules of `nodes` and of one more on every axis, without the nodes of no weight."""
        places, weights, rule = [], [], []
        for number in range(2):
            grid = product_rule([gauss_pieces((), nodes + number)] * dimension)
            kept = grid.weights > _LEAST_WEIGHT
            places.append(grid.points[kept])
            weights.append(grid.weights[kept] / grid.weights[kept].sum())
            rule.append(np.full(np.count_nonzero(kept), number))
        return cls(np.concatenate(places), np.concatenate(weights), np.concatenate(rule))


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """z = centre + factor t for centres (N, D), 0 for noise variables inside the link, and factor (D, D).

    Attributes:
        turns: (N, 2, D, D - 1) random matrices, which say how the two rules of each centre are turned.
    """

    target: Target
    law: LabelLaw
    centres: Floats
    factor: Floats
    turns: Floats

    def some(self, rows: Integers) -> Neighbourhoods:
        """Those of some centres."""
        return Neighbourhoods(self.target, self.law, self.centres[rows], self.factor, self.turns[rows])

    @property
    def dimension(self) -> int:
        return self.centres.shape[1]

    def normals(self) -> Floats:
        """The mean (N, D, D) of n n^T over a few points close by, n the unit normal of the level set in t, or 0."""
        places = np.concatenate([np.zeros((1, self.dimension)), np.eye(self.dimension), -np.eye(self.dimension)])
        total = np.zeros((len(self.centres), self.dimension, self.dimension))
        for place in places:
            slope = self._slope(self.centres + self.factor @ place)
            size = np.linalg.norm(slope, axis=1, keepdims=True)
            normal = slope / np.where(size > 0, size, 1.0)
            total += normal[:, :, None] * normal[:, None, :]
        return total / len(places)

    def _slope(self, points: Floats) -> Floats:
        """The gradient in t, but for a factor, by central differences."""
        steps = _STEP * self.factor.T
        return np.column_stack([self.target.link(points + step) - self.target.link(points - step) for step in steps])

    def told(self, normals: Floats, detail: Detail) -> Told:
        """What the labels tell around every centre, by lines along `normals` (N, D)."""
        frames, across = _frames(normals, self.turns), Across.of(self.dimension - 1, detail.lines)
        cells = self._cells(frames, across, detail.cells)
        bins = Bins.of(cells, self.law, across, len(self.centres), detail.bins)
        mass, moment = bins.collected(across)
        moment = np.einsum("nhij,nhbj->nhbi", frames, moment)
        moments, scatter = _second_moments(mass, moment, bins.pairs)
        return Told(moments, bins.entropy(mass.mean(axis=1)), scatter)

    def _cells(self, frames: Floats, across: Across, count: int) -> Cells:
        """The cells of all lines, those of the first centre first."""
        start = np.einsum("nkij,kj->nki", frames[:, across.rule, :, 1:], across.places) @ self.factor.T
        start = (start + self.centres[:, None, :]).reshape(-1, self.dimension)
        along = (frames[..., 0][:, across.rule] @ self.factor.T).reshape(-1, self.dimension)

        def points(line: Integers, position: Floats) -> Floats:
            return start[line] + position[:, None] * along[line]

        scan = np.linspace(-_REACH, _REACH, count + 1)
        crossings = crossings_on_lines(
            [kink.function for kink in self.target.kinks], points, len(start), scan + 1e-7, _REACH
        )
        return cut_into_cells(self.target.link, points, np.broadcast_to(scan, (len(start), scan.size)), crossings)


def _frames(normals: Floats, turns: Floats) -> Floats:
    """Orthogonal matrices (N, 2, D, D) with the normal as first column."""
    given = np.concatenate([np.broadcast_to(normals[:, None, :, None], (*turns.shape[:3], 1)), turns], axis=3)
    frames, triangle = np.linalg.qr(given)
    return frames * np.sign(np.einsum("nhii->nhi", triangle))[:, :, None, :]


@dataclass(frozen=True)
class Bins:
    """Lines cut into pieces that lie in one bin of the label each.

    Attributes:
        edges: of the bins, (N, B) ascending; the outermost bins are open, and atoms have bins of their own behind them.
        line, bin: of each piece; below, density: Phi and phi at its ends, (2, pieces).
        count: how many bins there are, atoms included.
    """

    edges: Floats
    line: Integers
    bin: Integers
    below: Floats
    density: Floats
    count: int

    @property
    def pairs(self) -> slice:
        """The bins that are halves of one, two by two."""
        return slice(1, self.edges.shape[1])

    @classmethod
    def of(cls, cells: Cells, law: LabelLaw, across: Across, centres: int, bins: int) -> Bins:
        """The cells of every centre cut at the edges of its bins."""
        lines = across.weights.size
        centre, weight = cells.line // lines, across.weights[cells.line % lines]
        atom = law.atom_of(cells.first)
        atom = np.where(atom == law.atom_of(cells.last), atom, -1)
        spread = np.where(atom < 0, weight * (ndtr(cells.high / _SPREAD) - ndtr(cells.low / _SPREAD)), 0.0)
        somewhere = cells.first + (_GOLDEN * cells.line) % 1.0 * cells.rise
        bounds = np.searchsorted(centre, np.arange(centres + 1))
        edges = np.empty((centres, 2 * bins - 1))
        first, last = np.empty(centre.size, dtype=np.intp), np.empty(centre.size, dtype=np.intp)
        for one in range(centres):
            rows = slice(bounds[one], bounds[one + 1])
            edges[one] = _edges(somewhere[rows], spread[rows], bins)
            first[rows] = np.searchsorted(edges[one], cells.first[rows], side="right")
            last[rows] = np.searchsorted(edges[one], cells.last[rows], side="right")
        open_bins = edges.shape[1] + 1
        first, last = (np.where(atom < 0, found, open_bins + atom) for found in (first, last))
        return cls(edges, *_cut(cells, centre, edges, first, last), count=open_bins + law.atoms.size)

    def collected(self, across: Across) -> tuple[Floats, Floats]:
        """The mass (N, 2, bins) of each rule in each bin, and the first moments of t in its frame (N, 2, bins, D)."""
        centre, line = np.divmod(self.line, across.weights.size)
        place = (2 * centre + across.rule[line]) * self.count + self.bin
        weight = across.weights[line]
        mass = weight * (self.below[1] - self.below[0])
        columns = [mass, weight * (self.density[0] - self.density[1]), *(mass * x[line] for x in across.places.T)]
        shape = (len(self.edges), 2, self.count)
        size = int(np.prod(shape))
        sums = [np.bincount(place, column, size).astype(float).reshape(shape) for column in columns]
        return sums[0], np.stack(sums[1:], axis=-1)

    def entropy(self, mass: Floats) -> Floats:
        """E[log density] (N,) from masses (N, bins); of atoms E[log probability]. Open bins are as wide as the next.

        A third of what halving the bins adds is added again.
        """
        widths = np.diff(self.edges, axis=1)
        halves = mass[:, self.pairs]
        fine, whole = _log_density(halves, widths), _log_density(_joined(halves), _joined(widths))
        outside = _log_density(mass[:, 0], widths[:, 0]) + _log_density(mass[:, len(widths.T) + 1], widths[:, -1])
        atoms = mass[:, len(widths.T) + 2 :]
        inside = (4 * np.sum(fine, axis=1) - np.sum(whole, axis=1)) / 3
        return inside + outside + np.sum(_log_density(atoms, 1.0), axis=1)


def _joined(halves: Floats) -> Floats:
    """Every two columns as one."""
    return halves[:, ::2] + halves[:, 1::2]


def _log_density(mass: Floats, widths: Floats | float) -> Floats:
    """p log(p / width), 0 where either is."""
    kept = (mass > 0) & (widths > 0)
    return mass * np.log(np.where(kept, mass, 1.0) / np.where(kept, widths, 1.0))


def _edges(labels: Floats, weights: Floats, bins: int) -> Floats:
    """Quantiles of weighted labels, the first and the last close to the ends, and the middles between them."""
    order = np.argsort(labels)
    weights = weights[order]
    rank = np.cumsum(weights)
    levels = np.arange(bins) / (bins - 1.0)
    levels[0], levels[-1] = _OUTERMOST / bins, 1 - _OUTERMOST / bins
    edges = np.empty(2 * bins - 1)
    edges[::2] = np.interp(levels * rank[-1], rank - 0.5 * weights, labels[order])
    edges[1::2] = 0.5 * (edges[:-1:2] + edges[2::2])
    return edges


def _cut(
    cells: Cells, centre: Integers, edges: Floats, first: Integers, last: Integers
) -> tuple[Integers, Integers, Floats, Floats]:
    """Line, bin, Phi and phi of the pieces of cells whose label runs from one bin to another."""
    way, count = np.sign(last - first), np.abs(last - first) + 1
    starts = np.cumsum(count) - count
    cell = np.repeat(np.arange(centre.size), count)
    step = np.arange(cell.size) - starts[cell]
    number = first[cell] + way[cell] * step
    # The upper end of a piece is that of its cell, or where the label crosses an edge.
    inner = np.flatnonzero(step < count[cell] - 1)
    of = cell[inner]
    share = (edges[centre[of], number[inner] - (way[of] < 0)] - cells.first[of]) / cells.rise[of]
    place = cells.low[of] + share * (cells.high[of] - cells.low[of])
    ends = []
    for function in (ndtr, gaussian_density):
        values = np.empty((2, cell.size))
        values[1] = function(cells.high)[cell]
        values[1, inner] = function(place)
        values[0, 1:] = values[1, :-1]
        values[0, starts] = function(cells.low)
        ends.append(values)
    return cells.line[cell], number, ends[0], ends[1]


def _second_moments(mass: Floats, moment: Floats, pairs: slice) -> tuple[Floats, Floats]:
    """E[m m^T] (N, D, D) from masses (N, 2, bins) and moments (N, 2, bins, D), and the trace of the scatter."""
    total = mass.mean(axis=1)
    per_mass = 1 / np.where(total > 0, total, 1.0)[..., None]
    mean = moment.mean(axis=1) * per_mass
    off = (moment[:, 0] - mean * mass[:, 0, :, None]) * per_mass
    moments = _sum(total, mean) - _sum(total, off)
    one, other = total[:, pairs][:, ::2], total[:, pairs][:, 1::2]
    both = one * other / np.where(one + other > 0, one + other, 1.0)
    change = mean[:, pairs][:, 1::2] - mean[:, pairs][:, ::2]
    scatter = off[:, pairs][:, 1::2] - off[:, pairs][:, ::2]
    both = both / (1 + (np.sum(change**2, axis=2) / _SMOOTH) ** 4)
    return moments + (_sum(both, change) - _sum(both, scatter)) / 3, np.einsum("nb,nbi,nbi->n", total, off, off)


def _sum(weights: Floats, vectors: Floats) -> Floats:
    """Sums of v v^T (N, D, D) over bins, of weights (N, B) and vectors (N, B, D)."""
    return np.swapaxes(vectors * weights[..., None], 1, 2) @ vectors
