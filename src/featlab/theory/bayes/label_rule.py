"""The channel of three or four fields by a rule over labels: level set by level set, then over what is known.

With U = Phi^{-1}(rank of the label among those with a density) ~ N(0, 1), and Z(y, omega) = int_{g = y} N(z; omega, V),

    F(Q) = E_y E[g_out(y, omega) g_out(y, omega)^T | y],   omega | y of density N(omega; 0, Q) Z(y, omega) / p(y),

where y is y(U) or an atom, each with its probability. Level sets do not depend on Q and are found once. U has panels of
Gauss nodes, cut where the density of the label jumps. In units of its deviation, omega given a label varies on the
scale of the deviation of V, faster only between two branches of the level set: a trapezoidal rule with a step of half
of that is exact to 1e-4, while a Gauss-Hermite rule wastes its nodes on the tails. The link's symmetries leave one node
of every orbit; of the others those count that lie near the level set, and of the level set what lies near them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import gamma, ndtr, ndtri

from featlab.analysis.label_law import label_law
from featlab.analysis.layouts import critical_values
from featlab.analysis.level_sets import Fibres, level_sets, log_partition
from featlab.analysis.ray_rules import Resolution, rays_at
from featlab.analysis.subspaces import nothing
from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.quadrature import gauss_pieces, gaussian_density, panels, product_rule
from featlab.gaussian.symmetry import Symmetries, symmetries
from featlab.interruption import check
from featlab.targets import Target
from featlab.theory.bayes.channel import ChannelAverages
from featlab.theory.bayes.scores import scores

# By the number of fields: the smallest eigenvalue of V that the level sets resolve, and the square root of its
# determinant below which omega has too many nodes; twice as much without symmetries.
_NARROWEST, _SMALLEST = {3: 0.015, 4: 0.2}, {3: 0.058, 4: 0.04}
_SYMMETRIES = 4
# Panels of U end there, and so far from each jump of the density.
_PROBITS, _LAST_PROBIT = (-3.5, -2.5, -1.7, -1.0, -0.5, 0.0, 0.5, 1.0, 1.7, 2.5, 3.5), 5.0
_MARGINS = np.array([-0.25, -0.06, 0.0, 0.06, 0.25])
_NODES = 4
# Level sets bend where a coordinate vanishes: lines are laid at distances from there that grow. For a V that is wide,
# one that is not, and for four fields.
_WIDE = 0.25
_EDGES = (0.0, 0.05, 0.2, 0.6, 1.3, 2.3, 3.6, 7.5)
_FEW_EDGES = (0.0, 0.25, 1.1, 2.6, 6.0)
_FINE_EDGES = (0.0, 0.02, 0.07, 0.2, 0.5, 0.9, 1.4, 1.9, 2.4, 3.0, 3.8, 7.0)
_RAYS = Resolution(3000, 240, 20)
_GOLDEN = 0.5 * (np.sqrt(5) - 1)
# An overlap up to the first number is small: the law of the label is a polynomial in omega, of low degree.
_SMALL = ((0.0, 1), (0.01, 4), (0.1, 8))
# Steps of the trapezoidal rule, in deviations of V: the first that needs no more nodes than that, by the number of
# fields, or the last.
_STEPS, _MOST_NODES, _REACH = (0.45, 0.55, 0.65, 0.75), {3: 1500, 4: 200}, 4.7
_NEAR = 5.5  # deviations of V; what is farther counts for nothing
_BLOCK = 3.0
_CHUNK = 1_000_000


@dataclass(eq=False)
class LabelRule:
    """F and H of a target of three or four fields, while V is wide enough (`suits`)."""

    target: Target
    _fibres: dict[tuple[float, ...], tuple[Fibres, Floats]] = field(default_factory=dict)

    @cached_property
    def group(self) -> Symmetries:
        return symmetries(self.target.link, (self.target.rank, self.target.hidden))

    @cached_property
    def _labels(self) -> tuple[Floats, Floats, int]:
        """Labels y(U) at the nodes of U, then the atoms; the weights of the former; how many they are."""
        law = _LabelRanks.of(self.target)
        edges = np.append(_PROBITS, np.add.outer(law.jumps(), _MARGINS).ravel())
        edges = np.unique(np.round([*edges[np.abs(edges) < _LAST_PROBIT], -_LAST_PROBIT, _LAST_PROBIT], 6))
        probit, weights = panels(edges, _NODES)
        weights = weights * gaussian_density(probit)
        labels = np.append(law.labels_at(probit), label_law(self.target).atoms)
        return labels, weights / weights.sum(), probit.size

    def _level_sets(self, narrowest: float) -> tuple[Fibres, Floats]:
        """The level sets of the labels, and the logarithm of the density or probability of each."""
        rank, labels = self.target.rank, self._labels[0]
        edges = (_EDGES if narrowest > _WIDE else _FINE_EDGES) if self.group.dimension == 3 else _FEW_EDGES
        if edges not in self._fibres:
            fibres = level_sets(self.target, edges=edges).at(labels)
            self._fibres[edges] = fibres, log_partition(fibres, np.zeros((len(fibres.base), rank)), np.eye(rank))[0]
        return self._fibres[edges]

    def suits(self, overlap: Floats) -> bool:
        """Whether V is wide: no deviation is below what the level sets resolve, and not all of them are small."""
        fields, widths = self.group.dimension, 1 - np.linalg.eigvalsh(overlap)
        smallest = _SMALLEST[fields] * (1 if len(self.group.fixing(overlap)) >= _SYMMETRIES else 2)
        volume = float(np.sqrt(np.prod(widths)))
        return bool(widths[-1] >= _NARROWEST[fields] - 1e-12 and volume >= smallest - 1e-12)

    def at(self, overlap: Floats) -> ChannelAverages:
        """F and H at Q (r, r)."""
        rank = self.target.rank
        omega, prior, kept = self._known(overlap)
        covariance = np.eye(rank) - overlap
        fibres, log_density = self._level_sets(float(np.linalg.eigvalsh(covariance)[0]))
        _, weights, count = self._labels
        atoms = np.exp(log_density[count:])
        weights = np.append((1 - atoms.sum()) * weights, atoms)
        blocks = list(_blocks(omega, _BLOCK * np.sqrt(np.diag(covariance))))
        information, entropy = np.zeros((rank, rank)), 0.0
        for row in np.flatnonzero(np.isfinite(log_density)):  # a label too rare for any line to meet it is left out
            check()
            weight = weights[row]
            log_z, score = _scores_nearby(fibres.rows(np.array([row])), omega, covariance, blocks)
            posterior = prior * np.exp(log_z - log_density[row])
            posterior *= weight / posterior.sum()
            information += np.einsum("t,ti,tj->ij", posterior, score, score)
            entropy += float(posterior @ np.where(posterior > 0, log_z, 0.0))
        return ChannelAverages(kept.average(information[None])[0], entropy)

    def _known(self, overlap: Floats) -> tuple[Floats, Floats, Symmetries]:
        """Nodes omega of N(0, Q), one of each orbit of some symmetries, their weights, and these symmetries.

        A Q that is diagonal has them along the axes, any other along its eigenvectors, where symmetries are of no use.
        """
        diagonal = np.max(np.abs(overlap - np.diag(np.diag(overlap)))) <= 1e-12
        values, vectors = (np.diag(overlap), np.eye(len(overlap))) if diagonal else np.linalg.eigh(overlap)
        kept = self.group.fixing(overlap)
        for step in _STEPS:
            axes = [_axis(float(q), step) for q in values]
            count = np.prod([float(len(x)) for x, _ in axes]) * _ball(len([q for q in values if q > 0]))
            if count <= _MOST_NODES[self.group.dimension] * (len(kept) if diagonal else 1):
                break
        rule = product_rule(axes)
        inside = np.sum(rule.points**2, axis=1) <= _REACH**2 + 1e-9
        nodes, weights = rule.points[inside], rule.weights[inside]
        if diagonal:
            nodes, weights = kept.folded(nodes, weights)
        return nodes @ (vectors * np.sqrt(np.maximum(values, 0.0))).T, weights / weights.sum(), kept


def _ball(dimension: int) -> float:
    """The share of a ball in the cube around it."""
    return float(np.pi ** (0.5 * dimension) / gamma(0.5 * dimension + 1) / 2**dimension)


def _axis(overlap: float, step: float) -> tuple[Floats, Floats]:
    """Nodes and weights of N(0, 1) along an axis, the step in deviations of V."""
    for most, count in _SMALL:
        if overlap <= most:
            return gauss_pieces((), count)
    step *= float(np.sqrt(1 - overlap))
    most = int(_REACH / step)
    nodes: Floats = step * np.arange(-most, most + 1, dtype=float)
    return nodes, step * gaussian_density(nodes)


def _blocks(omega: Floats, widths: Floats) -> Iterator[Integers]:
    """The numbers of the nodes in each box of these widths that has some."""
    _, number = np.unique(np.floor(omega / widths).astype(np.intp), axis=0, return_inverse=True)
    order = np.argsort(number.ravel(), kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(number.ravel()[order])) + 1)


def _scores_nearby(fibre: Fibres, omega: Floats, covariance: Floats, blocks: list[Integers]) -> tuple[Floats, Floats]:
    """log Z and g_out (T, r) of one label for omega (T, r), from the points of its level set near each block of them.

    -inf and 0 where there is none. The segments of an atom are taken whole: their ends may be far apart.
    """
    log_z, score = np.full(len(omega), -np.inf), np.zeros(omega.shape)
    simple = bool(np.all(fibre.is_point | ~np.isfinite(fibre.log_weights)))
    reach = _NEAR * np.sqrt(np.diag(covariance))
    base, weighs = fibre.base[0], np.isfinite(fibre.log_weights[0])
    for block in blocks:
        near = weighs
        if simple:
            low, high = omega[block].min(axis=0) - reach, omega[block].max(axis=0) + reach
            near = weighs & np.all((low < base) & (base < high), axis=1)
        count = int(np.count_nonzero(near))
        if not count:
            continue
        some = _part(fibre, near)
        for part in np.array_split(block, max(1, block.size * count // _CHUNK)):
            if simple:
                found = scores(some, omega[None, part], covariance)
                log_z[part], score[part] = found[0][0], found[1][0]
            else:
                log_z[part], score[part] = log_partition(some, omega[part], covariance)
    return log_z, score


def _part(fibre: Fibres, chosen: Floats) -> Fibres:
    """Some terms of a single label."""
    columns = (fibre.base, fibre.low, fibre.high, fibre.log_weights)
    return Fibres(fibre.direction, *(column[:, chosen] for column in columns))


@dataclass(frozen=True)
class _LabelRanks:
    """Labels with a density, ascending, with the probabilities of smaller and of larger ones; where it may jump.

    From cells of rays, which have exact probabilities, in the tails too.
    """

    labels: Floats
    below: Floats
    above: Floats
    critical: Floats

    @classmethod
    def of(cls, target: Target) -> _LabelRanks:
        """Those of a target."""
        cells = rays_at(target, nothing(target.rank), np.eye(target.rank), np.zeros(0), _RAYS).cells()
        spread = np.flatnonzero(label_law(target).atom_of(0.5 * (cells.first + cells.last)) < 0)
        # Somewhere along each cell, elsewhere on every ray: cells of all rays may have the same labels at their ends.
        somewhere = cells.first + (_GOLDEN * cells.line) % 1.0 * cells.rise
        order = spread[np.argsort(somewhere[spread])]
        mass = cells.mass[order] / cells.mass[order].sum()
        below, above = np.cumsum(mass) - 0.5 * mass, np.cumsum(mass[::-1])[::-1] - 0.5 * mass
        return cls(somewhere[order], below, above, critical_values(cells)[0])

    def jumps(self) -> Floats:
        """U where the density of the label may jump."""
        return ndtri(np.interp(self.critical, self.labels, self.below, left=0.0, right=1.0))

    def labels_at(self, probit: Floats) -> Floats:
        """The labels of rank Phi(probit)."""
        low = np.interp(ndtr(probit), self.below, self.labels)
        high = np.interp(-ndtr(-probit), -self.above, self.labels)
        return np.where(probit < 0, low, high)
