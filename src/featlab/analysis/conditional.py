"""The conditional second moment G(y) = E[z z^T - I | Y = y], as a table over bins of the label.

Cells of rays (see `rays`) are sorted into bins of y: a cell whose label runs over several bins is shared between them
in proportion. Bins are narrow in the probit of the label's rank, so that tails and peaks are resolved alike; a value
that the label takes with positive probability (an atom), or at which its density jumps, gets a narrow bin to itself.

An increasing function of the label tells what the label tells, so no yardstick here is a part of the largest or the
typical label: bins are laid by rank, atoms told by rounding, critical values by the label's own change close by.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from featlab.analysis.cells import NOISE_REACH, Booleans, Sharing, clusters, convolved
from featlab.analysis.rays import RayCells
from featlab.gaussian.hermite import Floats, Integers

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

    `lost` is the variance of z z^T - I (in the Frobenius norm) among inputs whose labels the table does not tell apart
    though they differ, summed over such labels: by so much at most E|G|^2, the trace of F(M) = E[G M G], may be short.
    """

    mass: Floats
    moment: Floats
    lost: float = 0.0

    @property
    def information(self) -> float:
        """E|G|^2, the trace of F."""
        return float(np.sum(np.sum(self.moment**2, axis=(1, 2)) / self.mass))


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
    layout = _noise_edges(cells, noise, bins) if noise > 0 else _edges(cells, bins)
    share = Sharing(cells.first, cells.last, layout.edges, cells.bends)
    mass = share.collect(cells.mass)
    upper = [(i, j) for i in range(unknown) for j in range(i, unknown)]
    moment: Floats = np.zeros((len(mass), unknown, unknown))
    for i, j in upper:
        weight = cells.square * directions[cells.line, i] * directions[cells.line, j] - (i == j) * cells.mass
        moment[:, i, j] = moment[:, j, i] = share.collect(weight)
    if layout.equal is not None:
        table = np.column_stack([mass, moment.reshape(len(mass), -1)])
        width = layout.edges[layout.equal.start] - layout.edges[layout.equal.start - 1]
        table[layout.equal] = convolved(table[layout.equal], width, noise)
        mass, moment = table[:, 0], table[:, 1:].reshape(moment.shape)
    fine = _table(mass, moment, _variance_within(cells, directions[:, :unknown], layout.alike, share.first_bin))
    full, half = (_merged(mass, moment, fine, kept) for kept in (layout.kept, layout.kept & layout.lasting))
    # What merging loses counts once, in the full table; halving the bins on top of it is to be seen as an error.
    return full, replace(half, lost=full.lost)


def _merged(mass: Floats, moment: Floats, fine: LabelTable, kept: Booleans) -> LabelTable:
    """The bins between the edges that are kept."""
    starts = np.append(0, np.nonzero(kept)[0] + 1)
    table = _table(np.add.reduceat(mass, starts), np.add.reduceat(moment, starts), fine.lost)
    return replace(table, lost=fine.lost + max(0.0, fine.information - table.information))


@dataclass(frozen=True)
class _Layout:
    """Bins of the label, between ascending edges.

    Attributes:
        kept: which edges are kept: noise does not let the bins on both sides of the others be told apart.
        lasting: which of these stay when the bins are halved.
        alike: cells whose labels differ, but not in double precision.
        equal: the bins of equal width that noise is spread over, if there is any.
    """

    edges: Floats
    kept: Booleans
    lasting: Booleans
    alike: Booleans
    equal: slice | None = None


def _table(mass: Floats, moment: Floats, lost: float) -> LabelTable:
    """The table without the bins that the label never falls into."""
    kept = mass > 1e-13
    return LabelTable(mass[kept], moment[kept], lost)


def _edges(cells: RayCells, bins: int) -> _Layout:
    """Edges at equal steps of the probit of the label's rank, and around atoms and critical values.

    Every other one stays when the bins are halved, and all of the latter kind.
    """
    atoms, quantiles = _atoms(cells), _quantiles(cells, bins)
    critical, width = _critical_values(cells)
    low = np.concatenate([atoms.low, critical - width])
    high = np.concatenate([atoms.high, critical + width])
    for start, end in zip(low, high, strict=True):
        quantiles = quantiles[(quantiles < start) | (quantiles > end)]
    special = np.concatenate([low, high])
    edges = np.unique(np.concatenate([quantiles, special]))
    lasting = np.isin(edges, np.concatenate([quantiles[::2], special]))
    return _Layout(edges, np.full(edges.size, True), lasting, atoms.unresolved | _faded(cells))


def _quantiles(cells: RayCells, bins: int) -> Floats:
    """Labels at equal steps of the probit of their rank, ascending and different."""
    labels, rank = _ranked(cells)
    levels = ndtr(np.linspace(-_PROBIT_REACH, _PROBIT_REACH, bins + 1))
    return np.unique(labels[np.minimum(np.searchsorted(rank, levels), labels.size - 1)])


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


def _faded(cells: RayCells) -> Booleans:
    """Cells along which the label is constant only because digits have run out.

    At the edge of a true plateau, such as that of a ReLU, the label sets off at once. One that creeps towards its
    plateau by less and less, such as tanh far out, has merely come to the end of double precision.
    """
    still = cells.blur > 0
    if not still.any():
        return still
    beside = np.append(False, cells.line[1:] == cells.line[:-1])
    run = np.cumsum(np.append(True, still[1:] != still[:-1]) | ~beside)
    blur = np.zeros(run[-1] + 1)
    np.maximum.at(blur, run, cells.blur)
    slow = np.zeros(run[-1] + 1, dtype=bool)
    rise, here, before = np.abs(cells.rise), np.arange(still.size)[beside], np.flatnonzero(beside) - 1
    for moving, resting in ((here, before), (before, here)):
        fading = ~still[moving] & still[resting] & (rise[moving] <= _FADING * blur[run[resting]])
        slow[run[resting[fading]]] = True
    return still & slow[run]


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


def _noise_edges(cells: RayCells, noise: float, bins: int) -> _Layout:
    """Equal bins, a fraction of the noise's standard deviation wide, over all labels but a mass of 1e-9.

    Labels that spread too widely for that have such bins around their median only. Those far off lie apart by more than
    the noise, mostly: they have bins by rank, none of them narrower than the noise reaches.
    """
    labels, rank = _ranked(cells)
    deviation = np.sqrt(noise)
    low, middle, high = labels[np.searchsorted(rank, [1e-9, 0.5, 1 - 1e-9])]
    low, high = low - NOISE_REACH * deviation, high + NOISE_REACH * deviation
    wanted = max(bins, int(np.ceil(_NOISE_BINS_PER_SD * (high - low) / deviation)))
    nowhere = np.zeros(labels.size, dtype=bool)
    if wanted <= _MOST_NOISE_BINS:
        edges = np.linspace(low, high, wanted + 1)
        every = np.full(edges.size, True)
        return _Layout(edges, every, np.arange(edges.size) % 2 == 0, nowhere, slice(1, edges.size))
    reach = 0.5 * _MOST_NOISE_BINS * deviation / _NOISE_BINS_PER_SD
    equal = np.linspace(middle - reach, middle + reach, _MOST_NOISE_BINS + 1)
    quantiles = _quantiles(cells, bins)
    far = NOISE_REACH * deviation
    below, above = quantiles[quantiles < equal[0] - far], quantiles[quantiles > equal[-1] + far]
    edges = np.concatenate([below, equal, above])
    kept = np.append(True, np.diff(np.floor(edges / far)) > 0)
    kept[below.size : below.size + equal.size] = True
    lasting = np.isin(np.arange(edges.size), np.flatnonzero(kept)[::2])
    return _Layout(edges, kept, lasting, nowhere, slice(below.size + 1, below.size + equal.size))
