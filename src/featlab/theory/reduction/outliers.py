"""Eigenvalues of a random matrix that stand outside its bulk, and what their eigenvectors know of a few axes.

Let M be symmetric, d x d, made of samples whose coordinates on s axes (the target's directions, and what the method has
read off the samples before) have a law of their own, the other coordinates being independent N(0, 1). On those axes
(z - M)^-1 tends to (z - B)^-1 with an s x s matrix B that depends on z, as the Schur complement of the bulk. Both are
functions of one parameter u, the trace of the bulk's resolvent up to a constant: z(u) falls from infinity at u = 0+ to
the edge of the bulk, where z'(u) = 0 (Silverstein, Choi 1995). So

    outliers lie where det(z(u) - B(u)) = 0 before the edge;
    with unit null vector v, the eigenvector's part on the axes is v / sqrt(1 - v^T B'(u) v / z'(u)),

the residue of the pole (Benaych-Georges, Nadakuditi 2011; for samples weighted by their labels Lu, Li 2020 and
Mondelli, Montanari 2019). The eigenvalues of z - B fall as u grows, from above zero at 0+; where one passes a pole of B
it comes back from above. So zeros are looked for wherever there is one more negative eigenvalue than before.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from featlab.gaussian.hermite import Floats

_GROWTH = 1.04
_SHRINK = 10.0
_DIFFERENCE = 1e-4


class Bulk(Protocol):
    """z(u) and B(u) for u from 0 on."""

    @property
    def largest(self) -> float:
        """The end of u."""

    @property
    def typical(self) -> float:
        """A u at which z is of order one."""

    def value(self, u: float) -> float:
        """z(u); NaN beyond the edge, where it has no solution."""

    def block(self, u: float) -> Floats:
        """B(u), (s, s)."""


@dataclass(frozen=True, eq=False)
class Outlier:
    """An eigenvalue, and the part (s,) of its unit eigenvector on the axes."""

    value: float
    vector: Floats


@dataclass(frozen=True, eq=False)
class Outliers:
    """The edge of the bulk, and what stands above it, the largest first."""

    edge: float
    found: tuple[Outlier, ...]


def outliers(bulk: Bulk) -> Outliers:
    """The eigenvalues above the upper edge of a bulk."""
    places = _way_to_the_edge(bulk, _before_all(bulk))
    below = [int(np.sum(_gaps(bulk, u) < 0)) for u in places]
    found = [
        _outlier(bulk, place, *places[at : at + 2])
        for at, (before, after) in enumerate(pairwise(below))
        for place in range(before, after)
    ]
    return Outliers(bulk.value(places[-1]), tuple(sorted(found, key=lambda one: -one.value)))


def _gaps(bulk: Bulk, u: float) -> Floats:
    """The eigenvalues of z - B."""
    return np.asarray(np.linalg.eigvalsh(_difference(bulk, u)), dtype=np.float64)


def _difference(bulk: Bulk, u: float) -> Floats:
    block = bulk.block(u)
    return bulk.value(u) * np.eye(len(block)) - block


def _before_all(bulk: Bulk) -> float:
    """A u at which z is above every outlier."""
    u = bulk.typical
    while not _gaps(bulk, u)[0] > 0:
        u /= _SHRINK
    return u


def _way_to_the_edge(bulk: Bulk, first: float) -> list[float]:
    """Values of u up to the first at which z stops falling, or the largest there is."""
    places, value = [first], bulk.value(first)
    while True:
        after = min(_GROWTH * places[-1], bulk.largest)
        new = bulk.value(after)
        if not new < value:
            break
        places, value = [*places, after], new
        if after == bulk.largest:
            return places
    if np.isnan(new) or len(places) == 1:
        return places
    bounds = {"bounds": (places[-2], after), "method": "bounded", "options": {"xatol": 1e-9 * after}}
    return [*places[:-1], float(minimize_scalar(bulk.value, **bounds).x)]


def _outlier(bulk: Bulk, place: int, first: float, last: float) -> Outlier:
    u = float(brentq(lambda at: _gaps(bulk, at)[place], first, last, xtol=1e-12 * last))
    vector = np.linalg.eigh(_difference(bulk, u))[1][:, place]
    low, high = u * (1 - _DIFFERENCE), min(u * (1 + _DIFFERENCE), bulk.largest)
    slope = (bulk.block(high) - bulk.block(low)) / (bulk.value(high) - bulk.value(low))  # dB / dz
    return Outlier(bulk.value(u), vector / np.sqrt(1 - vector @ slope @ vector))
