"""Subspaces of the target's directions: orthonormal columns, in a basis that a person can read."""

from __future__ import annotations

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.gaussian.matrices import reduced_rows

_SNAP = 1e-7
# The axes of a cube around (1, 1, 1, 1): an exchange of four directions is one of these columns, with signs.
_CUBE = 0.5 * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])


def complement(known: Floats) -> Floats:
    """Orthonormal columns that span the orthogonal complement of the orthonormal columns `known` (r, s).

    Around the sum of four directions they are the axes of a cube, on which the symmetries of max(h1, .., h4), say, are
    reflections and exchanges, and can be made use of; else a readable basis.
    """
    rank, dimension = known.shape
    if known.shape == (4, 1) and np.all(np.abs(np.abs(known) - 0.5) < _SNAP):
        return np.sign(known) * _CUBE
    return readable_basis(np.eye(rank) - known @ known.T, rank - dimension)


def readable_basis(spanning: Floats, dimension: int) -> Floats:
    """Orthonormal columns for the column space of `spanning`, as close to the axes as Gauss-Jordan makes them.

    The span of w2 and w3 comes back as these two axes, not as a rotation of them; that of w1 + w2 as (w1 + w2)/sqrt(2).
    Entries that are zero to seven digits are made so: a direction is only known to its numerical error.
    """
    vectors = reduced_rows(np.linalg.svd(spanning)[0][:, :dimension].T, least_pivot=1e-3)
    vectors[np.abs(vectors) < _SNAP] = 0.0
    basis, triangle = np.linalg.qr(vectors.T)
    basis = basis * np.sign(np.diag(triangle))
    basis[np.abs(basis) < _SNAP] = 0.0
    return basis


def aligned(subspace: Floats) -> bool:
    """Whether every one of the orthonormal columns is an axis."""
    return bool(np.all(np.abs(subspace).max(axis=0) > 1 - _SNAP))


def settled(known: Floats, tilt: float) -> tuple[Floats, float]:
    """The same subspace in a readable basis, and how far it may be off, given how far its directions were.

    Directions that were found one after the other may span axes without being axes; and a subspace that is spanned by
    axes to seven digits is not off by more, however badly its directions were told from each other.
    """
    tidy = readable_basis(known, known.shape[1])
    return tidy, min(tilt, _SNAP) if aligned(tidy) else tilt


def nothing(rank: int) -> Floats:
    """The subspace {0}."""
    return np.zeros((rank, 0))
