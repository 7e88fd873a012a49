"""Bins of the label: by its rank where there is no noise, of equal width where noise has to be spread over them.

An increasing function of the label tells what the label tells, so no yardstick here is a part of the largest or the
typical label: bins are laid by rank, atoms told by rounding, critical values by the label's own change close by.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from featlab.analysis.cells import NOISE_REACH, Booleans, clusters
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
# Between critical values: no bins of their own for a smaller probability, nor for more stretches; so many times fewer.
_LEAST_PART, _MOST_PARTS, _COARSER = 1e-4, 8, 4
_NOISE_BINS_PER_SD = 6.0
_MOST_NOISE_BINS = 2**16
PARTS = 8  # into which a bin of equal width is cut when labels are sorted into it


@dataclass(frozen=True)
class Layout:
    """Bins of the label, between ascending edges.

    With noise there is a stretch of bins of equal width, each cut into `PARTS`; what is in a part goes to the points at
    the ends of its bin, and the noise is spread over these points. `kept` and `lasting` then speak of the edges of the
    other bins and of the middles between the points (one more at either end).

    Attributes:
        kept: which edges are kept: noise does not let the bins on both sides of the others be told apart.
        lasting: which of these stay when the bins are halved.
        alike: cells whose labels differ, but not in double precision.
        equal: the parts of the bins of equal width, among all bins; None without noise.
    """

    edges: Floats
    kept: Booleans
    lasting: Booleans
    alike: Booleans
    equal: slice | None = None

    @property
    def width(self) -> float:
        """Of the bins of equal width."""
        assert self.equal is not None
        return float(self.edges[self.equal.start - 1 + PARTS] - self.edges[self.equal.start - 1])


def layout_by_rank(cells: RayCells, bins: int) -> Layout:
    """Edges at equal steps of the probit of the label's rank, and around atoms and critical values.

    Every other one stays when the bins are halved, and all of the latter kind.
    """
    atoms = _atoms(cells)
    critical, width = critical_values(cells)
    # An edge inside an atom would tell apart by rounding what is one label.
    within = (atoms.low <= (critical - width)[:, None]) & ((critical + width)[:, None] <= atoms.high)
    critical, width = critical[~within.any(axis=1)], width[~within.any(axis=1)]
    quantiles = np.unique(np.concatenate([_quantiles(cells, bins), _quantiles_between(cells, critical, bins)]))
    low = np.concatenate([atoms.low, critical - width])
    high = np.concatenate([atoms.high, critical + width])
    for start, end in zip(low, high, strict=True):
        quantiles = quantiles[(quantiles < start) | (quantiles > end)]
    special = np.concatenate([low, high])
    edges = np.unique(np.concatenate([quantiles, special]))
    lasting = np.isin(edges, np.concatenate([quantiles[::2], special]))
    return Layout(edges, np.full(edges.size, True), lasting, atoms.unresolved | _faded(cells))


def _quantiles(cells: RayCells, bins: int) -> Floats:
    """Labels at equal steps of the probit of their rank, ascending and different."""
    labels, rank = _ranked(cells)
    levels = ndtr(np.linspace(-_PROBIT_REACH, _PROBIT_REACH, bins + 1))
    return np.unique(labels[np.minimum(np.searchsorted(rank, levels), labels.size - 1)])


def _quantiles_between(cells: RayCells, critical: Floats, bins: int) -> Floats:
    """The same of the labels between two critical values: the last before a jump of the density are as rare as a tail.

    Of He2(h1) + 5 sign(..) the labels just below 4 are far out in h1, though they are in the middle of all labels.
    """
    labels, rank = _ranked(cells)
    ends = np.append(0.0, rank)[np.searchsorted(labels, np.sort(critical))]
    parts = np.diff(ends)
    inner = np.flatnonzero(parts > _LEAST_PART)
    if not 0 < inner.size <= _MOST_PARTS:
        return np.zeros(0)
    steps = ndtr(np.linspace(-_PROBIT_REACH, _PROBIT_REACH, bins // _COARSER + 1))
    levels = (ends[inner, None] + parts[inner, None] * steps).ravel()
    return labels[np.minimum(np.searchsorted(rank, levels), labels.size - 1)]


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


def critical_values(cells: RayCells) -> tuple[Floats, Floats]:
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


def layout_for_noise(cells: RayCells, noise: float, bins: int) -> Layout:
    """Equal bins, a fraction of the noise's standard deviation wide, over all labels but a mass of 1e-9.

    Labels that spread too widely for that have such bins around their median only. Those far off lie apart by more than
    the noise, mostly: they have bins by rank, none of them narrower than the noise reaches.
    """
    labels, rank = _ranked(cells)
    deviation = np.sqrt(noise)
    far = NOISE_REACH * deviation
    low, middle, high = labels[np.searchsorted(rank, [1e-9, 0.5, 1 - 1e-9])]
    low, high = low - far, high + far
    count = max(bins, int(np.ceil(_NOISE_BINS_PER_SD * (high - low) / deviation)))
    outside = np.zeros(0)
    if count > _MOST_NOISE_BINS:
        count, reach = _MOST_NOISE_BINS, 0.5 * _MOST_NOISE_BINS * deviation / _NOISE_BINS_PER_SD
        low, high, outside = middle - reach, middle + reach, _quantiles(cells, bins)
    below, above = outside[outside < low - far], outside[outside > high + far]
    edges = np.concatenate([below, np.linspace(low, high, PARTS * count + 1), above])
    apart = [np.append(True, np.diff(np.floor(side / far)) > 0)[: side.size] for side in (below, above)]
    kept = np.concatenate([apart[0], np.full(count + 2, True), apart[1]])
    lasting = np.isin(np.arange(kept.size), np.flatnonzero(kept)[::2])
    equal = slice(below.size + 1, below.size + 1 + PARTS * count)
    return Layout(edges, kept, lasting, np.zeros(labels.size, dtype=bool), equal)
