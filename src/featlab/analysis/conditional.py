"""The conditional second moment G(y) = E[z z^T - I | Y = y], as a table over bins of the label.

Cells of rays (see `rays`) are sorted into bins of y (see `layouts`); a cell whose label runs over several bins is
shared between them. Bins are narrow in the probit of the label's rank, so that tails and peaks are resolved alike; a
value that the label takes with positive probability (an atom), or at which its density jumps, has one to itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from featlab.analysis.cells import Booleans, Sharing, convolved
from featlab.analysis.layouts import PARTS, Layout, layout_by_rank, layout_for_noise
from featlab.analysis.rays import RayCells
from featlab.gaussian.hermite import Floats, Integers


@dataclass(frozen=True)
class LabelTable:
    """P(Y in bin) and E[z z^T - I; Y in bin] for every bin: mass (B,), moment (B, q, q).

    The rays are those of two rules of equal weight: `mass_apart` and `moment_apart` are half the first rule's table
    minus half the second's, what the choice of directions does.

    `lost` is the variance of z z^T - I (in the Frobenius norm) among inputs whose labels the table does not tell apart
    though they differ, summed over such labels: by so much at most E|G|^2, the trace of F(M) = E[G M G], may be short.
    """

    mass: Floats
    moment: Floats
    mass_apart: Floats
    moment_apart: Floats
    lost: float = 0.0

    @property
    def information(self) -> float:
        """E|G|^2, the trace of F."""
        return float(np.sum(np.sum(self.moment**2, axis=(1, 2)) / self.mass))


def label_tables(
    cells: RayCells, directions: Floats, rules: Floats, unknown: int, bins: int, noise: float
) -> tuple[LabelTable, LabelTable]:
    """Bin the cells by label; the second table has half the bins, to see what their width does.

    Args:
        directions: (rays, Q); the first `unknown` coordinates are those whose second moment is wanted, the others
            belong to noise inside the link.
        rules: (rays,) 1 for those of the first rule, -1 for those of the second, 0 if there is but one.
        bins: how many bins of the continuous part.
        noise: variance of Gaussian noise added to the label; the table then describes the noisy label.
    """
    layout = layout_for_noise(cells, noise, bins) if noise > 0 else layout_by_rank(cells, bins)
    two = bool(rules.any())
    second = (rules < 0).astype(np.intp)[cells.line] if two else None
    share = Sharing(cells.first, cells.last, layout.edges, cells.bends, second, 2 if two else 1)
    weights = [cells.mass]
    for i, j in zip(*np.triu_indices(unknown), strict=True):
        outer = directions[cells.line, i] * directions[cells.line, j]
        weights.append(cells.square * outer - (i == j) * cells.mass)
    columns = np.array([np.atleast_2d(share.collect(weight)) for weight in weights])
    apart = columns[:, 0] - columns[:, 1] if two else np.zeros_like(columns[:, 0])
    table = np.concatenate([columns.sum(axis=1), apart]).T
    if layout.equal is not None:
        table = _spread(table, layout, layout.equal, noise)
    alike = _variance_within(cells, directions[:, :unknown], layout.alike, share.first_bin)
    fine = _table(table, unknown, alike)
    full, half = (_merged(table, unknown, fine, kept) for kept in (layout.kept, layout.kept & layout.lasting))
    # What merging loses counts once, in the full table; halving the bins on top of it is to be seen as an error.
    return full, replace(half, lost=full.lost)


def _spread(table: Floats, layout: Layout, equal: slice, noise: float) -> Floats:
    """The table (bins, columns) with the bins of equal width as points between them, over which the noise is spread.

    A part of a bin goes to the points at both ends of its bin, more to the nearer one: that keeps the mean label and
    adds width^2 / 6 to its variance on average, so the noise to come is less by as much. A sum over points, of
    functions that the noise has made smooth, is their integral.
    """
    parts = table[equal].reshape(-1, PARTS, table.shape[1])
    along = (np.arange(PARTS)[:, None] + 0.5) / PARTS
    points: Floats = np.zeros((len(parts) + 1, table.shape[1]))
    points[:-1] += np.sum(parts * (1 - along), axis=1)
    points[1:] += np.sum(parts * along, axis=1)
    noisy = convolved(points, layout.width, noise - layout.width**2 / 6)
    return np.concatenate([table[: equal.start], noisy, table[equal.stop :]])


def _merged(columns: Floats, unknown: int, fine: LabelTable, kept: Booleans) -> LabelTable:
    """The bins between the edges that are kept."""
    starts = np.append(0, np.nonzero(kept)[0] + 1)
    table = _table(np.add.reduceat(columns, starts), unknown, fine.lost)
    return replace(table, lost=fine.lost + max(0.0, fine.information - table.information))


def _table(columns: Floats, unknown: int, lost: float) -> LabelTable:
    """The table without the bins that the label never falls into, from columns of both kinds (B, 2 (1 + q(q+1)/2))."""
    kept = columns[columns[:, 0] > 1e-13].reshape(-1, 2, columns.shape[1] // 2)
    moments = np.zeros((len(kept), 2, unknown, unknown))
    i, j = np.triu_indices(unknown)
    moments[:, :, i, j] = moments[:, :, j, i] = kept[:, :, 1:]
    return LabelTable(kept[:, 0, 0], moments[:, 0], kept[:, 1, 0], moments[:, 1], lost)


def _variance_within(cells: RayCells, directions: Floats, chosen: Booleans, bins: Integers) -> float:
    """The variance of z z^T - I among the chosen cells of each bin, summed over the bins."""
    alike = np.flatnonzero(chosen & (cells.mass > 0))
    if not alike.size:
        return 0.0
    mass, place = cells.mass[alike], np.unique(bins[alike], return_inverse=True)[1]
    z = 0.5 * (cells.low + cells.high)[alike, None] * directions[cells.line[alike]]
    moments = (z[:, :, None] * z[:, None, :] - np.eye(z.shape[1])).reshape(alike.size, -1)
    means = np.array([np.bincount(place, mass * column) for column in moments.T]) / np.bincount(place, mass)
    return float(np.sum(mass * np.sum((moments - means.T[place]) ** 2, axis=1)))
