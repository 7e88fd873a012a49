"""What correlations with the label see of an expansion: the level of a subspace, without any integral.

Statement: let T_n be the degree-n Hermite tensor of f. For a subspace U with coordinates x and the others z,
E[Y He_k(z) He_j(x)] is T_{k+j} with k slots projected on the complement of U and j slots on U. So E[Y He_k(z) | x]
vanishes for all x if and only if the part of degree k in z of the form t_n(x + z) vanishes for all n >= k, where
t_n(v) = sum_{|a| = n} c_a v^a / sqrt(a!), and the directions it opens are spanned by the gradients in z of these parts.

A polynomial vanishes if it does at random points. Where U is spanned by axes, a part is a set of terms, and its
unfolding, with the entries sqrt(a_i) c_a, is combined with random phases of its columns. Otherwise the points are drawn
from the circular complex Gaussian, for which E[v^a conj(v^b)] = a! [a = b]: the mean square of a part is then its
energy, in whatever basis.
"""

from __future__ import annotations

import numpy as np

from featlab.analysis.levels import ROUNDING, SURE, Level, lowest_level
from featlab.analysis.structured.expansion import Expansion
from featlab.analysis.subspaces import aligned, complement, nothing, readable_basis
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
    gradients = _aligned_gradients if aligned(known) else _gradients
    tests = [
        gradients(expansion, known, unknown, degree, order)
        for expansion in expansions
        for degree in np.unique(expansion.degrees[expansion.degrees >= order])
    ]
    if not tests:
        return np.zeros((unknown.shape[1], 1, 1)), np.full(1, ROUNDING)
    columns, errors = zip(*tests, strict=True)
    return np.stack(columns, axis=1), np.array(errors)


def _aligned_gradients(
    expansion: Expansion, known: Floats, unknown: Floats, degree: int, order: int
) -> tuple[Floats, float]:
    """The unfolding of the terms of this degree that have degree `order` outside the known axes, and its error."""
    outside = np.abs(unknown).max(axis=1) > 0.5
    chosen = (expansion.degrees == degree) & (expansion.indices[:, outside].sum(axis=1) == order)
    count = _FEWEST_POINTS + 2 * unknown.shape[1]
    if not chosen.any():
        return np.zeros((unknown.shape[1], 2 * count)), ROUNDING
    indices, steps = expansion.indices[chosen], np.sqrt(expansion.indices[chosen])
    phases = np.exp(2j * np.pi * np.random.default_rng(_SEED).uniform(size=(count, expansion.rank)))
    values = np.exp(np.log(phases) @ indices.T)
    part = (values @ (steps * expansion.coefficients[chosen, None]) / phases) @ unknown
    errors = steps * (expansion.errors[chosen] + ROUNDING * np.abs(expansion.coefficients[chosen]))[:, None]
    scale = np.sqrt(expansion.variance * order)
    return _columns(part, scale), max(float(np.linalg.norm(errors) / scale), 0.0 if expansion.exact else ROUNDING)


def _columns(part: np.ndarray, scale: float) -> Floats:
    """Complex gradients (points, unknown) as real columns whose norms are root mean squares over the points."""
    return np.concatenate([part.real, part.imag]).T / (scale * np.sqrt(len(part)))


def _gradients(expansion: Expansion, known: Floats, unknown: Floats, degree: int, order: int) -> tuple[Floats, float]:
    """Gradients in z of the part of t_degree(x + z) that has degree `order` in z: (unknown, columns), and their error.

    The part is read off values at x + s z for the roots of unity s.
    """
    here = expansion.degrees == degree
    indices, coefficients = expansion.indices[here], expansion.coefficients[here]
    count = _FEWEST_POINTS + 2 * unknown.shape[1]
    x, z = (_gaussian(count, basis) for basis in (known, unknown))
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
    scale = np.sqrt(expansion.variance * order)
    return _columns(part, scale), max(float(error / scale), ROUNDING)


def _gaussian(count: int, basis: Floats) -> np.ndarray:
    """Circular complex Gaussian points (count, rank) in the span of a basis."""
    generator = np.random.default_rng(_SEED + basis.shape[1])
    return (generator.standard_normal((count, basis.shape[1], 2)) @ np.array([1, 1j]) / np.sqrt(2)) @ basis.T


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
    return (values @ weights) / points


def coefficient_span(expansion: Expansion, degree: int) -> Floats:
    """U*: the span of all Hermite tensors of degree 1..degree (one giant step on n ~ d^degree samples)."""
    nobody, everyone = nothing(expansion.rank), np.eye(expansion.rank)
    columns = [np.zeros((expansion.rank, 0))]
    for k in range(1, degree + 1):
        tensor, error = _aligned_gradients(expansion, nobody, everyone, k, k)
        columns += [tensor] if np.linalg.norm(tensor) > SURE * error else []
    stacked = np.column_stack(columns)
    if not stacked.any():
        return nobody
    values = np.linalg.svd(stacked, compute_uv=False)
    return readable_basis(stacked, int(np.sum(values > 1e-7 * values[0])))
