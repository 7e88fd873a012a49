"""The channel of a label with a density and several directions, or with noise: level sets around every true point.

F(Q) = E_x E[g_out(g(x), omega) g_out^T | z] with x = (z, noise) and omega | z ~ N(Q z, Q - Q^2). The level sets of the
labels g(x) do not depend on Q: they are found once for each range of V, and F costs one softmax over them. Two fields
are integrated by panels cut at the kinks and graded around them. Three and four are integrated label by label
(`label_rule`) while V is wide, and around what is known (`narrow`) where it is not.

As V -> 0 a level set becomes its tangent plane: without noise V^{1/2} F V^{1/2} has a limit, with noise F has. Either
is taken as reached once a deviation of V is below 0.01.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featlab.analysis.level_sets import Fibres
from featlab.gaussian.hermite import Floats
from featlab.gaussian.matrices import symmetric_root
from featlab.gaussian.quadrature import gauss_pieces, product_rule
from featlab.targets import Target
from featlab.theory.bayes.channel import ChannelAverages
from featlab.theory.bayes.label_rule import LabelRule
from featlab.theory.bayes.narrow import Narrow
from featlab.theory.bayes.neighbourhood import Grading, level_set_around, noise_inside
from featlab.theory.bayes.rules import Frame, View
from featlab.theory.bayes.scores import scores
from featlab.theory.bayes.symmetry import Fold, fold, invariances

# Ranges of the smallest deviation of V, each with its own nodes; in all but the first only a window around z matters.
_FINEST = (0.3, 0.1, 0.03, 0.01)
_RANGE = 3.4
_DEVIATIONS = 9.0
_REACH = 7.0
_PANELS = (-8.0, -3.5, -2.2, -1.2, 0.0, 1.2, 2.2, 3.5, 8.0)
_OUTER_NODES = 4
_INNER_NODES, _FEW_INNER_NODES, _MUCH_OVERLAP = 12, 8, 0.5
_CHUNK = 2_000_000
# Of F, by the number of fields; once a direction is known that well and another is not, its V so many times as large;
# and then of labels with jumps, which cross the level sets.
_RELATIVE_ERROR, _UNEVEN_ERROR, _JUMP_ACROSS = {2: 1e-3, 3: 1e-3, 4: 5e-3}, {3: 3e-3, 4: 1e-2}, 2.5e-2
_ALMOST_KNOWN, _APART = 0.98, 3.0


Ranges = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True)
class Sample:
    """True points x (N, D) with weights, and what Z is summed over for their labels."""

    points: Floats
    weights: Floats
    fibres: Fibres

    def inner(self, overlap: Floats) -> tuple[Floats, Floats]:
        """Nodes (1, T, r) of N(0, I_r), for omega given any z, and weights (T,)."""
        rank = len(overlap)
        if not overlap.any():
            return np.zeros((1, 1, rank)), np.ones(1)
        # Far branches of the level set compete at a middling V; at a small one only the nearest is seen, almost flat.
        steep = bool(np.any((np.diag(overlap) > _MUCH_OVERLAP) & (1 - np.diag(overlap) >= _FINEST[0] ** 2)))
        rule = product_rule([gauss_pieces((), _INNER_NODES if steep else _FEW_INNER_NODES)] * rank)
        return rule.points[None], rule.weights


class Continuous:
    """F and H of a target whose label has a density, perhaps with atoms besides."""

    def __init__(self, target: Target) -> None:
        self.target = noise_inside(target) if target.noise > 0 else target
        self._samples: dict[tuple[Ranges, tuple[int, ...]], Sample] = {}
        self._many = self.target.rank + self.target.hidden > 2
        self._by_label, self._nearby = LabelRule(self.target), Narrow(self.target)

    def at(self, overlap: Floats) -> ChannelAverages:
        """F and H at Q (r, r)."""
        values, vectors = np.linalg.eigh(np.eye(self.target.rank) - overlap)
        wide = np.maximum(values, _FINEST[-1] ** 2)
        if np.all(wide == values):
            return self._resolved(overlap)
        found = self._resolved(np.eye(len(overlap)) - _from(vectors, wide))
        if self.target.hidden:
            return found
        # dH = 1/2 Tr(F dQ) with V^{1/2} F V^{1/2} frozen.
        shares = wide * np.einsum("ia,ij,ja->a", vectors, found.information, vectors)
        scale = _from(vectors, np.sqrt(wide / values))
        return ChannelAverages(
            scale @ found.information @ scale, found.entropy + 0.5 * float(shares @ np.log(wide / values))
        )

    def relative_error(self, overlap: Floats) -> float:
        """Against products of directions, squared norms, and polynomials with a parity (`benchmarks.theory`)."""
        fields = self.target.rank + self.target.hidden
        known, unknown = np.max(np.linalg.eigvalsh(overlap)), np.min(np.linalg.eigvalsh(overlap))
        if not (self._many and known > _ALMOST_KNOWN and 1 - unknown > _APART * (1 - known)):
            return _RELATIVE_ERROR[fields]
        return _JUMP_ACROSS if any(kink.kind == "jump" for kink in self.target.kinks) else _UNEVEN_ERROR[fields]

    def _resolved(self, overlap: Floats) -> ChannelAverages:
        """F and H where no deviation of V is below the finest range."""
        rank = self.target.rank
        if self._many:
            return self._by_label.at(overlap) if self._by_label.suits(overlap) else self._nearby.at(overlap)
        covariance = np.eye(rank) - overlap
        group = fold(self.target, overlap)
        sample = self._sample(_ranges(covariance), group)
        z = sample.points[:, :rank]
        root = symmetric_root(overlap - overlap @ overlap)
        inner, inner_weights = sample.inner(overlap)
        information, entropy = np.zeros((rank, rank)), 0.0
        size = inner.shape[1] * sample.fibres.base.shape[1]
        for rows in np.array_split(np.arange(len(z)), max(1, len(z) * size // _CHUNK)):
            omega = (z[rows] @ overlap)[:, None, :] + inner @ root
            log_z, gradient = scores(sample.fibres.rows(rows), omega, covariance)
            weight = sample.weights[rows][:, None] * inner_weights
            information += np.einsum("nt,nti,ntj->ij", weight, gradient, gradient, optimize=True)
            entropy += float(np.sum(weight * log_z))
        return ChannelAverages(group.average(information), entropy)

    def _sample(self, ranges: Ranges, group: Fold) -> Sample:
        key = (ranges, group.halved)
        if key not in self._samples:
            self._samples[key] = _panels(self.target, ranges, group)
        return self._samples[key]


def _from(vectors: Floats, values: Floats) -> Floats:
    return (vectors * values) @ vectors.T


def _ranges(covariance: Floats) -> Ranges:
    """For each direction the range of its deviation, and the range that its nodes have to resolve.

    Both are the same for a diagonal V; otherwise nodes resolve the smallest deviation in any direction.
    """
    deviations = np.sqrt(np.diag(covariance))
    reach = tuple(next((size for size in _FINEST if one >= size), _FINEST[-1]) for one in deviations)
    if np.allclose(covariance, np.diag(np.diag(covariance)), atol=1e-9):
        return reach, reach
    least = float(np.sqrt(np.linalg.eigvalsh(covariance)[0]))
    finest = next((size for size in _FINEST if least >= size), _FINEST[-1])
    return reach, (finest,) * len(reach)


def _grading(target: Target, ranges: Ranges, widest: float, nodes: int, scan: int) -> Grading:
    """Windows of nine deviations of V; the noise variables as far as they go, no finer than the finest direction."""
    reach, finest = ranges
    windows = tuple(_REACH if size == _FINEST[0] else min(_REACH, _DEVIATIONS * _RANGE * size) for size in reach)
    hidden = target.hidden
    return Grading(finest + (min(finest),) * hidden, widest, windows + (_REACH,) * hidden, nodes, scan)


def _mirrors(target: Target, ranges: Ranges) -> Fold:
    """The reflections whose images of a window overlap with it: those of the widest range."""
    narrow = [axis for axis, size in enumerate(ranges[0]) if size < _FINEST[0]]
    return invariances(target).fixing(narrow)


def _panels(target: Target, ranges: Ranges, group: Fold) -> Sample:
    """Nodes on panels: one or two fields."""
    view = View(target, level=True)
    frame = Frame(view, np.zeros((1, view.dimension)), np.eye(view.dimension))
    lines = frame.nothing
    for axis, size in enumerate(ranges[1] + (_FINEST[0],) * target.hidden):
        margins = (0.25 * size, 1.5 * size) if size == _FINEST[0] else (size, 4 * size)
        # Not the same nodes on both axes: on a diagonal, h1^2 - h2^2 has the one label that never occurs.
        lines = frame.extend(lines, _OUTER_NODES + axis % 2, 20, margins, _PANELS)
        if axis in group.halved:
            lines = lines.chosen(lines.t[:, axis] > 0, 2.0)
    lines = lines.chosen(lines.weights > 1e-11, 1.0)
    fibres = level_set_around(target, lines.t, _grading(target, ranges, 1.0, 4, 61), _mirrors(target, ranges))
    return Sample(lines.t, lines.weights / lines.weights.sum(), fibres)
