"""The conditional second moment G(y) = E[z z^T - I | Y = y], as a table over bins of the label.

Cells of rays (see `rays`) are sorted into bins of y: a cell whose label runs over several bins is shared between them
in proportion. Bins are narrow in the probit of the label's rank, so that tails and peaks are resolved alike; a value
that the label takes with positive probability (an atom), or at which its density jumps, gets a narrow bin to itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from featlab.analysis.cells import NOISE_REACH, Sharing, convolved
from featlab.analysis.rays import RayCells
from featlab.gaussian.hermite import Floats

Booleans = NDArray[np.bool_]

_ATOM_MASS = 1e-7
_PROBIT_REACH = 7.5
_NOISE_BINS_PER_SD = 6.0
_MOST_NOISE_BINS = 2**16


@dataclass(frozen=True)
class LabelTable:
    """P(Y in bin) and E[z z^T - I; Y in bin] for every bin: mass (B,), moment (B, q, q)."""

    mass: Floats
    moment: Floats


def label_tables(
    cells: RayCells, directions: Floats, unknown: int, bins: int, noise: float
) -> tuple[LabelTable, LabelTable]:
    """Bin the cells by label; the second table has half the bins, to see what their width does.

    Args:
        directions: (rays, Q); the first `unknown` coordinates are those whose second moment is wanted, the others
            belong to noise inside the link.
        bins: how many bins of the continuous part.
        noise: variance of Gaussian noise added to the label; the table then describes the noisy label.
    """
    edges, lasting = _noise_edges(cells, noise, bins) if noise > 0 else _edges(cells, bins)
    share = Sharing(cells.first, cells.last, edges)
    mass = share.collect(cells.mass)
    upper = [(i, j) for i in range(unknown) for j in range(i, unknown)]
    moment: Floats = np.zeros((len(mass), unknown, unknown))
    for i, j in upper:
        weight = cells.square * directions[cells.line, i] * directions[cells.line, j] - (i == j) * cells.mass
        moment[:, i, j] = moment[:, j, i] = share.collect(weight)
    if noise > 0:
        table = np.column_stack([mass, moment.reshape(len(mass), -1)])[1:-1]
        smooth = convolved(table, edges[1] - edges[0], noise)
        mass, moment, lasting = smooth[:, 0], smooth[:, 1:].reshape(moment[1:-1].shape), lasting[1:-1]
    starts = np.append(0, np.nonzero(lasting)[0] + 1)
    return _table(mass, moment), _table(np.add.reduceat(mass, starts), np.add.reduceat(moment, starts))


def _table(mass: Floats, moment: Floats) -> LabelTable:
    """The table without the bins that the label never falls into."""
    kept = mass > 1e-13
    return LabelTable(mass[kept], moment[kept])


def _edges(cells: RayCells, bins: int) -> tuple[Floats, Booleans]:
    """Edges at equal steps of the probit of the label's rank, and around atoms and critical values.

    Also which of them stay when the bins are halved: every other one, and all of the latter kind.
    """
    sorted_labels, rank = _ranked(cells)
    levels = ndtr(np.linspace(-_PROBIT_REACH, _PROBIT_REACH, bins + 1))
    quantiles = sorted_labels[np.minimum(np.searchsorted(rank, levels), sorted_labels.size - 1)]
    special = np.zeros(0)
    for values, hair in ((_atoms(cells), 1e-8), (_critical_values(cells), 1e-5)):
        widths = hair * np.maximum(np.abs(values), _label_scale(cells))
        for value, width in zip(values, widths, strict=True):
            quantiles = quantiles[np.abs(quantiles - value) > width]
        special = np.concatenate([special, values - widths, values + widths])
    quantiles = np.unique(quantiles)
    edges = np.unique(np.concatenate([quantiles, special]))
    return edges, np.isin(edges, np.concatenate([quantiles[::2], special]))


def _ranked(cells: RayCells) -> tuple[Floats, Floats]:
    """The labels in the middle of the cells, ascending, and the probability of each or a smaller one."""
    middle = 0.5 * (cells.first + cells.last)
    order = np.argsort(middle)
    return middle[order], np.cumsum(cells.mass[order])


def _label_scale(cells: RayCells) -> float:
    """The root mean square of the label; 1 where it is always zero (a link may vanish at some known coordinates)."""
    return float(np.sqrt(np.sum(cells.mass * cells.first**2) / np.sum(cells.mass))) or 1.0


def _atoms(cells: RayCells) -> Floats:
    """Values that the label takes on cells of positive total probability."""
    flat = np.abs(cells.last - cells.first) <= 1e-10 * np.maximum(np.abs(cells.first), _label_scale(cells))
    if not flat.any():
        return np.zeros(0)
    digits = np.round(cells.first[flat], 9)
    values, place = np.unique(digits, return_inverse=True)
    mass = np.bincount(place, cells.mass[flat])
    many = np.bincount(place) > 3  # an extremum makes one flat cell on a ray; an atom makes many
    return values[(mass > _ATOM_MASS) & many]


def _critical_values(cells: RayCells) -> Floats:
    """Values at which many rays turn round or begin: there the density of the label and G may jump.

    A bin that contained such a value would mix two very different conditional laws.
    """
    ray, first, last = cells.line, cells.first, cells.last
    begins = np.append(True, ray[1:] != ray[:-1])
    together = np.append(False, ~begins[1:] & (np.abs(first[1:] - last[:-1]) <= 1e-9 * _label_scale(cells)))
    rise = last - first
    turns = together & (rise * np.append(0.0, rise[:-1]) < 0)
    place = np.nonzero(turns)[0]
    # The extremum of the parabola through the three values around the turning point (equal steps).
    curvature = rise[place] - rise[place - 1]
    mean_slope = 0.5 * (rise[place] + rise[place - 1])
    extrema = first[place] - 0.5 * mean_slope**2 / curvature
    candidates = np.concatenate([extrema, first[begins]])
    values, counts = np.unique(np.round(candidates / _label_scale(cells), 5), return_counts=True)
    return values[counts >= max(1, 0.02 * np.count_nonzero(begins))] * _label_scale(cells)


def _noise_edges(cells: RayCells, noise: float, bins: int) -> tuple[Floats, Booleans]:
    """Equal bins, a fraction of the noise's standard deviation wide, over all labels but a mass of 1e-9."""
    sorted_labels, rank = _ranked(cells)
    low, high = sorted_labels[np.searchsorted(rank, [1e-9, 1 - 1e-9])]
    deviation = np.sqrt(noise)
    low, high = low - NOISE_REACH * deviation, high + NOISE_REACH * deviation
    wanted = max(bins, int(np.ceil(_NOISE_BINS_PER_SD * (high - low) / deviation)))
    edges = np.linspace(low, high, min(wanted, _MOST_NOISE_BINS) + 1)
    return edges, np.arange(edges.size) % 2 == 0
