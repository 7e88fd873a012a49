"""The channel of a label with a density by a rule over labels: level set by level set, then over what is known.

With U = Phi^{-1}(rank of the label) ~ N(0, 1), and Z(y, omega) = int_{g = y} N(z; omega, V),

    F(Q) = E_U E[g_out(y, omega) g_out(y, omega)^T | y(U)],   omega | y of density N(omega; 0, Q) Z(y, omega) / p(y).

Both averages are of smooth functions: panels of Gauss nodes for U, a Gauss-Hermite rule for omega, of which the link's
symmetries leave one node of every orbit. It holds while V is wide: the rule for omega does not see what changes on the
scale of a small deviation of V.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from featlab.analysis.level_sets import Fibres, level_sets, log_partition
from featlab.analysis.ray_rules import Resolution, rays_at
from featlab.analysis.subspaces import nothing
from featlab.gaussian.hermite import Floats
from featlab.gaussian.matrices import symmetric_root
from featlab.gaussian.quadrature import gauss_pieces, gaussian_density, panels, product_rule
from featlab.gaussian.symmetry import Symmetries, symmetries
from featlab.targets import Target
from featlab.theory.bayes.channel import ChannelAverages
from featlab.theory.bayes.scores import scores

WIDEST_OVERLAP = 0.86
_PROBITS = (0.0, 0.2, 0.5, 1.0, 1.7, 2.5, 3.5, 4.5, 6.0)
_NODES = 4
# Level sets bend where a coordinate vanishes: lines are laid at distances from there that grow geometrically.
_EDGES = (0.0, 0.05, 0.2, 0.6, 1.3, 2.3, 3.6, 7.5)
_RAYS = Resolution(3000, 240, 20)
# Nodes of an axis of omega by its overlap, the most over all axes together, and weights that count for nothing.
_AXIS_NODES = ((0.0, 1), (0.1, 8), (0.35, 14), (0.65, 20), (1.0, 28))
_MOST_NODES = 500
_NEGLIGIBLE = 1e-9


@dataclass(eq=False)
class LabelRule:
    """F and H of a target of three fields whose label has a density and no atoms, while no overlap is above 0.86."""

    target: Target
    _folded: dict[tuple[tuple[int, ...], bytes], tuple[Floats, Floats]] = field(default_factory=dict)

    @cached_property
    def group(self) -> Symmetries:
        return symmetries(self.target.link, (self.target.rank, self.target.hidden))

    @cached_property
    def _labels(self) -> tuple[Floats, Floats]:
        """Labels y(U) at the nodes of U, and weights."""
        edges = np.array([*(-edge for edge in _PROBITS[:0:-1]), *_PROBITS])
        probit, weights = panels(edges, _NODES)
        weights = weights * gaussian_density(probit)
        return label_quantiles(self.target, probit), weights / weights.sum()

    @cached_property
    def _fibres(self) -> tuple[Fibres, Floats]:
        """The level sets of the labels, and the logarithm of the density of each."""
        rank = self.target.rank
        fibres = level_sets(self.target, edges=_EDGES).at(self._labels[0])
        return fibres, log_partition(fibres, np.zeros((len(fibres.base), rank)), np.eye(rank))[0]

    def at(self, overlap: Floats) -> ChannelAverages:
        """F and H at Q (r, r)."""
        rank = self.target.rank
        kept = self.group.fixing(overlap)
        nodes, prior = self._nodes(overlap, kept)
        omega, covariance = nodes @ symmetric_root(overlap), np.eye(rank) - overlap
        fibres, log_density = self._fibres
        information, entropy = np.zeros((rank, rank)), 0.0
        for row, weight in enumerate(self._labels[1]):
            log_z, gradient = (one[0] for one in scores(fibres.rows(np.array([row])), omega[None], covariance))
            posterior = prior * np.exp(log_z - log_density[row])
            posterior *= weight / posterior.sum()
            information += np.einsum("t,ti,tj->ij", posterior, gradient, gradient)
            entropy += float(posterior @ log_z)
        return ChannelAverages(kept.average(information[None])[0], entropy)

    def _nodes(self, overlap: Floats, kept: Symmetries) -> tuple[Floats, Floats]:
        """Standard normal nodes (T, r), one of each orbit of the symmetries, with weights."""
        counts = [next(n for most, n in _AXIS_NODES if q <= most) for q in np.diag(overlap).tolist()]
        if np.any(np.abs(overlap - np.diag(np.diag(overlap))) > 1e-12):
            counts = [max(counts)] * len(counts)
        excess = float(np.prod(counts)) / (len(kept) * _MOST_NODES)
        if excess > 1:
            counts = [max(min(count, 6), int(count * excess ** (-1 / len(counts)))) for count in counts]
        key = (tuple(counts), kept.orders.tobytes() + kept.signs.tobytes())
        if key not in self._folded:
            rule = product_rule(gauss_pieces((), count) for count in counts)
            nodes, weights = kept.folded(rule.points, rule.weights)
            seen = weights > _NEGLIGIBLE
            self._folded[key] = nodes[seen], weights[seen] / weights[seen].sum()
        return self._folded[key]


def label_quantiles(target: Target, probit: Floats) -> Floats:
    """The labels of rank Phi(probit), from cells of rays with exact probabilities: reliable far into the tails."""
    cells = rays_at(target, nothing(target.rank), np.eye(target.rank), np.zeros(0), _RAYS).cells()
    middle = 0.5 * (cells.first + cells.last)
    order = np.argsort(middle)
    labels, mass = middle[order], cells.mass[order]
    below, above = np.cumsum(mass) - 0.5 * mass, np.cumsum(mass[::-1])[::-1] - 0.5 * mass
    low, high = np.interp(ndtr(probit), below, labels), np.interp(-ndtr(-probit), -above, labels)
    return np.where(probit < 0, low, high)
