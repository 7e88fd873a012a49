"""The law of the label of a sum or a product, on a lattice: thresholds of stages of any number of directions.

Statement: for Y = sum_g f_g of disjoint groups, the law of Y is the convolution of the laws of the f_g, and
E[z_g z_g^T - I; Y in dy] that of E[z_g z_g^T - I; f_g in dy] with the laws of the other groups. For a product the same
holds of log|Y|, with the signs convolved as the group {+1, -1}, and a class of its own for Y = 0.

At a stage whose order 1 vanishes, G(y) = E[z z^T - I | y] is block diagonal by groups (of a product with exactly two
odd factors after these are taken as one group: see `parts.merged`). F(M) = E[G M G] is completely positive, so that
its largest eigenvalue has a positive eigenmatrix; the blocks of that matrix on the diagonal are one, too, and F acts on
each alone: 1 / alpha is the largest over the groups of the top eigenvalue of E[G_g M G_g].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
from scipy.fft import irfft, rfft

from featlab.analysis.budget import check_time
from featlab.analysis.cells import NOISE_REACH, Sharing
from featlab.analysis.grids import known_rule, slice_at
from featlab.analysis.rays import RayCells, cells_of_rays
from featlab.analysis.structured import atoms
from featlab.analysis.structured.parts import Group, Parts
from featlab.analysis.subspaces import complement, nothing
from featlab.gaussian.hermite import Floats
from featlab.gaussian.polar import direction_rule, is_cone
from featlab.gaussian.quadrature import moved_surfaces, product_rule
from featlab.targets import Target

_BINS = 2**16
# By the number of unknown directions and noise variables of a group: nodes on each panel of angles, cells on each ray.
_RESOLUTION = {0: (1, 2), 1: (1, 6400), 2: (48, 400), 3: (14, 160), 4: (7, 80), 5: (4, 40)}
# By the number of known directions of groups that are known in part: Gauss nodes on each piece of each of them.
_KNOWN_NODES = {1: 20, 2: 8, 3: 3}
_REACH = 9.0  # deviations of the label that the lattice covers, besides the extent of its widest term
_SMALLEST = 1e-12  # mass of a bin that is rounding of a Fourier transform
_ROUNDING = 1e-12
_NO_MASS = 1e-14  # beyond the last jump that is cut at
_LOGARITHMS = 36.0  # a factor's size is told down to exp(-36) of the largest


class _Law(NamedTuple):
    """A group's law at fixed known directions: values, P and E[zz^T - I] of cells on which its function is linear."""

    first: Floats
    last: Floats
    mass: Floats
    moment: Floats  # (cells, q, q)


_Laws = dict[tuple[str, bytes, bytes, float, float], _Law]


@dataclass(frozen=True)
class Strengths:
    """The top eigenvalue of E[G_g M G_g] for each group, the subspace of its eigenmatrix, and the numerical error."""

    values: Floats
    subspaces: tuple[Floats, ...]
    error: float


class _Setting(NamedTuple):
    """How fine everything is, against the finest: bins, cells on rays, directions."""

    bins: int = _BINS
    steps: float = 1.0
    nodes: float = 1.0


_CONDITIONAL = _Setting(bins=2**13, steps=0.25, nodes=0.5)  # where it is done for every point of the known directions


def why_not(parts: Parts, known: Floats, noise: float) -> str | None:
    """Why the law of the label is not computed at the known directions; None if it can be."""
    if not parts.split(known):
        return "the known directions mix groups of directions"
    if parts.product and noise > 0:
        return "the label is a product with noise added to it"
    if sum(group.columns(known).shape[1] for group in _partly(parts, known)) > max(_KNOWN_NODES):
        return "too many groups are known in part only"
    return None


def strengths(parts: Parts, known: Floats, noise: float) -> Strengths:
    """The strength of every group at a stage whose order 1 vanishes; 0 for groups that are known."""
    laws: _Laws = {}
    base = _CONDITIONAL if _partly(parts, known) else _Setting()
    best, subspaces = _strengths(parts, known, noise, base, laws)
    error = 0.0
    for other in (
        base._replace(bins=base.bins // 2),
        base._replace(steps=base.steps / 2),
        base._replace(nodes=0.75 * base.nodes),
    ):
        if other.nodes < base.nodes and all(group.part.rank + group.part.hidden == 1 for group in parts.groups):
            continue  # one dimension has two directions
        values, _ = _strengths(parts, known, noise, other, laws)
        # Averages over directions may converge only as 1 / nodes, bins at a singularity as the root of their width:
        # then the error is up to three times the change.
        error += (1 if other.steps < base.steps else 3) * float(np.max(np.abs(values - best)))
    return Strengths(best, tuple(subspaces), error + _ROUNDING * float(best.max()))


def _partly(parts: Parts, known: Floats) -> list[Group]:
    """The groups that are known in part."""
    return [group for group in parts.groups if 0 < group.columns(known).shape[1] < group.part.rank]


def _rules(parts: Parts, known: Floats) -> list[tuple[Floats, Floats]]:
    """Points (N, s) and weights of the known directions of each group that is known in part."""
    some = _partly(parts, known)
    together = sum(group.columns(known).shape[1] for group in some)
    rules = [known_rule(group.part, group.columns(known), _KNOWN_NODES[together]) for group in some]
    return [(rule.points, rule.weights) for rule in rules]


def _strengths(
    parts: Parts, known: Floats, noise: float, setting: _Setting, laws: _Laws
) -> tuple[Floats, list[Floats]]:
    """The strength and the subspace of every group; `laws` keeps what was computed before."""
    operators = [np.zeros((group.part.rank - group.columns(known).shape[1],) * 4) for group in parts.groups]
    for points, weight in _known_points(parts, known):
        # Groups that are equal, and of which the same is known, have one law.
        keys = []
        for group, point in zip(parts.groups, points, strict=True):
            what = (group.part.text, group.columns(known).tobytes(), point.tobytes())
            keys.append((*what, setting.steps, setting.nodes))
            if keys[-1] not in laws:
                check_time()
                laws[keys[-1]] = _law(group, known, point, setting)
        times = {key: keys.count(key) for key in keys}
        some = [laws[key] for key in times]
        tables = _tables(some, list(times.values()), parts.product, noise / parts.scale**2, setting.bins)
        grams = {key: gram(*table) for key, table in zip(times, tables, strict=True)}
        for operator, key in zip(operators, keys, strict=True):
            operator += weight * grams[key]
    found = [top(operator) for operator in operators]
    return np.array([value for value, _ in found]), [subspace for _, subspace in found]


def _known_points(parts: Parts, known: Floats) -> Iterator[tuple[list[Floats], float]]:
    """The known coordinates of each group (none if it is unknown, zeros if it is known: it then only shifts labels)."""
    rules = _rules(parts, known)
    grid = product_rule([(np.arange(len(weights), dtype=float), weights) for _, weights in rules])
    for places, weight in zip(grid.points, grid.weights, strict=True):
        chosen = iter([points[int(place)] for (points, _), place in zip(rules, places, strict=True)])
        points = []
        for group in parts.groups:
            inside = group.columns(known).shape[1]
            points.append(next(chosen) if 0 < inside < group.part.rank else np.zeros(inside))
        yield points, float(weight)


def _law(group: Group, known: Floats, point: Floats, setting: _Setting) -> _Law:
    """The law of a group's function at fixed known coordinates."""
    part, inside = group.part, group.columns(known)
    unknown = complement(inside)
    count = unknown.shape[1]
    if not count and not part.hidden:
        return _known_law(group)
    nodes, steps = _RESOLUTION[count + part.hidden]
    nodes, steps = max(1, round(setting.nodes * nodes)), round(setting.steps * steps)
    cells, directions = _cells(part, inside, unknown, point, nodes, steps)
    u = directions[cells.line, :count]
    moment = cells.square[:, None, None] * u[:, :, None] * u[:, None, :] - cells.mass[:, None, None] * np.eye(count)
    return _Law(cells.first, cells.last, cells.mass, moment)


def _cells(
    part: Target, known: Floats, unknown: Floats, point: Floats, nodes: int, steps: int
) -> tuple[RayCells, Floats]:
    """Cells of the rays of z (and of the noise inside the link) at fixed known coordinates, and the directions."""
    offset, turn = slice_at(part, known, unknown, point)
    dimension = turn.shape[1]
    surfaces = [surface.function for surface in moved_surfaces(part.kinks, offset, turn)]
    cones = [surface for surface in surfaces if is_cone(surface, dimension)]
    others = [surface for surface in surfaces if not is_cone(surface, dimension)]
    directions, weights = direction_rule(dimension, nodes, cones)
    return cells_of_rays(lambda z: part.link(offset + z @ turn.T), others, directions, weights, steps), directions


def _known_law(group: Group) -> _Law:
    """Of a group that is known: a term is a shift, which changes nothing, but a factor may be zero."""
    rank = group.part.rank
    cells, _ = _cells(group.part, nothing(rank), np.eye(rank), np.zeros(0), *_RESOLUTION[rank])
    zero = float(cells.mass[(cells.first == 0) & (cells.last == 0)].sum())
    values = np.array([1.0, 0.0])
    return _Law(values, values, np.array([1 - zero, zero]), np.zeros((2, 0, 0)))


def _tables(
    laws: list[_Law], times: list[int], product: bool, noise: float, bins: int
) -> Iterator[tuple[Floats, Floats]]:
    """For each term or factor: P(Y in bin), (bins,), and E[zz^T - I; Y in bin], (bins, q, q)."""
    exact = None
    if noise == 0 and all(law.mass[law.first != law.last].sum() < _NO_MASS for law in laws):
        still = [law.first == law.last for law in laws]
        few = [(law.first[s], _columns(law)[s]) for law, s in zip(laws, still, strict=True)]
        exact = atoms.combined(few, times, product)
    if exact is None:
        return _of_product(laws, times, bins) if product else _of_sum(laws, times, noise, bins)
    sizes = [law.moment.shape[1] for law in laws]
    return (_kept(table[:, 0], table[:, 1:].reshape(len(table), q, q)) for table, q in zip(exact, sizes, strict=True))


def _of_sum(laws: list[_Law], times: list[int], noise: float, bins: int) -> Iterator[tuple[Floats, Floats]]:
    """Those of a sum, on a lattice of which the ends are not neighbours, although each term's place is rounded."""
    spreads = [spread(law.first, law.last, law.mass) for law in laws]
    width = extent_of(spreads, times, noise) / (bins - 1 - sum(times))
    frequency = 2 * np.pi * np.arange(bins // 2 + 1) / (bins * width)
    damping = np.exp(-0.5 * noise * frequency**2)
    transforms = []
    for law, (low, _, _) in zip(laws, spreads, strict=True):
        edges = np.asarray(low + width * (np.arange(bins - 1) + 0.5), dtype=np.float64)
        transforms.append(rfft(_binned(Sharing(law.first, law.last, edges), law), axis=0))
    for place, own in enumerate(transforms):
        others = damping * _others(transforms, times, place)
        size = laws[place].moment.shape[1]
        table = irfft(own * others[:, None], bins, axis=0)
        yield _kept(table[:, 0], table[:, 1:].reshape(len(table), size, size))


def _others(transforms: list[np.ndarray], times: list[int], place: int) -> np.ndarray:
    """The transform of the law of all terms but one of those at this place."""
    counts = [n - (k == place) for k, n in enumerate(times)]
    return np.asarray(prod(one[:, 0] ** n for one, n in zip(transforms, counts, strict=True)))


def extent_of(spreads: list[tuple[float, float, float]], times: list[int], noise: float) -> float:
    """How wide a lattice must be for the sum of terms of these `spread`s, each taken several times, and noise."""
    deviation = np.sqrt(sum(n * variance for n, (*_, variance) in zip(times, spreads, strict=True)) + noise)
    widest = max(high - low for low, high, _ in spreads)
    everything = sum(n * (high - low) for n, (low, high, _) in zip(times, spreads, strict=True))
    return float(min(everything + 2 * NOISE_REACH * np.sqrt(noise), widest + 2 * _REACH * deviation))


def spread(first: Floats, last: Floats, mass: Floats) -> tuple[float, float, float]:
    """Where all but 1e-10 of the values lie, and their variance."""
    middle = 0.5 * (first + last)
    order = np.argsort(middle)
    rank = np.cumsum(mass[order])
    low, high = middle[order][np.searchsorted(rank, [1e-10, rank[-1] - 1e-10])]
    inside = (middle >= low) & (middle <= high)
    mean = mass[inside] @ middle[inside] / mass[inside].sum()
    return float(low), float(high), float(mass[inside] @ (middle[inside] - mean) ** 2)


def _binned(share: Sharing, law: _Law) -> Floats:
    """(bins, 1 + q^2): the mass and the moment of every bin."""
    return np.column_stack([share.collect(column) for column in _columns(law).T])


def _columns(law: _Law) -> Floats:
    """(cells, 1 + q^2): the mass and the moment of every cell."""
    return np.column_stack([law.mass, law.moment.reshape(len(law.mass), law.moment.shape[1] ** 2)])


def _kept(mass: Floats, moment: Floats) -> tuple[Floats, Floats]:
    """Without the bins that the label never falls into."""
    there = mass > _SMALLEST
    return mass[there], moment[there]


def _of_product(laws: list[_Law], times: list[int], bins: int) -> Iterator[tuple[Floats, Floats]]:
    """The same for factors; bins are pairs of a sign and an interval of log|Y|, and one for Y = 0."""
    laws = [_cut_at_zero(law) for law in laws]
    deviation = np.sqrt(sum(n * _log_variance(law) for n, law in zip(times, laws, strict=True)))
    extent = min(_LOGARITHMS * sum(times), _LOGARITHMS + 2 * _REACH * deviation)
    transforms = [_of_factor(law, extent, bins) for law in laws]
    present = [float(law.mass[(law.first != 0) | (law.last != 0)].sum()) for law in laws]
    never_zero = prod(share**n for share, n in zip(present, times, strict=True))
    for place, law in enumerate(laws):
        size = law.moment.shape[1]
        both = []
        for character in (0, 1):
            one = [transform[character] for transform in transforms]
            both.append(irfft(one[place] * _others(one, times, place)[:, None], bins, axis=0))
        table = np.concatenate([both[0] + both[1], both[0] - both[1]]) / 2
        of_zero = np.append(1 - never_zero, -table[:, 1:].sum(axis=0))  # over all labels E[zz^T - I] is zero
        table = np.vstack([table, of_zero])
        yield _kept(table[:, 0], table[:, 1:].reshape(len(table), size, size))


def _of_factor(law: _Law, extent: float, bins: int) -> tuple[np.ndarray, np.ndarray]:
    """The transforms, in log|f|, of the sum and of the difference of the law of positive and of negative values."""
    largest = float(np.log(np.abs(np.concatenate([law.first, law.last])).max()))
    edges = np.exp(largest - extent + extent / bins * (np.arange(bins - 1) + 0.5))
    sign = np.sign(law.first + law.last)
    signed = []
    for value in (1, -1):
        chosen = _Law(*(column[sign == value] for column in law))
        signed.append(_binned(Sharing(np.abs(chosen.first), np.abs(chosen.last), edges), chosen))
    return rfft(signed[0] + signed[1], axis=0), rfft(signed[0] - signed[1], axis=0)


def _log_variance(law: _Law) -> float:
    middle = 0.5 * np.abs(law.first + law.last)
    there = middle > 0
    logs, mass = np.log(middle[there]), law.mass[there] / law.mass[there].sum()
    return float(mass @ (logs - mass @ logs) ** 2)


def _cut_at_zero(law: _Law) -> _Law:
    """Cells along which the value changes sign, cut in two."""
    across = law.first * law.last < 0
    if not across.any():
        return law
    share = np.abs(law.first[across]) / np.abs(law.last[across] - law.first[across])
    zero = np.zeros(share.size)
    whole, cut = _Law(*(column[~across] for column in law)), _Law(*(column[across] for column in law))
    ends = [(cut.first, zero, share), (zero, cut.last, 1 - share)]
    halves = [_Law(a, b, s * cut.mass, s[:, None, None] * cut.moment) for a, b, s in ends]
    return _Law(*(np.concatenate(columns) for columns in zip(whole, *halves, strict=True)))


def gram(mass: Floats, moment: Floats) -> Floats:
    """sum over bins of moment_ij moment_kl / mass: with G = moment / mass it is E[G_ij G_kl]."""
    size = moment.shape[1]
    flat = moment.reshape(len(mass), size**2)
    return ((flat / mass[:, None]).T @ flat).reshape(size, size, size, size)


def top(operator: Floats, tie: float = 2e-3) -> tuple[float, Floats]:
    """The largest eigenvalue of F(M)_il = sum_jk operator_ijkl M_jk, and the range of its eigenmatrices.

    The identity, projected on the eigenspace, is a positive matrix of the largest range there is.
    """
    size = operator.shape[0]
    if size == 0:
        return 0.0, np.zeros((0, 0))
    matrix = operator.transpose(0, 3, 1, 2).reshape(size**2, size**2)
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    best = vectors[:, values >= (1 - tie) * values[-1]]
    positive = (best @ (best.T @ np.eye(size).ravel())).reshape(size, size)
    weights, axes = np.linalg.eigh(0.5 * (positive + positive.T))
    return float(values[-1]), axes[:, weights > 1e-4 * weights[-1]]
