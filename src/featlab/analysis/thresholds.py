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

from featlab.analysis.budget import check_time, doing
from featlab.analysis.conditional import LabelTable, label_tables
from featlab.analysis.grids import known_rule, slice_at
from featlab.analysis.rays import RayCells, cells_of_rays
from featlab.analysis.subspaces import complement
from featlab.gaussian.hermite import Floats
from featlab.gaussian.polar import Function, direction_rule, is_cone
from featlab.gaussian.quadrature import moved_surfaces
from featlab.targets import Target

# By the number of unknown directions (and noise variables): Gauss nodes on each panel of angles, cells on each ray.
_RESOLUTION = {1: (1, 6400), 2: (64, 600), 3: (18, 240), 4: (8, 160), 5: (5, 60)}
_CONDITIONAL_RESOLUTION = {1: (1, 600), 2: (16, 200), 3: (8, 120), 4: (5, 60)}
# By the number of known directions: Gauss nodes on each piece of each known axis.
_KNOWN_NODES = {0: 1, 1: 20, 2: 8, 3: 5}
_BINS, _CONDITIONAL_BINS = 8000, 800
_COMMUTING = 1e-6  # a commutator that is zero, relative to the matrices


@dataclass(frozen=True)
class SecondMoments:
    """F(M) = E[G M G] as a matrix on symmetric matrices, in the orthonormal basis of `symmetric_basis`.

    Attributes:
        operator: (q(q+1)/2, same).
        error: the numerical error of its largest eigenvalue, from half the bins, half the cells and fewer directions.
        lost: by how much the true eigenvalue may be larger still, because some labels are not told apart.
    """

    operator: Floats
    error: float
    lost: float = 0.0

    @property
    def top(self) -> float:
        """The largest eigenvalue of F on all symmetric matrices of the unknown space: one over the threshold."""
        return _top(self.operator)

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


def reducing_subspaces(matrices: Floats, error: float) -> tuple[list[Floats], float]:
    """Orthonormal columns of each irreducible block of the symmetric matrices (count, q, q), known up to `error`.

    Also how far the blocks may be off, as an angle: the error over the smallest commutator that is not zero.

    Statement: let the symmetric matrices G(y) act on R^q. A subspace reduces them if it and its complement are mapped
    into themselves by all of them; F(M) = E[G M G] then acts separately on each block, and a block's own threshold is
    one over the largest eigenvalue of F there. The irreducible blocks are the eigenspaces of a generic element of the
    commutant {A : A G(y) = G(y) A for all y}. The commutant of the G(y) is that of the matrices
    B_l = E[psi_l(Y, x) (z z^T - I)], which are known far more accurately than any G(y).
    """
    size = matrices.shape[1]
    basis = symmetric_basis(size)
    commutators = np.einsum("aij,bjk->abik", basis, matrices) - np.einsum("bij,ajk->abik", matrices, basis)
    _, values, right = np.linalg.svd(commutators.reshape(len(basis), -1).T, full_matrices=True)
    values = np.concatenate([values, np.zeros(len(basis) - values.size)])
    scale = np.sqrt(len(matrices))
    vanishing = values <= max(10 * error, _COMMUTING) * scale
    commuting = right[vanishing]
    tilt = 0.0 if vanishing.all() else float(error * scale / values[~vanishing].min())
    generic = np.random.default_rng(3).standard_normal(len(commuting)) @ commuting
    eigenvalues, vectors = np.linalg.eigh(np.tensordot(generic, basis, axes=1))
    # A gap is one over the size of the element, which has the identity in it: irreducible moments have eigenvalues that
    # differ by rounding only, and must not be torn apart.
    breaks = np.nonzero(np.diff(eigenvalues) > 1e-4 * np.max(np.abs(eigenvalues)))[0] + 1
    return [vectors[:, block] for block in np.split(np.arange(size), breaks)], tilt


def second_moments(target: Target, known: Floats) -> SecondMoments:
    """F at the known subspace (orthonormal columns), with its numerical error from a coarser computation."""
    resolution = _CONDITIONAL_RESOLUTION if known.shape[1] else _RESOLUTION
    nodes, steps = resolution[target.rank - known.shape[1] + target.hidden]
    doing(f"the critical sample ratio, {known.shape[1]} directions known")
    fine, half_bins, lost = _operator(target, known, nodes, steps)
    half_steps, _, _ = _operator(target, known, nodes, steps // 2)
    fewer_directions, _, _ = _operator(target, known, max(1, (3 * nodes) // 4), steps)
    # The label is taken to be linear along a cell, an error of second order in the cell's length: extrapolate it away.
    best = fine + (fine - half_steps) / 3
    top = _top(best)
    # If the average over directions converges only as 1 / nodes, its error is three times the change from 3/4 of them.
    of_directions = 3 * abs(_top(fine) - _top(fewer_directions))
    return SecondMoments(best, abs(top - _top(fine)) + of_directions + abs(_top(fine) - _top(half_bins)), lost)


def _top(operator: Floats) -> float:
    return float(np.linalg.eigvalsh(operator)[-1])


def _operator(target: Target, known: Floats, nodes: int, steps: int) -> tuple[Floats, Floats, float]:
    """F with the full number of bins and with half of it, averaged over the known coordinates, and what may be lost."""
    unknown = complement(known)
    size = symmetric_basis(unknown.shape[1]).shape[0]
    full, half, lost = np.zeros((size, size)), np.zeros((size, size)), 0.0
    rule = known_rule(target, known, _KNOWN_NODES[known.shape[1]])
    bins = _CONDITIONAL_BINS if known.shape[1] else _BINS
    for point, weight in zip(rule.points, rule.weights, strict=True):
        check_time()
        cells, directions = _cells_at(target, known, unknown, point, nodes, steps)
        table, wider = label_tables(cells, directions, unknown.shape[1], bins, target.noise)
        full += weight * _operator_of(table)
        half += weight * _operator_of(wider)
        lost += float(weight) * table.lost
    return full, half, lost


def _operator_of(table: LabelTable) -> Floats:
    """sum over bins of mass (G M G) with G = moment / mass, as a matrix on symmetric matrices."""
    basis = symmetric_basis(table.moment.shape[1])
    applied = np.einsum("bij,ajk,bkl->bail", table.moment, basis, table.moment, optimize=True)
    return np.einsum("b,bail,cil->ac", 1 / table.mass, applied, basis, optimize=True)


def _cells_at(
    target: Target, known: Floats, unknown: Floats, point: Floats, nodes: int, steps: int
) -> tuple[RayCells, Floats]:
    """Cells of the rays of z (and of the noise inside the link) at fixed known coordinates, and the directions."""
    offset, turn = slice_at(target, known, unknown, point)
    dimension = turn.shape[1]

    def link(z: Floats) -> Floats:
        return target.link(offset + z @ turn.T)

    surfaces, rough = (
        [surface.function for surface in moved_surfaces(kinks, offset, turn)]
        for kinks in (target.kinks, [kink for kink in target.kinks if kink.kind != "corner"])
    )
    cones = [surface for surface in surfaces if is_cone(surface, dimension)]
    jumps = [surface for surface in rough if not is_cone(surface, dimension)]
    directions, weights = direction_rule(dimension, nodes, [*cones, _level_of_the_origin(link, dimension)])
    return cells_of_rays(link, jumps, directions, weights, steps), directions


def _level_of_the_origin(link: Function, dimension: int) -> Function:
    """Changes sign at the rays that lie in the level set of the origin, such as |h1| = |h2| for |h1| - |h2|.

    Close to them the label varies slowly along a ray and fast from ray to ray, so the directions are cut there.
    """
    at_origin = link(np.full((1, dimension), 1e-9))[0]
    return lambda directions: link(np.sqrt(dimension) * directions) - at_origin
