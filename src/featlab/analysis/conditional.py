"""The conditional second moment G(y) = E[z z^T - I | Y = y], as a table over bins of the label.

Cells of rays (see `rays`) are sorted into bins of y: a cell whose label runs over several bins is shared between them
in proportion. Bins are narrow in the probit of the label's rank, so that tails and peaks are resolved alike; a value
that the label takes with positive probability (an atom), or at which its density jumps, gets a narrow bin to itself.

An increasing function of the label tells what the label tells, so no yardstick here is a part of the largest or the
typical label: bins are laid by rank, atoms told by rounding, critical values by the label's own change close by.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from featlab.analysis.cells import NOISE_REACH, Booleans, Sharing, clusters, convolved
from featlab.analysis.rays import RayCells
from featlab.gaussian.hermite import Floats

_ATOM_MASS = 1e-7
_ATOM_CELLS = 4  # an extremum makes one or two cells of constant label on a ray; an atom makes many
# In roundings: an atom's labels differ by less; a label that stops changing slowly, by less than the second from one
# cell to the next, has run out of digits.
_ATOM_WIDTH, _FADING = 256.0, 1e6
# Critical values are the same if they differ by less than this part of the label's change along the cells there.
_CRITICAL = 1e-6
_COMMON = 0.02  # of all rays
_PROBIT_REACH = 7.5
_NOISE_BINS_PER_SD = 6.0
_MOST_NOISE_BINS = 2**16


@dataclass(frozen=True)
class LabelTable:
    """P(Y in bin) and E[z z^T - I; Y in bin] for every bin: mass (B,), moment (B, q, q).

    The rays are those of two rules of equal weight: `mass_apart` and `moment_apart` are half the first rule's table
    minus half the second's, what the choice of directions does.
    `lost` is E[|z z^T - I|^2] over the inputs whose labels double precision does not tell apart: by so much at most
    the trace of F(M) = E[G M G] may be short of the true one.
    """

    mass: Floats
    moment: Floats
    mass_apart: Floats
    moment_apart: Floats
    lost: float = 0.0


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
    atoms = _atoms(cells)
    edges, lasting = _noise_edges(cells, noise, bins) if noise > 0 else _edges(cells, bins, atoms)
    of_cell = rules[cells.line]
    parts = [_collected(cells, directions[:, :unknown], of_cell == rule, edges) for rule in (1, 0, -1)]
    table = np.column_stack([sum(parts), parts[0] - parts[2]])
    if noise > 0:
        table, lasting = convolved(table[1:-1], edges[1] - edges[0], noise), lasting[1:-1]
    starts = np.append(0, np.nonzero(lasting)[0] + 1)
    lost = 0.0 if noise > 0 else _lost(cells, directions[:, :unknown], atoms)
    return _table(table, unknown, lost), _table(np.add.reduceat(table, starts), unknown, lost)


def _collected(cells: RayCells, directions: Floats, chosen: Booleans, edges: Floats) -> Floats:
    """Mass and moments E[z_i z_j - [i = j]; bin], i <= j, of some of the cells: (B, 1 + q(q+1)/2)."""
    share = Sharing(cells.first[chosen], cells.last[chosen], edges)
    mass, square, z = cells.mass[chosen], cells.square[chosen], directions[cells.line[chosen]]
    weights = [mass]
    for i, j in zip(*np.triu_indices(directions.shape[1]), strict=True):
        weights.append(square * z[:, i] * z[:, j] - (i == j) * mass)
    return np.column_stack([share.collect(weight) for weight in weights])


def _table(columns: Floats, unknown: int, lost: float) -> LabelTable:
    """The table without the bins that the label never falls into, from columns of both kinds (B, 2 (1 + q(q+1)/2))."""
    kept = columns[columns[:, 0] > 1e-13].reshape(-1, 2, columns.shape[1] // 2)
    moments = np.zeros((len(kept), 2, unknown, unknown))
    rows, columns_of = np.triu_indices(unknown)
    moments[:, :, rows, columns_of] = moments[:, :, columns_of, rows] = kept[:, :, 1:]
    return LabelTable(kept[:, 0, 0], moments[:, 0], kept[:, 1, 0], moments[:, 1], lost)


def _edges(cells: RayCells, bins: int, atoms: _Atoms) -> tuple[Floats, Booleans]:
    """Edges at equal steps of the probit of the label's rank, and around atoms and critical values.

    Also which of them stay when the bins are halved: every other one, and all of the latter kind.
    """
    sorted_labels, rank = _ranked(cells)
    levels = ndtr(np.linspace(-_PROBIT_REACH, _PROBIT_REACH, bins + 1))
    quantiles = sorted_labels[np.minimum(np.searchsorted(rank, levels), sorted_labels.size - 1)]
    critical, width = _critical_values(cells)
    low = np.concatenate([atoms.low, critical - width])
    high = np.concatenate([atoms.high, critical + width])
    for start, end in zip(low, high, strict=True):
        quantiles = quantiles[(quantiles < start) | (quantiles > end)]
    special = np.concatenate([low, high])
    quantiles = np.unique(quantiles)
    edges = np.unique(np.concatenate([quantiles, special]))
    return edges, np.isin(edges, np.concatenate([quantiles[::2], special]))


def _ranked(cells: RayCells) -> tuple[Floats, Floats]:
    """The labels in the middle of the cells, ascending, and the probability of each or a smaller one."""
    middle = 0.5 * (cells.first + cells.last)
    order = np.argsort(middle)
    return middle[order], np.cumsum(cells.mass[order])


@dataclass(frozen=True)
class _Atoms:
    """Values that the label takes with positive probability, as intervals a few roundings wide: low, high (A,).

    `unresolved` are the cells of constant label that are no part of an atom: rounding has cut a continuum into steps.
    """

    low: Floats
    high: Floats
    unresolved: Booleans


def _atoms(cells: RayCells) -> _Atoms:
    """The values of the cells of constant label, as far as they recur."""
    still = np.flatnonzero(cells.blur > 0)
    number, least, largest = clusters(cells.first[still], _ATOM_WIDTH * cells.blur[still])
    count, mass, blur = np.bincount(number), np.bincount(number, cells.mass[still]), np.zeros(least.size)
    np.maximum.at(blur, number, cells.blur[still])
    heavy = (mass > _ATOM_MASS) & (count >= _ATOM_CELLS)
    single = largest - least <= 2 * _ATOM_WIDTH * blur
    unresolved = np.zeros(cells.blur.size, dtype=bool)
    unresolved[still] = (heavy & ~single)[number]
    atom, room = heavy & single, _ATOM_WIDTH * blur
    return _Atoms((least - room)[atom], (largest + room)[atom], unresolved)


def _lost(cells: RayCells, directions: Floats, atoms: _Atoms) -> float:
    """E[|z z^T - I|^2] over cells that are constant only because the label has run out of digits.

    At the edge of a true plateau, such as that of a ReLU, the label sets off at once. One that creeps towards its
    plateau by less and less, such as tanh far out, has merely come to the end of double precision.
    """
    still = cells.blur > 0
    if not still.any():
        return 0.0
    beside = np.append(False, cells.line[1:] == cells.line[:-1])
    run = np.cumsum(np.append(True, still[1:] != still[:-1]) | ~beside)
    blur = np.zeros(run[-1] + 1)
    np.maximum.at(blur, run, cells.blur)
    slow = np.zeros(run[-1] + 1, dtype=bool)
    rise, here, before = np.abs(cells.rise), np.arange(still.size)[beside], np.flatnonzero(beside) - 1
    for moving, resting in ((here, before), (before, here)):
        fading = ~still[moving] & still[resting] & (rise[moving] <= _FADING * blur[run[resting]])
        slow[run[resting[fading]]] = True
    lost = atoms.unresolved | (still & slow[run])
    square = cells.high[lost] ** 2 * np.sum(directions[cells.line[lost]] ** 2, axis=1)  # |z|^2, at most
    return float(np.sum(cells.mass[lost] * (square**2 + directions.shape[1])))


def _critical_values(cells: RayCells) -> tuple[Floats, Floats]:
    """Values at which many rays turn round, jump or begin: there the density of the label and G may jump.

    A bin that contained such a value would mix two very different conditional laws. Also how far each may be off.
    """
    size, goes_on = np.abs(cells.rise), cells.continues
    begins = np.flatnonzero(~goes_on)
    ends = begins[1:] - 1
    ends = ends[cells.line[ends] == cells.line[ends + 1]]  # before a jump; the end of a ray is no value of its own
    turns = cells.turns
    candidates = np.concatenate([cells.first[turns], cells.first[begins], cells.last[ends]])
    change = np.concatenate([np.minimum(size[turns], size[turns - 1]), size[begins], size[ends]])
    reach = _CRITICAL * change + 2 * np.spacing(np.abs(candidates))
    number, least, largest = clusters(candidates, reach)
    width = np.zeros(least.size)
    np.maximum.at(width, number, reach)
    rays = np.count_nonzero(np.append(True, cells.line[1:] != cells.line[:-1]))
    common = np.bincount(number, minlength=least.size) >= max(1, _COMMON * rays)
    return 0.5 * (least + largest)[common], (0.5 * (largest - least) + width)[common]


def _noise_edges(cells: RayCells, noise: float, bins: int) -> tuple[Floats, Booleans]:
    """Equal bins, a fraction of the noise's standard deviation wide, over all labels but a mass of 1e-9."""
    sorted_labels, rank = _ranked(cells)
    low, high = sorted_labels[np.searchsorted(rank, [1e-9, 1 - 1e-9])]
    deviation = np.sqrt(noise)
    low, high = low - NOISE_REACH * deviation, high + NOISE_REACH * deviation
    wanted = max(bins, int(np.ceil(_NOISE_BINS_PER_SD * (high - low) / deviation)))
    edges = np.linspace(low, high, min(wanted, _MOST_NOISE_BINS) + 1)
    return edges, np.arange(edges.size) % 2 == 0
