"""What one gradient step sees of a target: its Hessian (Damian, Lee, Soltanolkotabi 2022, arXiv:2206.15144).

Statement: let H = E[grad^2 f] = E[f (h h^T - I)], an r x r matrix on the target's directions. The population gradient
of a neuron with unit weights w, of overlaps m = W* w, is with c_k = E[sigma He_k] and P_k(m) = E[grad^k f](m, .., m)/k!

    E[f x sigma'(<w, x>)] = sum_k ( c_{k+1} W*^T grad P_{k+1}(m) + c_{k+2} P_k(m) w ),

by Stein's lemma and the Hermite expansion of sigma'. The c_k are those of sigma, not of sigma'. Once the mean and the
linear part of f are removed, the leading term at a random w, where m is of order 1/sqrt(d), is c_2 W*^T H m: for relu
H w / sqrt(2 pi). So one step finds the span of H, from n >= d^2 kappa^2 r samples up to logarithms, with r the rank of
H and kappa = |H^+| / sqrt(r); if that is all of the target's directions, nothing is left for other steps to find.
This is sufficient; without it, correlational queries need more (see `featlab.theory.csq`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import factorial

from featlab.analysis.energies import Energies, hermite_energies
from featlab.analysis.grids import build_grids
from featlab.analysis.levels import SURE
from featlab.analysis.subspaces import readable_basis
from featlab.analysis.verdict import check_size
from featlab.errors import InvalidParameter
from featlab.gaussian.activations import Activation, activation
from featlab.gaussian.hermite import Floats, dense_tensor, multi_indices
from featlab.learners.checks import positive_integer
from featlab.targets import Target
from featlab.targets import target as make_target


@dataclass(frozen=True, eq=False)
class Hessian:
    """E[grad^2 f] of a target.

    Attributes:
        matrix: (r, r), in the coordinates h1..hr.
        error: the numerical error of its entries.
        deviation: the standard deviation of f, by which it is divided where a scale matters.

    Examples:
        >>> from featlab.theory import hessian
        >>> hessian("He2(h1)").matrix.round(6).tolist()
        [[2.0]]
    """

    matrix: Floats
    error: float
    deviation: float

    @property
    def eigenvalues(self) -> Floats:
        """The largest in size first."""
        values: Floats = np.linalg.eigvalsh(self.matrix).astype(np.float64)
        return values[np.argsort(-np.abs(values))]

    @property
    def rank(self) -> int:
        """How many eigenvalues are certainly not zero."""
        return int(np.count_nonzero(np.abs(self.eigenvalues) > SURE * self.error))

    @property
    def directions(self) -> Floats:
        """Orthonormal columns (r, rank) that span what one step finds."""
        values, vectors = np.linalg.eigh(self.matrix)
        found = vectors[:, np.abs(values) > SURE * self.error]
        return readable_basis(found, found.shape[1]) if found.size else found

    @property
    def nondegenerate(self) -> bool:
        """Whether the span of H is that of all directions of the target: Assumption 2 of the paper."""
        return self.rank == len(self.matrix)

    @property
    def condition(self) -> float:
        """kappa = |H^+| / sqrt(rank), for f divided by its standard deviation; infinite if H = 0."""
        if self.rank == 0:
            return float("inf")
        return float(self.deviation / (abs(self.eigenvalues[self.rank - 1]) * np.sqrt(self.rank)))

    def samples(self, dim: int) -> float:
        """d^2 kappa^2 rank: samples from which on one step finds the span of H, up to logarithms and a constant that
        is not known. Infinite if H = 0."""
        if self.rank == 0:
            return float("inf")
        return float(positive_integer("dim", dim)) ** 2 * self.condition**2 * self.rank


def hessian(target: Target | str) -> Hessian:
    """The Hessian of a target of at most four directions, from its Hermite coefficients of degree two.

    Source: Damian, Lee, Soltanolkotabi 2022, arXiv:2206.15144.

    Args:
        target: a `Target`, or its text.

    Examples:
        >>> from featlab.theory import hessian
        >>> abs(hessian("h1*h2").matrix).round(6).tolist()
        [[0.0, 1.0], [1.0, 0.0]]
    """
    of = make_target(target)
    check_size(of)
    energies = hermite_energies(build_grids(of), 2)
    matrix = dense_tensor(energies.coefficients[2], of.rank, 2)
    return Hessian(matrix, float(np.sqrt(2) * energies.errors[2]), float(np.sqrt(energies.variance)))


@dataclass(frozen=True, eq=False)
class GradientSeries:
    """The terms k = 0, 1, .. of the population gradient E[f x sigma'(<w, x>)] of one neuron of unit norm.

    Attributes:
        along: (K, r), c_{k+1} grad P_{k+1}(m), on the target's directions.
        neuron: (K,), c_{k+2} P_k(m), along w itself.
    """

    along: Floats
    neuron: Floats

    def overlap(self, overlaps: ArrayLike) -> Floats:
        """<gradient, w*_k>, (r,): both parts, for the neuron's overlaps m."""
        return self.along.sum(axis=0) + self.neuron.sum() * np.asarray(overlaps, dtype=np.float64)


def gradient_series(
    target: Target | str, overlaps: ArrayLike, sigma: str | Activation = "relu", degree: int = 8
) -> GradientSeries:
    """The terms of the series that the target has up to `degree`; all of them if it is a polynomial of that degree.

    Source: Damian, Lee, Soltanolkotabi 2022, arXiv:2206.15144.

    Args:
        target: a `Target` of at most four directions, or its text.
        overlaps: m = W* w (r,), |m| <= 1.
        sigma: the activation.
        degree: the highest Hermite degree of the target that is kept.

    Raises:
        InvalidParameter: overlaps of another number than the target's directions, or outside the unit ball.

    Examples:
        >>> from featlab.theory import gradient_series
        >>> abs(gradient_series("He2(h1)", [0.5]).along).round(4)[:3].tolist()
        [[0.0], [0.3989], [0.0]]
    """
    of = make_target(target)
    check_size(of)
    point = np.atleast_1d(np.asarray(overlaps, dtype=np.float64))
    if point.shape != (of.rank,) or not point @ point <= 1 + 1e-12:
        raise InvalidParameter("overlaps", overlaps, f"{of.rank} overlaps with a sum of squares of at most 1")
    energies = hermite_energies(build_grids(of), positive_integer("degree", degree))
    coefficients = activation(sigma).hermite_coefficients(degree + 2)
    values, gradients = zip(*(_part(energies, k, point) for k in range(degree + 1)), strict=True)
    along = coefficients[1 : degree + 1, None] * np.array(gradients[1:])
    return GradientSeries(np.vstack([along, np.zeros(of.rank)]), coefficients[2:] * np.array(values))


def _part(energies: Energies, degree: int, point: Floats) -> tuple[float, Floats]:
    """P_k(m) = sum_{|a| = k} c_a m^a / sqrt(a!), and its gradient (r,)."""
    indices = multi_indices(energies.rank, degree)
    weights = energies.coefficients[degree] / np.sqrt(np.prod(factorial(indices), axis=1))
    lowered = np.maximum(indices[:, None, :] - np.eye(energies.rank, dtype=int), 0)  # (monomial, axis, power)
    gradient = weights @ (indices * np.prod(point**lowered, axis=2))
    return float(weights @ np.prod(point**indices, axis=1)), gradient
