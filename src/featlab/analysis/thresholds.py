"""The weak-recovery threshold: how many samples per dimension before message passing sees a direction.

Statement (Troiani et al. 2024, Lemma of the linearised state evolution; Defilippis et al. 2025, Lemma 1.2): let x be
the coordinates already known, z the others, G(y, x) = E[z z^T - I | y, x] and F(M) = E[G M G] on symmetric matrices. If
E[z | y, x] = 0, the uninformed state is unstable iff n/d > alpha_c with

    1 / alpha_c = max { |F(M)|_F : M >= 0, |M|_F = 1 } = the largest eigenvalue of F.

For a single index this is alpha_c = 1 / E[(E[z^2 | y] - 1)^2]. With x non-empty it assumes x known exactly, so it is a
lower bound for the next threshold of message passing when the overlap with x is still partial.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from featlab.analysis.budget import check_time, doing
from featlab.analysis.cells import Booleans
from featlab.analysis.conditional import LabelTable, label_tables
from featlab.analysis.grids import known_rule, slice_at
from featlab.analysis.ray_rules import Resolution, rays_at
from featlab.analysis.subspaces import complement
from featlab.gaussian.hermite import Floats
from featlab.gaussian.symmetry import Symmetries, no_symmetries, symmetries
from featlab.targets import Target


@dataclass(frozen=True)
class _Errors:
    """What the length of the cells, the choice of directions and the width of the bins do to the largest eigenvalue."""

    cells: float
    directions: float
    bins: float

    @property
    def total(self) -> float:
        return self.cells + self.directions + self.bins


# By the number of unknown directions (and noise variables): with nothing known, with something known.
_RESOLUTION = {
    1: (Resolution(1, 6400, 1), Resolution(1, 600, 1)),
    2: (Resolution(512, 600, 128), Resolution(128, 200, 48)),
    3: (Resolution(3000, 200, 20), Resolution(1000, 120, 12)),
    4: (Resolution(6000, 120, 8), Resolution(3000, 60, 8)),
    5: (Resolution(16_000, 60, 6), Resolution(3000, 60, 6)),
}
# What leaves a larger relative error, by the number of directions, is computed again with up to so many times the rays
# or cells, by that number too; not what leaves nothing but an error.
_WANTED = {1: 1e-3, 2: 1e-3, 3: 1e-3, 4: 5e-3, 5: 1e-2}
_FINER = {1: 3, 2: 8, 3: 3, 4: 3, 5: 3}
_ROUNDING = 1e-12
# By the number of known directions: Gauss nodes on each piece of each known axis.
_KNOWN_NODES = {0: 1, 1: 20, 2: 8, 3: 5}
# By the number of unknown directions and noise variables, with nothing known; and with something known.
_BINS = {1: 8000, 2: 8000, 3: 2000, 4: 2000, 5: 2000}
_CONDITIONAL_BINS = 800
_LENGTHS = (1, 2, 4)  # of cells
_RARE = 1e-7  # known coordinates that are rarer than this, all together, are left out
_COMMUTING = 1e-6  # a commutator that is zero, relative to the matrices


@dataclass(frozen=True)
class SecondMoments:
    """F(M) = E[G M G] as a matrix on symmetric matrices, in the orthonormal basis of `symmetric_basis`.

    Attributes:
        operator: (q(q+1)/2, same).
        error: the numerical error of its largest eigenvalue, from half the bins, half the cells and two rules for the
            directions.
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


@dataclass(frozen=True)
class _Operators:
    """F by one computation, and what tells its errors.

    Attributes:
        best: with all rays, freed from what their scatter adds.
        scatter: what it added.
        wider: with half the bins.
        first, second: with the rays of either rule.
        lost: what labels that cannot be told apart may hide.
        left_out: what known coordinates that are left out may add.
    """

    best: Floats
    scatter: Floats
    wider: Floats
    first: Floats
    second: Floats
    lost: float
    left_out: float


def second_moments(target: Target, known: Floats) -> SecondMoments:
    """F at the known subspace (orthonormal columns), with its numerical error from coarser computations."""
    dimension = target.rank - known.shape[1] + target.hidden
    resolution = _RESOLUTION[dimension][1 if known.shape[1] else 0]
    doing(f"the critical sample ratio, {known.shape[1]} directions known")
    found, errors = _second_moments(target, known, resolution)
    wanted = _WANTED[dimension] * found.top
    if wanted < errors.total < found.top and errors.bins < 0.5 * errors.total:
        found, errors = _second_moments(target, known, _finer(resolution, errors, wanted, _FINER[dimension]))
    return found


def _finer(resolution: Resolution, errors: _Errors, wanted: float, most: int) -> Resolution:
    """More rays and shorter cells, as far as either makes a large part of an error that is larger than wanted."""
    rays = min(most, 1.5 * errors.total / wanted) if errors.directions > 0.4 * wanted else 1
    steps = (most if rays == 1 else 2) if errors.cells > 0.4 * wanted else 1
    return Resolution(int(rays * resolution.rays), steps * resolution.steps, int(rays * resolution.nodes))


def _second_moments(target: Target, known: Floats, resolution: Resolution) -> tuple[SecondMoments, _Errors]:
    fine, longer, longest = _operators(target, known, resolution)
    # The label is taken to be linear along a cell, an error of second order in the cell's length: extrapolate it away.
    best, before = (one.best + (one.best - other.best) / 3 for one, other in ((fine, longer), (longer, longest)))
    errors = _Errors(
        cells=abs(_top(best) - _top(before)),
        # Twice the difference, as two rules may agree by accident.
        directions=2 * abs(_top(fine.first) - _top(fine.second)) + 0.5 * _top(fine.scatter),
        bins=abs(_top(fine.best + fine.scatter) - _top(fine.wider)),
    )
    return SecondMoments(best, errors.total + fine.left_out + _ROUNDING * _top(best), fine.lost), errors


def label_table(target: Target) -> LabelTable:
    """The law of G(y) = E[z z^T - I | y] where nothing is known yet, at the resolution of `second_moments`."""
    known, dimension = np.zeros((target.rank, 0)), target.rank + target.hidden
    point = known_rule(target, known, _KNOWN_NODES[0]).points[0]
    rays = rays_at(target, known, complement(known), point, _RESOLUTION[dimension][0])
    bins = _BINS[dimension]
    table, _ = label_tables(rays.cells(), rays.directions, rays.rules, target.rank, bins, target.noise)
    return replace(table, moment=rays.group.average(table.moment))


def _top(operator: Floats) -> float:
    return float(np.linalg.eigvalsh(operator)[-1])


def _operators(target: Target, known: Floats, resolution: Resolution) -> list[_Operators]:
    """F averaged over the known coordinates: by cells of this length, of twice and of four times the length.

    Of points x that a symmetry of the label takes to each other one is enough: F at D x is F at x in the turned basis.
    Points far out take as long as the others and have no weight: without them F is less by at most q (q + 1) times
    their probability, as |F(M)| <= E|G|^2 |M| and E|G|^2 <= E|z z^T - I|^2 = q (q + 1).
    """
    unknown = complement(known)
    rule = known_rule(target, known, _KNOWN_NODES[known.shape[1]])
    group = _symmetries_with(target, known, unknown)
    points, weights = group.first(known.shape[1]).folded(rule.points, rule.weights)
    common = _common(weights)
    left_out = float(weights[~common].sum()) * unknown.shape[1] * (unknown.shape[1] + 1)
    bins = _CONDITIONAL_BINS if known.shape[1] else _BINS[target.rank + target.hidden]
    size = len(symmetric_basis(unknown.shape[1]))
    totals, lost = np.zeros((len(_LENGTHS), 5, size, size)), np.zeros(len(_LENGTHS))
    for point, weight in zip(points[common], weights[common], strict=True):
        check_time()
        rays = rays_at(target, known, unknown, point, resolution)
        for place, length in enumerate(_LENGTHS):
            cells = rays.cells(length)
            table, wider = label_tables(cells, rays.directions, rays.rules, unknown.shape[1], bins, target.noise)
            totals[place] += weight * np.array(_operators_of(table, wider, rays.group))
            lost[place] += weight * table.lost
    turned = (_turned(total, group, known.shape[1], unknown.shape[1]) for total in totals)
    return [
        _Operators(best, scatter, wider, first, second, float(short), left_out)
        for (best, scatter, wider, first, second), short in zip(turned, lost, strict=True)
    ]


def _common(weights: Floats) -> Booleans:
    """All but the rarest, whose probability together is below `_RARE`."""
    order = np.argsort(weights)
    common = np.full(weights.size, True)
    common[order[np.cumsum(weights[order]) < _RARE]] = False
    return common


def _symmetries_with(target: Target, known: Floats, unknown: Floats) -> Symmetries:
    """Those of the label in the coordinates x, z and the noise inside the link, in this order."""
    offset, turn = slice_at(target, known, unknown, np.zeros(known.shape[1]))
    frame = np.column_stack([np.pad(known, ((0, target.hidden), (0, 0))), turn])
    sizes = (known.shape[1], unknown.shape[1], target.hidden)
    return symmetries(lambda z: target.link(offset + z @ frame.T), sizes) if known.size else no_symmetries(sum(sizes))


def _turned(operators: Floats, group: Symmetries, known: int, unknown: int) -> Floats:
    """The mean over the group of K T K^T for operators T (count, size, size), K being M -> D M D^T in z."""
    basis = symmetric_basis(unknown)
    places = slice(known, known + unknown)
    total = np.zeros_like(operators)
    for order, signs in zip(group.orders[:, places] - known, group.signs[:, places], strict=True):
        turned = basis[:, order[:, None], order] * np.outer(signs, signs)
        action = np.einsum("aij,bij->ab", basis, turned)
        total += action @ operators @ action.T
    return total / len(group)


def _operators_of(table: LabelTable, wider: LabelTable, group: Symmetries) -> tuple[Floats, ...]:
    """The operators of `_Operators` from the tables, each moment replaced by its mean over the symmetries.

    Statement: let M be a bin's moment, p its mass, each the mean of two rules, M = G p + e with a part e that scatters
    from ray to ray. The sum of M M / p has an excess of E[e e / p]. If the two rules' parts are independent, half
    their difference, d = (M1 - M2)/2 - G (p1 - p2)/2, has the same mean square as e, so that d d / p is taken off.
    """
    mass, moment, coarse = table.mass, group.average(table.moment), group.average(wider.moment)
    mass_apart, moment_apart = table.mass_apart, group.average(table.moment_apart)
    scatter = _operator(mass, moment_apart - moment * (mass_apart / mass)[:, None, None])
    first, second = (_operator(mass + sign * mass_apart, moment + sign * moment_apart) for sign in (1, -1))
    return _operator(mass, moment) - scatter, scatter, _operator(wider.mass, coarse), first, second


def _operator(mass: Floats, moment: Floats) -> Floats:
    """sum over bins of mass (G M G) with G = moment / mass, as a matrix on symmetric matrices."""
    size = moment.shape[1]
    basis = symmetric_basis(size)
    kept = mass > 0
    flat = moment[kept].reshape(-1, size**2)
    pairs = (flat.T @ (flat / mass[kept, None])).reshape(size, size, size, size)  # sum of moment_ij moment_kl / mass
    left = np.tensordot(basis, pairs, axes=([1, 2], [1, 2]))  # over j, k of M_jk: (a, i, l)
    return np.tensordot(left, basis, axes=([1, 2], [1, 2]))
