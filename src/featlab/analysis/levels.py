"""Zero or not zero: the lowest Hermite order of the unknown directions that a family of test functions sees.

The level of a subspace U is the smallest k >= 1 whose tensor (T_k for correlational queries, L_k for label functions;
see `probes`) is not identically zero; the new directions are the column space of its unfolding. Every number is
compared with its own error, estimated from two grids; what cannot be decided is said to be undecided, with the number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from featlab.analysis.budget import check_time, doing
from featlab.analysis.grids import Grid, GridPair
from featlab.analysis.probes import Probes
from featlab.analysis.subspaces import complement, readable_basis
from featlab.gaussian.hermite import Floats, dense_tensor, hermite_products, multi_indices, unfold

# A signal is real above SURE times its estimated error, absent below DOUBT times, and in between it is undecided.
SURE, DOUBT = 80.0, 8.0
# "Absent" means something only if a relative signal of this size would have been seen.
RESOLUTION = 1e-2
_NEARLY_AS_SURE = 1e-3
# No relative number is believed beyond this: sums over 10^5 points round at 1e-14 or so.
ROUNDING = 1e-12
_CHUNK = 16_384
_MOST_KEPT = 2**26  # bytes of test functions, on a grid


@dataclass(frozen=True)
class Level:
    """What was found at a subspace.

    Attributes:
        order: the smallest k with a non-zero tensor; None if none was found up to `searched`.
        directions: (rank, new) orthonormal columns, the directions it opens; empty if none.
        surest: (rank, some) those of them that are known about as well as the best one.
        signal: the relative size of the weakest direction accepted (a correlation, at most 1).
        error: the relative numerical error it was compared with.
        tilt: how far the directions may be off, as an angle: an error of the tensors over the weakest direction's size;
            surest_tilt: the same for the surest ones.
        searched: the highest order looked at.
        doubt: a sentence if it could not be decided whether the order `searched` vanishes, else None.
        incomplete: a sentence if more directions may open at this order than were accepted, else None. It concerns
            only when a direction is found: the test is made again once the accepted ones are known.
    """

    order: int | None
    directions: Floats
    surest: Floats
    signal: float
    error: float
    tilt: float
    surest_tilt: float
    searched: int
    doubt: str | None = None
    incomplete: str | None = None


def find_level(grids: GridPair, probes: Probes, known: Floats, max_order: int, known_tilt: float = 0.0) -> Level:
    """The level of the subspace spanned by the orthonormal columns `known`, looking up to max_order.

    Args:
        known_tilt: how far the known directions may be off: tensors that vanish at the true subspace are then of
            this size at the given one, and no smaller signal is believed.
    """
    unknown = complement(known)

    def unfolded(order: int) -> tuple[Floats, Floats]:
        tensors, errors = _tensors(grids, probes, known, unknown, order)
        return np.moveaxis(unfold(tensors, unknown.shape[1], order), 0, 1), errors

    return lowest_level(unfolded, known, max_order, known_tilt)


def lowest_level(
    unfolded: Callable[[int], tuple[Floats, Floats]], known: Floats, max_order: int, known_tilt: float = 0.0
) -> Level:
    """The lowest order up to max_order at which a tensor of the unknown directions is not zero.

    Args:
        unfolded: order -> the unfoldings (unknown, tests, columns) of its tensors in the basis `complement(known)`, one
            for each test function and relative to its size, and the error of each (tests,).
    """
    unknown = complement(known)
    empty = np.zeros((known.shape[0], 0))
    error = 0.0
    for order in range(1, max_order + 1):
        doing(f"the search for directions at order {order}, {known.shape[1]} known")
        tensors, errors = unfolded(order)
        errors = np.maximum(errors, 2 * known_tilt)
        found = _directions(tensors, errors)
        error = float(np.median(errors))
        sure = found.significance > SURE
        count = int(np.sum(sure))
        undecided = np.any(~sure & ((found.significance > DOUBT) | (DOUBT * error > RESOLUTION)))
        unsure = _doubt(order, found, count, error) if undecided else None
        if count:
            surest = int(np.sum(found.significance[:count] >= _NEARLY_AS_SURE * found.significance[0]))
            new, best = (readable_basis(unknown @ found.directions[:, :n], n) for n in (count, surest))
            tilt, surest_tilt = (1 / float(found.significance[n - 1]) for n in (count, surest))
            signal = float(found.signal[count - 1])
            return Level(order, new, best, signal, error, tilt, surest_tilt, order, incomplete=unsure)
        if unsure:  # whatever a higher order showed, the level would stay unknown
            return Level(None, empty, empty, 0.0, error, 0.0, 0.0, order, unsure)
    return Level(None, empty, empty, 0.0, error, 0.0, 0.0, max_order)


def _doubt(order: int, found: _Directions, place: int, error: float) -> str:
    """What is told of the first direction that is not sure: its size, and the error that it was judged by, which is
    that of the tests that see it, where those are worse than the middle one."""
    signal, significance = float(found.signal[place]), float(found.significance[place])
    judged = max(error, signal / significance) if significance > 0 else error
    return (
        f"whether order {order} vanishes is undecided: its relative size is {signal:.1e} with a numerical error of "
        f"{judged:.1e}, and {SURE:.0f} times the error is needed to be sure"
    )


def _tensors(grids: GridPair, probes: Probes, known: Floats, unknown: Floats, order: int) -> tuple[Floats, Floats]:
    """Tensors (tests, coefficients) relative to the test functions' norms, and the error of each test's row."""
    fine, norms = _moments(grids.fine, probes, known, unknown, order)
    coarse, _ = _moments(grids.coarse, probes, known, unknown, order)
    norms = np.where(norms > 0, norms, 1.0)[:, None]
    fine, coarse = fine / norms, coarse / norms
    errors = np.linalg.norm(fine - coarse, axis=1)
    for family in np.unique(probes.families):
        # A row may agree on the two grids by accident: none is taken for more accurate than its family's middle one.
        members = probes.families == family
        errors[members] = np.maximum(errors[members], np.median(errors[members]))
    return fine, np.maximum(errors, ROUNDING)


def _moments(grid: Grid, probes: Probes, known: Floats, unknown: Floats, order: int) -> tuple[Floats, Floats]:
    """E[psi_l h_a(z)] for every test l and |a| = order, and the norms sqrt(E[psi_l^2])."""
    moments: Floats = np.zeros((probes.families.size, len(multi_indices(unknown.shape[1], order))))
    squares: Floats = np.zeros(probes.families.size)
    for part, tests in _tests(grid, probes, known):
        weighted = tests * grid.weights[part, None]
        moments += weighted.T @ hermite_products(grid.directions[part] @ unknown, order)
        squares += np.sum(weighted * tests, axis=0)
    return moments, np.sqrt(squares)


def _tests(grid: Grid, probes: Probes, known: Floats) -> Iterator[tuple[slice, Floats]]:
    """The test functions on one part of the grid after the other.

    They are kept where they are few: every order asks for them, and so do all staircases that know the same directions.
    """
    parts = [slice(start, start + _CHUNK) for start in range(0, grid.labels.size, _CHUNK)]
    kept: dict[Any, list[Floats]] = grid.kept.setdefault(_tests, {})
    name, found = (probes, known.tobytes()), []
    before = kept.get(name)
    size = 8 * probes.families.size * grid.labels.size
    few = before is None and size <= _MOST_KEPT
    for place, part in enumerate(parts):
        check_time()
        tests = before[place] if before else probes.values(grid.labels[part], grid.directions[part] @ known)
        if few:
            found.append(tests)
        yield part, tests
    if few:
        while sum(8 * one.families.size for one, _ in kept) * grid.labels.size > _MOST_KEPT - size:
            kept.pop(next(iter(kept)))  # the oldest
        kept[name] = found


@dataclass(frozen=True)
class _Directions:
    """Orthonormal columns, the most significant first; significance is in units of the numerical error."""

    directions: Floats
    significance: Floats
    signal: Floats


def _directions(unfolded: Floats, errors: Floats) -> _Directions:
    """The directions in which tensors extend, from their unfoldings (dimension, tests, columns).

    Each test's row is divided by its own error before the singular values are taken, so that one badly integrated
    test does not hide the others; by Weyl's inequality a singular value moves by at most sqrt(tests) errors.
    """
    dimension, tests, _ = unfolded.shape
    scaled = (unfolded / errors[:, None]).reshape(dimension, -1)
    left, values, _ = np.linalg.svd(scaled, full_matrices=dimension > scaled.shape[1])
    significance = np.zeros(dimension)
    significance[: values.size] = values / np.sqrt(tests)
    signal = np.linalg.norm(np.tensordot(left.T, unfolded, axes=1), axis=2).max(axis=1)
    return _Directions(left, significance, signal)


def level_tests(grids: GridPair, probes: Probes, known: Floats) -> tuple[Floats, Floats]:
    """E[psi_l] of every test function, relative to its norm, and the error of each."""
    tensors, errors = _tensors(grids, probes, known, complement(known), order=0)
    return tensors[:, 0], errors


def level_matrices(grids: GridPair, probes: Probes, known: Floats) -> tuple[Floats, float]:
    """The order-2 tensors of all test functions as matrices B_l = E[psi_l (z z^T - I)] (relative), and their error."""
    unknown = complement(known)
    tensors, errors = _tensors(grids, probes, known, unknown, order=2)
    scaled = tensors * (float(np.median(errors)) / errors)[:, None]
    return np.array([dense_tensor(row, unknown.shape[1], 2) for row in scaled]), float(np.median(errors))
