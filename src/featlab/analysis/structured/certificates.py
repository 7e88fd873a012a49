"""What is proven of the grand staircase of a polynomial of many directions, without the law of its label.

Three facts, for a polynomial f of the known directions x and the others z, and Y = f, with or without added noise:

* E[Y^p He_k(z) | x] that is not zero for some p proves that order k is seen. It is the expansion of a polynomial, and
  computed by algebra.
* A flip of the signs of some z that leaves f as it is proves that E[z_i | y, x] = 0 for every z_i that it flips. The
  flips are the solutions of a linear system over {0, 1}: every monomial must contain an even number of flipped factors.
* Order 1 or order 2 is always seen (Chen and Meka 2020, filtered PCA). Proof: f is bounded by some t on the ball
  |z|^2 <= q at given x and unbounded outside, so that {|Y| > t} has positive probability and |z|^2 > q on all of it:
  E[|z|^2 - q; |Y| > t | x] > 0. So the generative exponent of a polynomial is at most 2.

What none of these decides stays undecided.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from featlab.analysis.levels import Level, lowest_level
from featlab.analysis.structured.algebra import expansion_of, mean_of, powers_of
from featlab.analysis.structured.correlations import unfolded
from featlab.analysis.structured.expansion import Expansion
from featlab.analysis.subspaces import aligned, complement
from featlab.gaussian.hermite import Floats

_POWERS = 4


def label_powers(polynomial: Any) -> list[Expansion]:
    """The expansions of the centred label and of its powers, as many as are not too large."""
    return [expansion_of(power) for power in powers_of(polynomial - mean_of(polynomial), _POWERS)]


def level_of(polynomial: Any, powers: list[Expansion], known: Floats, tilt: float) -> Level:
    """The order at which functions of the label see more than the known directions, as far as it is proven."""
    for count in range(1, len(powers) + 1):  # the lowest power that sees order 1 sees it most clearly
        level = lowest_level(partial(unfolded, powers[:count], known), known, 2, tilt)
        if level.order == 1 or level.doubt:
            return level
    if not _first_order_vanishes(polynomial, known):
        doubt = (
            f"whether order 1 vanishes is not decided: no power of the label up to {len(powers)} sees it, and no "
            "symmetry forbids it; of a polynomial the order is 1 or 2, so that it is not HARD"
        )
        return replace(level, order=None, doubt=doubt)
    if level.order is None:
        doubt = (
            f"order 1 vanishes by symmetry and order 2 does not, as for every polynomial, but no power of the label up "
            f"to {len(powers)} tells which directions it opens"
        )
        return replace(level, doubt=doubt)
    return level


def _first_order_vanishes(polynomial: Any, known: Floats) -> bool:
    """Whether each unknown direction is an axis that some symmetry flips without flipping a known one."""
    if not aligned(known):
        return False
    axes = np.abs(complement(known)).argmax(axis=0)
    parities = np.array(polynomial.monoms(), dtype=np.uint8)[:, axes] % 2
    return bool(np.all(flips(parities).any(axis=0)))


def flips(parities: np.ndarray) -> np.ndarray:
    """A basis, one a row, of the sets of columns of a 0-1 matrix whose sum is even in every row (elimination mod 2)."""
    rows = np.unique(parities % 2, axis=0).astype(bool)
    count = rows.shape[1]
    pivots: list[int] = []
    for column in range(count):
        below = np.flatnonzero(rows[len(pivots) :, column]) + len(pivots)
        if not below.size:
            continue
        place = len(pivots)
        rows[[place, below[0]]] = rows[[below[0], place]]
        others = np.flatnonzero(rows[:, column])
        rows[others[others != place]] ^= rows[place]
        pivots.append(column)
    free = [column for column in range(count) if column not in pivots]
    basis = np.zeros((len(free), count), dtype=bool)
    for row, column in enumerate(free):
        basis[row, column] = True
        basis[row, pivots] = rows[: len(pivots), column]
    return basis
