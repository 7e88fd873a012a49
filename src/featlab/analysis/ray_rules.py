"""Rays of the unknown directions, no more than the link's symmetries leave to look at, cut into cells.

The rays are those of two Gauss rules of almost equal size together: what differs between them tells how much their
choice matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from featlab.analysis.grids import slice_at
from featlab.analysis.rays import RayCells, cells_of_rays
from featlab.gaussian.hermite import Floats
from featlab.gaussian.polar import Function, direction_rule, is_cone
from featlab.gaussian.quadrature import moved_surfaces
from featlab.gaussian.symmetry import Symmetries, symmetries
from featlab.targets import Target

_SPARE = 4  # where symmetries leave rays over, cells are shorter by no more than this
_FEWEST = 2  # nodes


@dataclass(frozen=True)
class Resolution:
    """How finely space is cut: rays of both rules together, cells on each ray, Gauss nodes that are enough on a panel.

    Where symmetries leave rays over, the cells get shorter instead.
    """

    rays: int
    steps: int
    nodes: int


@dataclass(frozen=True)
class Rays:
    """Rays in one part of every orbit of the label's symmetries: their directions, weights and rules.

    `link` is the label as a function of z, `kinks` change sign where it jumps or bends; a ray has `steps` cells.
    """

    link: Function
    kinks: list[Function]
    directions: Floats
    weights: Floats
    rules: Floats
    group: Symmetries
    steps: int

    def cells(self, coarsening: int = 1) -> RayCells:
        """The cells of all rays, `coarsening` times as long."""
        return cells_of_rays(self.link, self.kinks, self.directions, self.weights, self.steps // coarsening)


def rays_at(target: Target, known: Floats, unknown: Floats, point: Floats, resolution: Resolution) -> Rays:
    """The rays of z (and of the noise inside the link) at fixed known coordinates, those of two rules together."""
    offset, turn = slice_at(target, known, unknown, point)
    dimension = turn.shape[1]

    def link(z: Floats) -> Floats:
        return target.link(offset + z @ turn.T)

    surfaces = [surface.function for surface in moved_surfaces(target.kinks, offset, turn)]
    cones = [surface for surface in surfaces if is_cone(surface, dimension)]
    kinks = [surface for surface in surfaces if not is_cone(surface, dimension)]
    cones = [*cones, _level_of_the_origin(link, dimension)]
    group = symmetries(link, (unknown.shape[1], target.hidden))
    nodes, steps = _nodes_and_steps(resolution, cones, group)
    counts = (nodes, nodes + 1) if dimension > 1 else (nodes,)
    found = [direction_rule(dimension, count, cones, group) for count in counts]
    directions = np.concatenate([one for one, _ in found])
    weights = np.concatenate([weight / len(found) for _, weight in found])
    rules = np.repeat([1.0, -1.0] if len(found) > 1 else [0.0], [len(one) for one, _ in found])
    mirrored = group.mirror(directions)
    if mirrored is not None:  # of one label, and of its mirror image
        directions = np.concatenate([directions, mirrored])
        weights, rules = np.tile(0.5 * weights, 2), np.tile(rules, 2)
    return Rays(link, kinks, directions, weights, rules, group, steps)


def _nodes_and_steps(resolution: Resolution, cones: Sequence[Function], group: Symmetries) -> tuple[int, int]:
    """Gauss nodes on each panel of the smaller rule, and cells on each ray."""
    dimension = group.dimension
    if dimension == 1:
        return 1, resolution.steps
    few = len(direction_rule(dimension, _FEWEST, cones, group)[0]) * (2 if group.reversing.any() else 1)
    possible = _FEWEST * (resolution.rays / (2 * few)) ** (1 / (dimension - 1))
    nodes = max(_FEWEST, min(int(possible), resolution.nodes))
    spare = (possible / nodes) ** (dimension - 1)
    return nodes, int(resolution.steps * np.clip(spare, 1, _SPARE))


def _level_of_the_origin(link: Function, dimension: int) -> Function:
    """Changes sign at the rays that lie in the level set of the origin, such as |h1| = |h2| for |h1| - |h2|.

    Close to them the label varies slowly along a ray and fast from ray to ray, so the directions are cut there.
    """
    at_origin = link(np.full((1, dimension), 1e-9))[0]
    return lambda directions: link(np.sqrt(dimension) * directions) - at_origin
