"""The weak-recovery threshold: how many samples per dimension before message passing sees a direction.

Statement (Troiani et al. 2024, Lemma of the linearised state evolution; Defilippis et al. 2025, Lemma 1.2): let x be
the coordinates already known, z the others, G(y, x) = E[z z^T - I | y, x] and F(M) = E[G M G] on symmetric matrices. If
E[z | y, x] = 0, the uninformed state is unstable iff n/d > alpha_c with

    1 / alpha_c = max { |F(M)|_F : M >= 0, |M|_F = 1 } = the largest eigenvalue of F.

For a single index this is alpha_c = 1 / E[(E[z^2 | y] - 1)^2]. With x non-empty it assumes x known exactly, so it is a
lower bound for the next threshold of message passing when the overlap with x is still partial.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featlab.analysis.conditional import LabelTable, label_tables
from featlab.analysis.grids import known_rule
from featlab.analysis.rays import RayCells, cells_of_rays
from featlab.analysis.subspaces import complement
from featlab.gaussian.hermite import Floats
from featlab.gaussian.polar import Function, direction_rule, is_cone
from featlab.targets import Kink, Target

# By the number of unknown directions (and noise variables): Gauss nodes on each panel of angles, cells on each ray.
_RESOLUTION = {1: (1, 6400), 2: (64, 600), 3: (18, 240), 4: (8, 160), 5: (5, 60)}
_CONDITIONAL_RESOLUTION = {1: (1, 600), 2: (16, 200), 3: (8, 120), 4: (5, 60)}
# By the number of known directions: Gauss nodes on each piece of each known axis.
_KNOWN_NODES = {0: 1, 1: 20, 2: 8, 3: 5}
_BINS, _CONDITIONAL_BINS = 8000, 800


@dataclass(frozen=True)
class SecondMoments:
    """F(M) = E[G M G] as a matrix on symmetric matrices, in the orthonormal basis of `symmetric_basis`.

    Attributes:
        operator: (q(q+1)/2, same).
        error: the numerical error of its largest eigenvalue, from half the bins, half the cells and fewer directions.
    """

    operator: Floats
    error: float

    def restricted(self, subspace: Floats) -> float:
        """The largest eigenvalue of F on symmetric matrices supported on the orthonormal columns of `subspace`."""
        unknown = subspace.shape[0]
        inside = [subspace @ element @ subspace.T for element in symmetric_basis(subspace.shape[1])]
        basis = symmetric_basis(unknown)
        coordinates = np.einsum("aij,bij->ab", basis, np.array(inside))
        return float(np.linalg.eigvalsh(coordinates.T @ self.operator @ coordinates)[-1])


def symmetric_basis(size: int) -> Floats:
    """An orthonormal basis (Frobenius) of the symmetric size x size matrices."""
    basis = []
    for i in range(size):
        for j in range(i, size):
            element = np.zeros((size, size))
            element[i, j] = element[j, i] = 1.0 if i == j else np.sqrt(0.5)
            basis.append(element)
    return np.array(basis)


def second_moments(target: Target, known: Floats) -> SecondMoments:
    """F at the known subspace (orthonormal columns), with its numerical error from a coarser computation."""
    resolution = _CONDITIONAL_RESOLUTION if known.shape[1] else _RESOLUTION
    nodes, steps = resolution[target.rank - known.shape[1] + target.hidden]
    fine, half_bins = _operator(target, known, nodes, steps)
    half_steps, _ = _operator(target, known, nodes, steps // 2)
    fewer_directions, _ = _operator(target, known, max(1, (3 * nodes) // 4), steps)
    # The label is taken to be linear along a cell, an error of second order in the cell's length: extrapolate it away.
    best = fine + (fine - half_steps) / 3
    top = _top(best)
    # If the average over directions converges only as 1 / nodes, its error is three times the change from 3/4 of them.
    of_directions = 3 * abs(_top(fine) - _top(fewer_directions))
    return SecondMoments(best, abs(top - _top(fine)) + of_directions + abs(_top(fine) - _top(half_bins)))


def _top(operator: Floats) -> float:
    return float(np.linalg.eigvalsh(operator)[-1])


def _operator(target: Target, known: Floats, nodes: int, steps: int) -> tuple[Floats, Floats]:
    """F with the full number of bins and with half of it, averaged over the known coordinates."""
    unknown = complement(known)
    size = symmetric_basis(unknown.shape[1]).shape[0]
    full, half = np.zeros((size, size)), np.zeros((size, size))
    rule = known_rule(target, known, _KNOWN_NODES[known.shape[1]])
    bins = _CONDITIONAL_BINS if known.shape[1] else _BINS
    for point, weight in zip(rule.points, rule.weights, strict=True):
        cells, directions = _cells_at(target, known, unknown, point, nodes, steps)
        table, wider = label_tables(cells, directions, unknown.shape[1], bins, target.noise)
        full += weight * _operator_of(table)
        half += weight * _operator_of(wider)
    return full, half


def _operator_of(table: LabelTable) -> Floats:
    """sum over bins of mass (G M G) with G = moment / mass, as a matrix on symmetric matrices."""
    basis = symmetric_basis(table.moment.shape[1])
    applied = np.einsum("bij,ajk,bkl->bail", table.moment, basis, table.moment, optimize=True)
    return np.einsum("b,bail,cil->ac", 1 / table.mass, applied, basis, optimize=True)


def _cells_at(
    target: Target, known: Floats, unknown: Floats, point: Floats, nodes: int, steps: int
) -> tuple[RayCells, Floats]:
    """Cells of the rays of z (and of the noise inside the link) at fixed known coordinates, and the directions."""
    dimension = unknown.shape[1] + target.hidden

    def fields(z: Floats) -> Floats:
        return np.column_stack([point @ known.T + z[:, : unknown.shape[1]] @ unknown.T, z[:, unknown.shape[1] :]])

    def link(z: Floats) -> Floats:
        return target.link(fields(z))

    def seen(kink: Kink) -> Function:
        return lambda z: kink.function(fields(z))

    surfaces = [(kink.kind, seen(kink)) for kink in target.kinks]
    cones = [surface for _, surface in surfaces if is_cone(surface, dimension)]
    jumps = [surface for kind, surface in surfaces if kind != "corner" and surface not in cones]
    directions, weights = direction_rule(dimension, nodes, [*cones, _level_of_the_origin(link, dimension)])
    return cells_of_rays(link, jumps, directions, weights, steps), directions


def _level_of_the_origin(link: Function, dimension: int) -> Function:
    """Changes sign at the rays that lie in the level set of the origin, such as |h1| = |h2| for |h1| - |h2|.

    Close to them the label varies slowly along a ray and fast from ray to ray, so the directions are cut there.
    """
    at_origin = link(np.full((1, dimension), 1e-9))[0]
    return lambda directions: link(np.sqrt(dimension) * directions) - at_origin
