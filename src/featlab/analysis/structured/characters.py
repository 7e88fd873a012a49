"""What functions of the label see of a sum or a product of functions of different directions.

Statement: let chi be a character: exp(i t y) for a sum, |y|^{i t} sign(y)^e (0 at y = 0) for a product y of functions
f_g of disjoint groups of directions. Then chi(Y) is the product of the chi(f_g), so that for every wave exp(i w.h)

    E[chi(Y) exp(i w.h) He_k(h)]

is a sum of products of the same moments of single groups. Characters separate the laws of labels: E[He_k(z) | y, x]
vanishes for all y and x if and only if these moments do for all t, e and all w in the known subspace, with He_k
projected on the others. Additive label noise multiplies a character by a number that is not zero: it changes no order.

So in a sum the order of a group is what it is for the group alone. In a product it may not be: where
E[chi(f_g) | x] = 0 for all t, as for the sign of an odd f_g, the group must contribute at least its own lowest order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from featlab.analysis.budget import check_time
from featlab.analysis.grids import Grid, GridPair, build_grids
from featlab.analysis.levels import DOUBT, ROUNDING, SURE, Level, find_level, level_tests, lowest_level
from featlab.analysis.probes import Probes, label_probes
from featlab.analysis.structured.parts import Group, Parts
from featlab.analysis.subspaces import complement, readable_basis
from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.quadrature import Rule, gaussian_panels, roots_on_lines, static_breaks
from featlab.targets import Target

Complex = np.ndarray

_TESTS = 24
_LOWEST_OF_GROUPS = 3  # orders 1 and 2 are seen in any basis
_MOST_ZEROS = 12
_FAR = 16.0  # where Hermite polynomials of order 40 have died out under the density
_CHUNK = 16_384
# By the rank of a group: the highest order at which its tensors are looked for.
_SEARCH = {1: 40, 2: 16, 3: 12, 4: 12}


@lru_cache(maxsize=128)
def grids_of(part: Target, refinement: int = 0) -> GridPair:
    """The grids of a group's function; in one dimension panels that shrink towards its kinks and zeros.

    Near a zero |f|^{i t} oscillates on every scale; on panels of geometric lengths it is smooth.
    """
    if part.rank + part.hidden > 1:
        return build_grids(part, refinement)
    centres = [0.0, *static_breaks(part.kinks, 0, 1), *_zeros(part)]
    steps = 2.0 ** -np.arange(1, 31, 2)
    around = [centre + sign * steps for centre in centres for sign in (1, -1)]
    edges = np.unique(np.concatenate([np.linspace(-_FAR, _FAR, 257), centres, *around]))
    rules = (gaussian_panels(edges, nodes) for nodes in (14, 10))
    fine, coarse = (Grid(Rule(x[:, None], w), part.link(x[:, None]), 1) for x, w in rules)
    return GridPair(fine, coarse, refinement=0)


def _zeros(part: Target) -> list[float]:
    _, places = roots_on_lines(lambda _, x: part.link(x[:, None]), 1, np.linspace(-8.0, 8.0, 1601) + 1e-4)
    return places.tolist() if len(places) <= _MOST_ZEROS else []


@dataclass(frozen=True)
class _Tests:
    """Characters and waves: t (tests,), parity e (tests,) in {0, 1}, w (tests, rank) in the known subspace."""

    frequency: Floats
    parity: Integers
    wave: Floats


def _tests(parts: Parts, known: Floats) -> _Tests:
    """Random characters on three scales, in units of the label's own spread, and random waves."""
    generator = np.random.default_rng(20_240_917)
    scales = np.array([0.2, 0.5, 1.5])[np.arange(_TESTS) % 3]
    frequency = generator.standard_normal(_TESTS) * scales / _spread(parts)
    wave = (generator.standard_normal((_TESTS, known.shape[1])) * scales[:, None]) @ known.T
    parity = np.arange(_TESTS) % 2 if parts.product else np.zeros(_TESTS, dtype=np.intp)
    if parts.product:
        frequency[:2] = 0.0  # the sign alone, and whether the label is zero
    return _Tests(frequency, parity, wave)


def _spread(parts: Parts) -> float:
    """The standard deviation of the sum, or of the logarithm of the product's size."""
    variance = 0.0
    for group in parts.groups:
        fine = grids_of(group.part).fine
        if not parts.product:
            variance += fine.variance
            continue
        there = fine.labels != 0
        logs, weights = np.log(np.abs(fine.labels[there])), fine.weights[there] / fine.weights[there].sum()
        variance += float(weights @ (logs - weights @ logs) ** 2)
    return float(np.sqrt(variance)) if variance > ROUNDING else 1.0


@dataclass(frozen=True)
class _Moments:
    """E[chi(f) exp(i w.h) He_k(h)] of a group for k = 0, 1, 2: (tests,), (tests, q), (tests, q, q)."""

    zeroth: Complex
    first: Complex
    second: Complex


def _moments(grid: Grid, tests: _Tests, wave: Floats, multiplied: bool) -> _Moments:
    count, size = len(tests.frequency), grid.rank
    zeroth = np.zeros(count, dtype=complex)
    first = np.zeros((count, size), dtype=complex)
    second = np.zeros((count, size, size), dtype=complex)
    for start in range(0, len(grid.weights), _CHUNK):
        part = slice(start, start + _CHUNK)
        h, labels = grid.directions[part], grid.labels[part]
        values = _character(labels, tests, multiplied) * np.exp(1j * h @ wave.T) * grid.weights[part, None]
        zeroth += values.sum(axis=0)
        first += values.T @ h
        products = (h[:, :, None] * h[:, None, :]).reshape(len(h), -1)
        second += (values.T @ products).reshape(count, size, size)
    return _Moments(zeroth, first, second - zeroth[:, None, None] * np.eye(size))


def _character(labels: Floats, tests: _Tests, multiplied: bool) -> Complex:
    if not multiplied:
        return np.exp(1j * labels[:, None] * tests.frequency)
    there = labels != 0
    logs = np.log(np.abs(np.where(there, labels, 1.0)))
    signs = np.where(tests.parity, np.sign(labels)[:, None], there[:, None])
    return signs * np.exp(1j * logs[:, None] * tests.frequency)


def level_of(parts: Parts, known: Floats, tilt: float) -> Level:
    """The lowest order at which functions of the label and of the known directions see the others.

    What cannot be decided is looked at once more on finer grids.
    """
    level = _level(parts, known, tilt, refinement=0)
    several = any(group.part.rank + group.part.hidden > 1 for group in parts.groups)
    return _level(parts, known, tilt, refinement=1) if level.doubt and several else level


def _level(parts: Parts, known: Floats, tilt: float, refinement: int) -> Level:
    tests, unknown = _tests(parts, known), complement(known)
    both = [_of_groups(parts, tests, which, refinement) for which in ("fine", "coarse")]

    def unfolded(order: int) -> tuple[Floats, Floats]:
        fine, coarse = (_projected(_whole(parts, moments, order), unknown, order) for moments in both)
        errors = np.linalg.norm(fine - coarse, axis=(0, 2))
        for parity in (0, 1):
            # A test may agree on the two grids by accident: none is taken for more accurate than the middle one.
            members = tests.parity == parity
            errors[members] = np.maximum(errors[members], np.median(errors[members])) if members.any() else 0.0
        return fine, np.maximum(errors, ROUNDING)

    level = lowest_level(unfolded, known, 2, tilt)
    if level.order is not None or level.doubt:
        return level
    if not parts.split(known):
        doubt = (
            "orders 1 and 2 vanish, and higher ones were not computed, because the known directions mix groups "
            "of directions"
        )
        return _without(known, level.error, 2, doubt)
    return _level_of_groups(parts, known)


def _of_groups(parts: Parts, tests: _Tests, which: str, refinement: int) -> list[_Moments]:
    """The moments of every group on the "fine" or the "coarse" grids; equal groups with equal waves once."""
    found: dict[tuple[str, bytes], _Moments] = {}
    keys = []
    for group in parts.groups:
        wave = tests.wave[:, list(group.axes)]
        keys.append((group.part.text, wave.tobytes()))
        if keys[-1] not in found:
            check_time()
            found[keys[-1]] = _moments(getattr(grids_of(group.part, refinement), which), tests, wave, parts.product)
    return [found[key] for key in keys]


def _whole(parts: Parts, moments: list[_Moments], order: int) -> Complex:
    """The moments of the whole target of order 1, (tests, rank), or 2, (tests, rank, rank)."""
    zeroth = [moment.zeroth for moment in moments]
    shape = (len(zeroth[0]), *(parts.rank,) * order)
    total = np.zeros(shape, dtype=complex)
    for g, group in enumerate(parts.groups):
        axes = list(group.axes)
        others = prod(zeroth[:g] + zeroth[g + 1 :], start=np.ones(len(total)))
        if order == 1:
            total[:, axes] = moments[g].first * others[:, None]
            continue
        total[np.ix_(range(len(total)), axes, axes)] = moments[g].second * others[:, None, None]
        for k in range(g):
            rest = prod([one for place, one in enumerate(zeroth) if place not in (g, k)], start=np.ones(len(total)))
            block = moments[g].first[:, :, None] * moments[k].first[:, None, :] * rest[:, None, None]
            across = list(parts.groups[k].axes)
            total[np.ix_(range(len(total)), axes, across)] = block
            total[np.ix_(range(len(total)), across, axes)] = np.swapaxes(block, 1, 2)
    return total


def _projected(tensor: Complex, unknown: Floats, order: int) -> Floats:
    """The unfolding (unknown, tests, columns) of tensors on the complement, real and imaginary parts side by side."""
    inside = tensor @ unknown
    if order == 2:  # sqrt(2): the norm of He_2 between different directions is 1, of He_2 of one direction sqrt(2)
        inside = np.swapaxes(unknown.T @ inside, 1, 2) / np.sqrt(2)
    columns = inside[:, :, None] if order == 1 else inside
    return np.moveaxis(np.concatenate([columns.real, columns.imag], axis=2), 1, 0)


def _level_of_groups(parts: Parts, known: Floats) -> Level:
    """The lowest order of three and more, from the orders of the groups, where every group knows its own directions."""
    searched = max(_SEARCH[group.part.rank] for group in parts.groups)
    best: _Combined | None = None
    doubts = []
    for parity in (1, 0) if parts.product else (None,):
        if best is not None and best.order <= _LOWEST_OF_GROUPS:
            break  # lower orders are known to vanish
        openings = _openings(parts, known, parity)
        doubts += [opening.doubt for opening in openings if opening.doubt]
        found = _combined(list(zip(parts.groups, openings, strict=True)))
        best = found if best is None or (found is not None and found.order < best.order) else best
    if doubts and (best is None or best.order > _LOWEST_OF_GROUPS):
        return _without(known, 0.0, searched, doubts[0])
    return _without(known, ROUNDING, searched, None) if best is None else _joined(known, best)


class _Combined(NamedTuple):
    """The order that characters of one parity see, and the groups that open there."""

    order: int
    openings: list[tuple[Group, Level]]


def _combined(openings: list[tuple[Group, _Opening]]) -> _Combined | None:
    """All groups without a mean at their lowest orders together; if all have one, the groups of the lowest order."""
    needed = [(group, one.level) for group, one in openings if not one.constant]
    chosen = [(group, level) for group, level in needed or [(g, one.level) for g, one in openings] if level is not None]
    orders = [level.order for _, level in chosen if level.order is not None]
    if needed:
        return _Combined(sum(orders), chosen) if len(orders) == len(needed) else None
    if not orders:
        return None
    return _Combined(min(orders), [(group, level) for group, level in chosen if level.order == min(orders)])


@dataclass(frozen=True)
class _Opening:
    """Of a group: whether E[chi(f) | x] is not zero, the level above it (None if all is known), and a doubt."""

    constant: bool
    level: Level | None
    doubt: str | None


def _openings(parts: Parts, known: Floats, parity: int | None) -> list[_Opening]:
    """What the characters of one parity (None: any functions of a term of a sum) see of each group; equal ones once."""
    found: dict[tuple[str, bytes], _Opening] = {}
    keys = []
    for group in parts.groups:
        inside = group.columns(known)
        keys.append((group.part.text, inside.tobytes()))
        if keys[-1] not in found:
            found[keys[-1]] = _opening(group, inside, parity)
    return [found[key] for key in keys]


def _opening(group: Group, known: Floats, parity: int | None) -> _Opening:
    grids = grids_of(group.part)
    count = known.shape[1]
    if count == group.part.rank:
        return _Opening(True, None, None)
    probes = label_probes(grids.fine, count) if parity is None else _character_probes(count, parity)
    constant, doubt = (True, None) if parity is None else _constant(grids, probes, known)
    level = find_level(grids, probes, known, _SEARCH[group.part.rank])
    return _Opening(constant, level, doubt or level.doubt)


def odd_groups(parts: Parts, known: Floats) -> list[int]:
    """The factors whose sign has mean zero at any size and known direction: E[sign(f) |f|^{i t} | x] = 0."""
    found = []
    for place, group in enumerate(parts.groups):
        inside = group.columns(known)
        probes = _character_probes(inside.shape[1], parity=1)
        if inside.shape[1] < group.part.rank and not _constant(grids_of(group.part), probes, inside)[0]:
            found.append(place)
    return found


def _constant(grids: GridPair, probes: Probes, known: Floats) -> tuple[bool, str | None]:
    """Whether any test has a mean that is not zero; a doubt if that cannot be told."""
    means, errors = level_tests(grids, probes, known)
    significance = float(np.max(np.abs(means) / errors))
    if DOUBT < significance <= SURE:
        return False, f"whether the mean of a factor vanishes is undecided: it is {significance:.0f} times its error"
    return significance > SURE, None


def _character_probes(known_dimension: int, parity: int) -> Probes:
    """sign(f)^parity cos(t log|f| + w.x + b), zero where f is."""
    generator = np.random.default_rng(20_240_918)
    scales = np.array([0.5, 1.0, 2.0])[np.arange(_TESTS) % 3]
    frequency = generator.standard_normal((1 + known_dimension, _TESTS)) * scales
    phase = generator.uniform(0, 2 * np.pi, _TESTS)
    frequency[0, 0], phase[0] = 0.0, 0.0

    def values(labels: Floats, x: Floats) -> Floats:
        there = labels != 0
        logs = np.log(np.abs(np.where(there, labels, 1.0)))
        sign = np.sign(labels) if parity else there.astype(float)
        return sign[:, None] * np.cos(np.column_stack([logs, x]) @ frequency + phase)

    return Probes(np.zeros(_TESTS, dtype=np.intp), values)


def _joined(known: Floats, combined: _Combined) -> Level:
    """The level of the whole target that the levels of some groups open together."""
    order, openings = combined
    columns = []
    for group, level in openings:
        placed = np.zeros((known.shape[0], level.directions.shape[1]))
        placed[list(group.axes)] = level.directions
        columns.append(placed)
    together = np.column_stack(columns)
    directions = readable_basis(together, together.shape[1])
    signals = [level.signal for _, level in openings]
    signal = prod(signals) if order > max(level.order or 0 for _, level in openings) else min(signals)
    error = max(level.error for _, level in openings)
    tilt = max(level.tilt for _, level in openings)
    return Level(order, directions, directions, signal, error, tilt, tilt, order)


def _without(known: Floats, error: float, searched: int, doubt: str | None) -> Level:
    empty = np.zeros((known.shape[0], 0))
    return Level(None, empty, empty, 0.0, error, 0.0, 0.0, searched, doubt)
