"""What remains unexplained after one giant step and a trained readout, for each regime of samples and width.

Statement (Dandi et al. 2023, Theorems 3 and 4, Conjecture 2): one giant step on n ~ d^a samples finds the subspace U
of the Hermite tensors of degree <= a. With p = O(1) neurons the error stays above E Var(f | x), x = h_U; with p ~ d^b
it stays above ||P_{U,>k} f||^2, k = min(a, b): the part of f of degree > k in the directions outside U, any function
of x being free. The case k = 1 is proven (conditional Gaussian equivalence), larger k is conjectured. f is E[Y | h]:
neither label noise nor noise inside the link, which nothing learns, is counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featlab.analysis.budget import OutOfTime, doing
from featlab.analysis.energies import Energies
from featlab.analysis.grids import known_rule, slice_at
from featlab.analysis.levels import SURE
from featlab.analysis.subspaces import complement, nothing, readable_basis
from featlab.gaussian.hermite import Floats, hermite_products, unfold
from featlab.gaussian.quadrature import moved_surfaces, nested_rule
from featlab.targets import Target

_KNOWN_NODES = {1: 16, 2: 8, 3: 5, 4: 4}
_INNER_NODES = {1: 24, 2: 14, 3: 7, 4: 5}


@dataclass(frozen=True)
class Regime:
    """n ~ d^samples, p ~ d^width: the known subspace's dimension and the variance left unexplained."""

    samples: int
    width: int
    known_dimension: int
    residual: float


def giant_step_subspace(energies: Energies, degree: int) -> Floats:
    """U*: the span of the unfoldings of all Hermite tensors of degree 1..degree (one giant step on n ~ d^degree)."""
    columns = [np.zeros((energies.rank, 0))]
    for k in range(1, degree + 1):
        sure = np.abs(energies.coefficients[k]) > SURE * energies.errors[k]
        columns.append(unfold(np.where(sure, energies.coefficients[k], 0.0), energies.rank, k))
    stacked = np.column_stack(columns)
    if not stacked.any():
        return nothing(energies.rank)
    values = np.linalg.svd(stacked, compute_uv=False)
    return readable_basis(stacked, int(np.sum(values > 1e-7 * values[0])))


def regimes(target: Target, energies: Energies, max_samples: int) -> tuple[tuple[Regime, ...], str | None]:
    """Every regime n ~ d^a, p ~ d^b with 1 <= a <= max_samples, 0 <= b <= a; and why some are missing, if they are."""
    found: list[Regime] = []
    for samples in range(1, max_samples + 1):
        known = giant_step_subspace(energies, samples)
        try:
            doing(f"what one giant step on d^{samples} samples leaves")
            explained = explained_variance(target, energies, known, samples)
        except OutOfTime as stop:
            return tuple(found), str(stop)
        for width in range(samples + 1):
            residual = max(0.0, energies.variance - float(explained[width]))
            # Rounding of a difference of two equal numbers is no residual.
            residual = 0.0 if residual < 1e-9 * energies.variance else residual
            found.append(Regime(samples, width, known.shape[1], residual))
    return tuple(found), None


def learnable_variance(target: Target, energies: Energies) -> float:
    """Var E[Y | h]: the variance of the link without what its noise variables, which nothing learns, add to it.

    Never less than what the computed degrees carry (Bessel's inequality), whatever the rules' errors are.
    """
    if not target.hidden:
        return energies.variance
    explained = float(explained_variance(target, energies, np.eye(target.rank), 0)[0])
    return max(explained, float(energies.per_degree[1:].sum()))


def explained_variance(
    target: Target, energies: Energies, known: Floats, max_degree: int, fewer_nodes: int = 0
) -> Floats:
    """Var of P_{U,<=k} f for k = 0..max_degree: sum over |b| <= k of E_x[ E[f h_b(z) | x]^2 ], less E[f]^2.

    With `fewer_nodes` on every piece of every axis it is less accurate: the difference tells the error.
    """
    if known.shape[1] == target.rank and not target.hidden:
        return np.full(max_degree + 1, energies.variance)
    if known.shape[1] == 0:
        return np.cumsum(np.concatenate([[0.0], energies.per_degree[1 : max_degree + 1]]))
    unknown = complement(known)
    squares = np.zeros(max_degree + 1)
    rule = known_rule(target, known, _KNOWN_NODES[known.shape[1]] - fewer_nodes)
    inner_nodes = _INNER_NODES[unknown.shape[1] + target.hidden] - fewer_nodes
    for point, weight in zip(rule.points, rule.weights, strict=True):
        squares += weight * _conditional_squares(target, known, unknown, point, max_degree, inner_nodes)
    mean = float(energies.coefficients[0][0])
    return np.cumsum(squares) - mean**2


def _conditional_squares(
    target: Target, known: Floats, unknown: Floats, point: Floats, max_degree: int, nodes: int
) -> Floats:
    """sum_{|b| = k} E[f h_b(z) | x = point]^2 for k = 0..max_degree."""
    free = unknown.shape[1]
    offset, turn = slice_at(target, known, unknown, point)
    rule = nested_rule(moved_surfaces(target.kinks, offset, turn), turn.shape[1], nodes)
    values = rule.weights * target.link(offset + rule.points @ turn.T)
    if not free:  # everything is known: no further degree explains the noise inside the link
        return np.concatenate([[np.sum(values) ** 2], np.zeros(max_degree)])
    squares = [np.sum((values @ hermite_products(rule.points[:, :free], k)) ** 2) for k in range(max_degree + 1)]
    return np.array(squares)
