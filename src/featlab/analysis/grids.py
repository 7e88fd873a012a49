"""Points at which a link is known, with two accuracies, so that every integral comes with its own error.

All exponents, leaps and subspaces of a target are read off integrals E[chi(h, Y) He_k(z)]. They are taken over one
pair of rules that are cut at the link's kinks: the fine one gives the value, its difference from the coarse one the
error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import Rule, gauss_pieces, nested_rule, static_breaks
from featlab.targets import Target

# Points of a fine rule by the dimension of the link's fields; each refinement multiplies it.
_BUDGET = {1: 400, 2: 20_000, 3: 120_000, 4: 340_000}
_MOST_POINTS = 2_000_000
_REFINEMENT = 6
_MAX_NODES = 64
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
    """Fine and coarse grids of a target; `refinement` multiplies the number of points by six each time."""
    dimension = target.rank + target.hidden
    budget = min(_BUDGET.get(dimension, 340_000) * _REFINEMENT**refinement, _MOST_POINTS)
    pieces = [1 + len({*_extra_breaks(dimension), *static_breaks(target.kinks, axis)}) for axis in range(dimension)]
    per_axis = (budget / np.prod(pieces)) ** (1 / dimension)
    fine = int(np.clip(per_axis, 5, _MAX_NODES))
    coarse = max(4, int(_COARSENING * fine))
    return GridPair(_grid(target, fine), _grid(target, coarse), refinement)


def can_refine(target: Target, grids: GridPair) -> bool:
    """Whether another refinement would still add points."""
    nodes_full = target.rank + target.hidden == 1 and grids.refinement >= 1
    return not nodes_full and len(grids.fine.weights) * _REFINEMENT <= 2 * _MOST_POINTS


def _grid(target: Target, nodes: int) -> Grid:
    dimension = target.rank + target.hidden
    rule = nested_rule(target.kinks, dimension, nodes, _extra_breaks(dimension))
    return Grid(rule, target.link(rule.points), target.rank)


def _extra_breaks(dimension: int) -> tuple[float, ...]:
    """One dimension is cheap: cut it also where a steep link may hide its features from a single pair of pieces."""
    return (-3.0, -1.5, 0.0, 1.5, 3.0) if dimension == 1 else (0.0,)


def known_rule(target: Target, known: Floats, nodes: int) -> Rule:
    """A product rule for the coordinates x on the orthonormal columns `known`, `nodes` Gauss points on each piece.

    A column that coincides with an axis is cut at that axis's kinks, every column at 0.
    """
    points, weights = np.zeros((1, 0)), np.ones(1)
    for column in known.T:
        axis = int(np.argmax(np.abs(column)))
        aligned = abs(column[axis]) > 1 - 1e-9
        x, w = gauss_pieces([0.0, *(static_breaks(target.kinks, axis) if aligned else [])], nodes)
        points = np.column_stack([np.repeat(points, x.size, axis=0), np.tile(x, len(points))])
        weights = np.outer(weights, w).ravel()
    return Rule(points, weights)
