"""Hermite energies: how the variance of a target is spread over degrees, and over monomials in the given basis."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from featlab.analysis.grids import Grid, GridPair
from featlab.analysis.levels import ROUNDING, SURE
from featlab.gaussian.hermite import Floats, Integers, hermite_products, multi_indices

_CHUNK = 16_384


@dataclass(frozen=True)
class Energies:
    """The orthonormal Hermite coefficients c_a = E[f h_a] up to a degree.

    Attributes:
        coefficients: for each degree k = 0, 1, ..., the c_a with |a| = k in the order of `multi_indices`.
        errors: the numerical error of each degree's coefficients (one number a degree).
        variance: Var f; from a grid, Var Y, the noise inside the link included. In an `Analysis` it is the variance
            of f = E[Y | h], which is the sum over k >= 1 of sum c_a^2.
        hidden_variance: E Var(Y | h), where it was taken off.
    """

    rank: int
    coefficients: tuple[Floats, ...]
    errors: tuple[float, ...]
    variance: float
    hidden_variance: float = 0.0

    def without_noise(self, learnable: float) -> Energies:
        """The same of f = E[Y | h], whose variance is given: noise inside the link is no degree to be learned."""
        return replace(self, variance=learnable, hidden_variance=self.variance - learnable)

    @property
    def per_degree(self) -> Floats:
        """sum_{|a| = k} c_a^2 for k = 0, 1, ..."""
        return np.array([float(np.sum(c**2)) for c in self.coefficients])

    def residual(self, degree: int) -> float:
        """||P_{>degree} f||^2: the variance that polynomials of this degree leave unexplained."""
        return max(0.0, self.variance - float(self.per_degree[1 : degree + 1].sum()))

    def degree_explaining(self, share: float) -> int | None:
        """The smallest degree whose polynomials explain this share of the variance; None if beyond those computed."""
        for degree in range(1, len(self.coefficients)):
            if self.residual(degree) <= (1 - share) * self.variance:
                return degree
        return None

    def monomials(self) -> list[tuple[int, ...]]:
        """The multi-indices |a| >= 1 whose coefficient is certainly not zero."""
        found = []
        for degree in range(1, len(self.coefficients)):
            sure = np.abs(self.coefficients[degree]) > SURE * self.errors[degree]
            found += [tuple(index) for index in multi_indices(self.rank, degree)[sure].tolist()]
        return found


def hermite_energies(grids: GridPair, max_degree: int) -> Energies:
    """The coefficients of the target up to max_degree, with errors from the two grids."""
    coefficients, errors = [], []
    scale = float(np.sqrt(grids.fine.variance))
    for degree in range(max_degree + 1):
        fine, coarse = _coefficients(grids.fine, degree), _coefficients(grids.coarse, degree)
        coefficients.append(fine)
        errors.append(max(float(np.max(np.abs(fine - coarse))), ROUNDING * scale))
    return Energies(grids.fine.rank, tuple(coefficients), tuple(errors), grids.fine.variance)


def _coefficients(grid: Grid, degree: int) -> Floats:
    total = np.zeros(len(multi_indices(grid.rank, degree)))
    for start in range(0, len(grid.weights), _CHUNK):
        part = slice(start, start + _CHUNK)
        total += (grid.weights[part] * grid.labels[part]) @ hermite_products(grid.directions[part], degree)
    return total


def coordinate_leap(monomials: list[tuple[int, ...]], rank: int) -> int | None:
    """The leap in the given basis (Abbe et al. 2023, Definition 1), or None if these monomials do not reach every axis.

    Statement: Leap = min over orderings of the monomials S_1, S_2, ... of the largest || S_i minus what S_1..S_{i-1}
    touch ||_1, counted with multiplicity. Greedy: for L = 1, 2, ... take every monomial with at most L fresh degrees
    until nothing changes; the smallest L that touches all axes is the leap, since every further monomial is then free.
    """
    if not monomials:
        return None
    indices: Integers = np.array(monomials)
    for leap in range(1, int(indices.sum(axis=1).max()) + 1):
        touched = np.zeros(rank, dtype=bool)
        while True:
            fresh = indices[:, ~touched].sum(axis=1)
            after = touched | (indices[fresh <= leap] > 0).any(axis=0)
            if after.all():
                return leap
            if np.array_equal(after, touched):
                break
            touched = after
    return None
