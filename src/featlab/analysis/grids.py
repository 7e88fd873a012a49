"""Points at which a link is known, with two accuracies, so that every integral comes with its own error.

All exponents, leaps and subspaces of a target are read off integrals E[chi(h, Y) He_k(z)]. They are taken over one
pair of rules that are cut at the link's kinks: the fine one gives the value, its difference from the coarse one the
error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import permutations
from math import comb
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from featlab.gaussian.hermite import Floats
from featlab.gaussian.polar import polar_rule
from featlab.gaussian.quadrature import Rule, gauss_pieces, nested_rule, product_rule, static_breaks
from featlab.targets import Target

# Points of a fine rule by the dimension of the link's fields; each refinement multiplies it.
_BUDGET = {1: 400, 2: 20_000, 3: 120_000, 4: 240_000}
_MOST_POINTS = 800_000
_MOST_SYMMETRIC_POINTS = 1_800_000  # their tensors are simple: what vanishes by symmetry vanishes exactly
_REFINEMENT = 4
_MAX_NODES = 64
_EXCHANGES = 50  # random points at which directions are exchanged
# Nodes of the coarse rule over those of the fine one: far enough apart that their difference overestimates the fine
# error.
_COARSENING = 0.75


@dataclass(frozen=True)
class Grid:
    """A quadrature rule with the link's values on it: E[F(h, Y)] = sum weights F(points[:, :rank], labels)."""

    rule: Rule
    labels: Floats
    rank: int

    @property
    def weights(self) -> Floats:
        return self.rule.weights

    @property
    def directions(self) -> Floats:
        """The coordinates h1..hr, without the noise variables inside the link."""
        return self.rule.points[:, : self.rank]

    @cached_property
    def kept(self) -> dict[Any, Any]:
        """What others have computed on its points and may ask for again."""
        return {}

    @cached_property
    def mean(self) -> float:
        return float(self.rule.mean(self.labels))

    @cached_property
    def variance(self) -> float:
        return float(self.rule.mean((self.labels - self.mean) ** 2))


@dataclass(frozen=True)
class GridPair:
    """The fine grid, the coarse one that measures its error, and how often they were refined."""

    fine: Grid
    coarse: Grid
    refinement: int


def build_grids(target: Target, refinement: int = 0) -> GridPair:
    """Fine and coarse grids of a target; a refinement has four times the points.

    A target with curved or tilted kinks is refined in polar coordinates: rays cross most such surfaces transversally,
    where lines along the axes are somewhere tangent to them. One whose directions may be exchanged, and which is kinked
    where two are equal, such as max(h1, .., h4), has a rule that is as symmetric as itself.
    """
    dimension = target.rank + target.hidden
    symmetric = exchangeable(target)
    most = _MOST_SYMMETRIC_POINTS if symmetric and dimension > 3 else _MOST_POINTS
    budget = min(_BUDGET.get(dimension, 240_000) * 2**symmetric * _REFINEMENT**refinement, most)
    if refinement and not symmetric and any(len(kink.variables) > 1 for kink in target.kinks):
        # Nodes on each panel: two panels of every angle, four of the last, three or more on the ray.
        pieces, rule = 12 * 2 ** (dimension - 2), partial(polar_rule, target.kinks, dimension)
    else:
        breaks = _extra_breaks(dimension, refinement)
        pieces = int(np.prod([_pieces(target, axis, breaks) for axis in range(dimension)]))
        rule = partial(nested_rule, target.kinks, dimension, extra_breaks=breaks)
    nodes = int(np.clip((budget / pieces) ** (1 / dimension), 5, _MAX_NODES))
    rules = (rule(nodes), rule(max(4, int(_COARSENING * nodes))))
    if symmetric:
        rules = (exchanged(rules[0], target.rank), exchanged(rules[1], target.rank))
    fine, coarse = (Grid(one, target.link(one.points), target.rank) for one in rules)
    return GridPair(fine, coarse, refinement)


def exchangeable(target: Target) -> bool:
    """Whether the link stays the same when any two of its directions, three or more, are exchanged, and bends there."""
    if target.rank < 3:
        return False
    points = np.random.default_rng(17).standard_normal((_EXCHANGES, target.rank + target.hidden))
    labels = target.link(points)
    for axis in range(1, target.rank):
        other = points.copy()
        other[:, [0, axis]] = points[:, [axis, 0]]
        if not np.allclose(target.link(other), labels, rtol=1e-9, atol=0):
            return False
    between = [kink for kink in target.kinks if len(kink.variables) == 2 and max(kink.variables) < target.rank]
    equal = np.repeat(points[:, :1], points.shape[1], axis=1)
    return len(between) == comb(target.rank, 2) and all(np.allclose(kink.function(equal), 0) for kink in between)


def exchanged(rule: Rule, count: int) -> Rule:
    """The points whose first `count` coordinates descend, and their images when these are exchanged in every way.

    Statement: a Gaussian integral is the sum over all orders of the coordinates of the integral over one of them. The
    rule must be cut where two coordinates are equal.
    """
    inside = np.all(np.diff(rule.points[:, :count], axis=1) < 0, axis=1)
    points, weights = rule.points[inside], rule.weights[inside]
    rest = list(range(count, points.shape[1]))
    images = [points[:, [*order, *rest]] for order in permutations(range(count))]
    weights = np.tile(weights, len(images))
    return Rule(np.concatenate(images), weights / weights.sum())


def _pieces(target: Target, axis: int, breaks: Sequence[float]) -> int:
    """Into how many pieces the rule will cut this axis (for a line that crosses every surface once)."""
    fixed = 1 + len({*breaks, *static_breaks(target.kinks, axis, target.rank + target.hidden)})
    crossing = sum(len(kink.variables) > 1 and max(kink.variables) == axis for kink in target.kinks)
    return fixed + 2 + crossing if crossing else fixed


def _extra_breaks(dimension: int, refinement: int) -> tuple[float, ...]:
    """Few dimensions are cheap: cut them also where a steep link may hide its features from a single pair of pieces.

    In two dimensions that is what a refinement does: the pieces have their largest number of nodes from the start.
    """
    if dimension > 1:
        return (-2.5, -1.2, 0.0, 1.2, 2.5) if dimension == 2 and refinement else (0.0,)
    return (-3.0, -1.5, 0.0, 1.5, 3.0) if refinement == 0 else tuple(np.linspace(-6, 6, 33).tolist())


def known_rule(target: Target, known: Floats, nodes: int) -> Rule:
    """A product rule for the coordinates x on the orthonormal columns `known`, `nodes` Gauss points on each piece.

    A column that coincides with an axis is cut at that axis's kinks, every column at 0.
    """
    dimension = target.rank + target.hidden
    axes = []
    for column in known.T:
        axis = int(np.argmax(np.abs(column)))
        aligned = abs(column[axis]) > 1 - 1e-9
        axes.append(gauss_pieces([0.0, *(static_breaks(target.kinks, axis, dimension) if aligned else [])], nodes))
    return product_rule(axes)


def slice_at(target: Target, known: Floats, unknown: Floats, point: Floats) -> tuple[Floats, Floats]:
    """At the known coordinates x = point, fields = offset + matrix (z, noise inside the link): offset and matrix."""
    return np.append(known @ point, np.zeros(target.hidden)), block_diag(unknown, np.eye(target.hidden))
