"""What correlations with the label see of an expansion: the level of a subspace, without any integral.

Statement: let T_n be the degree-n Hermite tensor of f. For a subspace U with coordinates x and the others z,
E[Y He_k(z) He_j(x)] is T_{k+j} with k slots projected on the complement of U and j slots on U. So E[Y He_k(z) | x]
vanishes for all x if and only if the part of degree k in z of the form t_n(x + z) vanishes for all n >= k, where
t_n(v) = sum_{|a| = n} c_a v^a / sqrt(a!), and the directions it opens are the span of the gradients in z of these parts.

A polynomial vanishes if it does at random points. They are drawn from the circular complex Gaussian, for which
E[v^a conj(v^b)] = a! [a = b]: the mean square of a part is then its energy, in whatever basis.
"""

from __future__ import annotations

import numpy as np

from featlab.analysis.levels import ROUNDING, Level, lowest_level
from featlab.analysis.structured.expansion import Expansion
from featlab.analysis.subspaces import complement, nothing, readable_basis
from featlab.gaussian.hermite import Floats

_SEED = 20_240_916
_FEWEST_POINTS = 8


def level_of(expansion: Expansion, known: Floats, max_order: int, tilt: float) -> Level:
    """The lowest order at which correlations see more than the known directions."""
    most = min(max_order, int(expansion.degrees.max(initial=1)))
    return lowest_level(lambda order: unfolded([expansion], known, order), known, most, tilt)


def unfolded(expansions: list[Expansion], known: Floats, order: int) -> tuple[Floats, Floats]:
    """Unfoldings (unknown, tests, columns) of one order, a test for each expansion and degree, and their errors."""
    unknown = complement(known)
    tests = [
        _gradients(expansion, known, unknown, degree, order)
        for expansion in expansions
        for degree in np.unique(expansion.degrees[expansion.degrees >= order])
    ]
    if not tests:
        return np.zeros((unknown.shape[1], 1, 1)), np.full(1, ROUNDING)
    columns, errors = zip(*tests, strict=True)
    return np.stack(columns, axis=1), np.array(errors)


def _gradients(
    expansion: Expansion, known: Floats, unknown: Floats, degree: int, order: int
) -> tuple[Floats, float]:
    """Gradients in z of the part of t_degree(x + z) that has degree `order` in z: (unknown, columns), and their error.

    The part is read off values at x + s z for the roots of unity s.
    """
    here = expansion.degrees == degree
    indices, coefficients = expansion.indices[here], expansion.coefficients[here]
    count = max(_FEWEST_POINTS, unknown.shape[1] + 4)
    generator = np.random.default_rng(_SEED)
    x, z = (
        (generator.standard_normal((count, basis.shape[1], 2)) @ np.array([1, 1j]) / np.sqrt(2)) @ basis.T
        for basis in (known, unknown)
    )
    roots = np.exp(2j * np.pi * np.arange(degree) / degree)
    points = (x[:, None, :] + roots[None, :, None] * z[:, None, :]).reshape(-1, expansion.rank)
    values = _monomials(points, indices)
    slopes = _slopes(values, points, indices * coefficients[:, None])
    phases = np.tile(roots ** -(order - 1), count)
    part = (slopes * phases[:, None]).reshape(count, degree, -1).mean(axis=1) @ unknown
    # Coefficients have independent errors; rounding is relative to the sum of all sizes.
    from_errors = _slopes(np.abs(values) ** 2, np.abs(points) ** 2, (indices * expansion.errors[here, None]) ** 2)
    from_rounding = _slopes(np.abs(values), np.abs(points), indices * np.abs(coefficients)[:, None])
    error = np.sqrt(from_errors.sum(axis=1).mean()) + ROUNDING * np.sqrt((from_rounding**2).sum(axis=1).mean())
    scale = np.sqrt(expansion.variance * order * count)
    columns = np.concatenate([part.real, part.imag]).T / scale
    return columns, max(float(error * np.sqrt(count) / scale), ROUNDING)


def _monomials(points: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """v^a / sqrt(a!) at every point, (points, terms)."""
    values = np.ones((len(points), len(indices)), dtype=points.dtype)
    for axis in np.flatnonzero(indices.any(axis=0)):
        highest = int(indices[:, axis].max())
        powers = np.ones((highest + 1, len(points)), dtype=points.dtype)
        for k in range(1, highest + 1):
            powers[k] = powers[k - 1] * points[:, axis] / np.sqrt(k)
        used = np.flatnonzero(indices[:, axis])
        values[:, used] *= powers[indices[used, axis]].T
    return values


def _slopes(values: np.ndarray, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """sum_a weights_{a,i} v^a / v_i: the gradient, if the weights are the coefficients times the powers."""
    return (values @ weights) / np.where(points == 0, 1.0, points)


def coefficient_span(expansion: Expansion, degree: int) -> Floats:
    """U*: the span of all Hermite tensors of degree 1..degree (one giant step on n ~ d^degree samples)."""
    rank = expansion.rank
    columns = [np.zeros((rank, 0))]
    everything = nothing(rank)
    for k in range(1, degree + 1):
        if np.any(expansion.degrees == k):
            tensor, error = _gradients(expansion, everything, np.eye(rank), k, k)
            columns.append(np.where(np.linalg.norm(tensor) > error, tensor, 0.0))
    stacked = np.column_stack(columns)
    if not stacked.any():
        return everything
    values = np.linalg.svd(stacked, compute_uv=False)
    return readable_basis(stacked, int(np.sum(values > 1e-7 * values[0])))
