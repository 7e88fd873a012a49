"""Points at which a link is known, with two accuracies, so that every integral comes with its own error.

All exponents, leaps and subspaces of a target are read off integrals E[chi(h, Y) He_k(z)]. They are taken over one
pair of rules that are cut at the link's kinks: the fine one gives the value, its difference from the coarse one the
error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from scipy.linalg import block_diag

from featlab.gaussian.hermite import Floats
from featlab.gaussian.polar import polar_rule
from featlab.gaussian.quadrature import Rule, gauss_pieces, nested_rule, product_rule, static_breaks
from featlab.targets import Target

# Points of a fine rule by the dimension of the link's fields; each refinement multiplies it.
_BUDGET = {1: 400, 2: 20_000, 3: 120_000, 4: 240_000}
_MOST_POINTS = 800_000
_REFINEMENT = 4
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
    """Fine and coarse grids of a target; a refinement has four times the points.

    A target with curved or tilted kinks is refined in polar coordinates: rays cross most such surfaces transversally,
    where lines along the axes are somewhere tangent to them.
    """
    dimension = target.rank + target.hidden
    budget = min(_BUDGET.get(dimension, 240_000) * _REFINEMENT**refinement, _MOST_POINTS)
    if refinement and any(len(kink.variables) > 1 for kink in target.kinks):
        # Nodes on each panel: two panels of every angle, four of the last, three or more on the ray.
        pieces, rule = 12 * 2 ** (dimension - 2), partial(polar_rule, target.kinks, dimension)
    else:
        breaks = _extra_breaks(dimension, refinement)
        pieces = int(np.prod([_pieces(target, axis, breaks) for axis in range(dimension)]))
        rule = partial(nested_rule, target.kinks, dimension, extra_breaks=breaks)
    nodes = int(np.clip((budget / pieces) ** (1 / dimension), 5, _MAX_NODES))
    rules = (rule(nodes), rule(max(4, int(_COARSENING * nodes))))
    fine, coarse = (Grid(one, target.link(one.points), target.rank) for one in rules)
    return GridPair(fine, coarse, refinement)


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
