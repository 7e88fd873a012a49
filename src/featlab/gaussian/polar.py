"""Gaussian integrals in polar coordinates: a direction on the sphere, a radius of law chi.

A kink surface that every ray crosses transversally (a sphere, a shifted plane) is cut exactly by its crossings with the
rays, and one whose sign depends on the direction only (a cone: any plane through the origin) by cutting the angles. In
two dimensions that is exact too; from three on only the innermost circle is cut, and where such circles touch the cone
the average over the outer angle converges slowly, unless the cone is a coordinate plane or circular around an axis.

Where a function is symmetric under all exchanges of the coordinates, the sphere is cut into the 2^D D! chambers on
which the sizes of the coordinates have one order, and one of every orbit of chambers is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations, product

import numpy as np
from scipy.special import gammaln

from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.quadrature import Rule, Surface, crossings_on_lines, cut_edges, panels, roots_on_lines
from featlab.gaussian.symmetry import Symmetries, no_symmetries

TAIL = 8.5  # radii beyond sqrt(dimension) + 8.5 have a probability below 1e-16
_CONE_RADII = (0.01, 0.1, 0.3, 1.0, 2.5, 5.0, 10.0)

Function = Callable[[Floats], Floats]


def direction_rule(
    dimension: int, nodes: int, cones: Sequence[Function], group: Symmetries | None = None
) -> tuple[Floats, Floats]:
    """Directions (count, dimension) and weights of a product Gauss rule on the unit sphere, cut at the cones.

    Angles are nested, u = (cos t1, sin t1 cos t2, ...), with breaks at every multiple of pi/2 (the coordinate planes),
    wherever one of the given functions changes sign on the innermost circle, and where it does so at one and the same
    t1 for all others (a circular cone around the first axis).

    Args:
        group: symmetries of what is averaged: the rule covers one direction of every orbit of its reflections, or of
            all of it if it has every exchange of the coordinates.
    """
    group = group or no_symmetries(dimension)
    if dimension > 1 and group.exchanges_all:
        parts = [_chamber_rule(generators, nodes, cones) for generators in _chambers(group)]
        directions, weights = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return directions, weights / weights.sum()
    directions, weights = _angle_rule(dimension, nodes, cones)
    kept = np.all(directions[:, list(group.halved)] > 0, axis=1)
    return directions[kept], weights[kept] / weights[kept].sum()


def _angle_rule(dimension: int, nodes: int, cones: Sequence[Function]) -> tuple[Floats, Floats]:
    """The rule in nested angles on the whole sphere; its weights are those of the surface."""
    if dimension == 1:
        return np.array([[1.0], [-1.0]]), np.array([0.5, 0.5])
    graded = dimension <= 3
    prefix, weights, sines = np.zeros((1, 0)), np.ones(1), np.ones(1)
    for level in range(dimension - 2):
        breaks = {0.0, 0.5 * np.pi, np.pi, *(_circular_cones(dimension, cones) if level == 0 else ())}
        t, w = panels(np.array(sorted(breaks)), nodes, graded)
        w = w * np.sin(t) ** (dimension - 2 - level)
        prefix = np.column_stack([np.repeat(prefix, t.size, axis=0), np.outer(sines, np.cos(t)).ravel()])
        weights, sines = np.outer(weights, w).ravel(), np.outer(sines, np.sin(t)).ravel()
    line, t, w = _circles(prefix, sines, nodes, cones, graded)
    directions = np.column_stack([prefix[line], sines[line] * np.cos(t), sines[line] * np.sin(t)])
    return directions, weights[line] * w


def _chambers(group: Symmetries) -> Iterator[Floats]:
    """One chamber of every orbit of the group, as the unit vectors (D, D) along its edges.

    The chamber s_1 x_p(1) > s_2 x_p(2) > .. > 0 has the edges s_1 e_p(1) + .. + s_k e_p(k), k = 1..D. A signed
    permutation that takes it to itself is the identity, so that all orbits have the group's size.
    """
    dimension = group.dimension
    met: set[tuple[float, ...]] = set()
    for order in permutations(range(dimension)):
        for signs in product((1.0, -1.0), repeat=dimension):
            inside = np.zeros(dimension)
            inside[list(order)] = dimension - np.arange(dimension)
            inside *= signs
            if tuple(inside) not in met:
                met.update(map(tuple, inside[group.orders] * group.signs))
                edges = np.array([np.isin(np.arange(dimension), order[: k + 1]) for k in range(dimension)]) * signs
                yield edges / np.linalg.norm(edges, axis=1, keepdims=True)


def _chamber_rule(edges: Floats, nodes: int, cones: Sequence[Function]) -> tuple[Floats, Floats]:
    """Directions and surface weights on the cone spanned by the edges (D, D), cut where the last line meets a cone.

    Points of the simplex between the edges, x = (1 - s_1) v_1 + s_1 ((1 - s_2) v_2 + s_2 (..)), are projected onto the
    sphere: dx = s_1^(D-2) s_2^(D-3) .. ds |det v|, and a surface element at x is seen from the origin under
    |det v| / |x|^D.
    """
    dimension = len(edges)
    points, weights, rest = np.zeros((1, dimension)), np.ones(1), np.ones(1)
    for level in range(dimension - 2):
        s, w = panels(np.array([0.0, 1.0]), nodes, graded=True)
        points = (points[:, None, :] + (rest[:, None] * (1 - s))[:, :, None] * edges[level]).reshape(-1, dimension)
        weights = np.outer(weights, w * s ** (dimension - 2 - level)).ravel()
        rest = np.outer(rest, s).ravel()

    def on_line(line: Integers, s: Floats) -> Floats:
        return points[line] + rest[line, None] * ((1 - s)[:, None] * edges[-2] + s[:, None] * edges[-1])

    def directions(line: Integers, s: Floats) -> Floats:
        found = on_line(line, s)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    scan = np.concatenate([[1e-7], np.linspace(0, 1, 41)[1:-1], [1 - 1e-7]])
    crossings = crossings_on_lines(cones, directions, len(points), scan, 1.0)
    s, w = panels(cut_edges(np.array([0.0, 1.0]), crossings), nodes, graded=True)
    line, place = np.nonzero(w > 1e-14)
    found = on_line(line, s[line, place])
    sizes = np.linalg.norm(found, axis=1)
    return found / sizes[:, None], weights[line] * w[line, place] / sizes**dimension


def _circular_cones(dimension: int, cones: Sequence[Function]) -> list[float]:
    """Angles t1 at which a function changes sign whatever the other angles are."""
    others = np.random.default_rng(11).standard_normal((8, dimension - 1))
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    breaks: list[float] = []
    for cone in cones:

        def values(line: Integers, angle: Floats, cone: Function = cone) -> Floats:
            return cone(np.column_stack([np.cos(angle), np.sin(angle)[:, None] * others[line]]))

        _, angle = roots_on_lines(values, len(others), np.linspace(0, np.pi, 90) + 1e-3)
        common, counts = np.unique(np.round(angle, 9), return_counts=True)
        breaks += common[counts == len(others)].tolist()
    return breaks


def _circles(
    prefix: Floats, sines: Floats, nodes: int, cones: Sequence[Function], graded: bool
) -> tuple[Integers, Floats, Floats]:
    """The innermost angle on (0, 2 pi) for each prefix, cut at quadrants and where a cone is crossed."""

    def points(line: Integers, angle: Floats) -> Floats:
        return np.column_stack([prefix[line], sines[line] * np.cos(angle), sines[line] * np.sin(angle)])

    # Off the quadrants, which are cut already, but close to both ends: between them nothing is looked at.
    scan = np.concatenate([[1e-7], np.linspace(0, 2 * np.pi, 120)[1:-1] + 1e-3, [2 * np.pi - 1e-7]])
    crossings = crossings_on_lines(cones, points, len(prefix), scan, 2 * np.pi)
    edges = cut_edges(0.5 * np.pi * np.arange(5.0), crossings)
    angle, weight = panels(edges, nodes, graded)
    line, place = np.nonzero(weight > 1e-14)
    return line, angle[line, place], weight[line, place]


def is_cone(surface: Function, dimension: int) -> bool:
    """Whether the sign of the surface's function depends on the direction only."""
    directions = np.random.default_rng(7).standard_normal((64, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    signs = [np.sign(surface(radius * directions)) for radius in _CONE_RADII]
    return all(np.array_equal(signs[0], other) for other in signs[1:])


def polar_rule(surfaces: Sequence[Surface], dimension: int, nodes: int) -> Rule:
    """A rule for N(0, I_dimension) on rays, each cut where it crosses one of the surfaces; angles are cut at the cones.

    Not exact for polynomials, but it converges spectrally for functions that are smooth between surfaces which the
    rays cross transversally; for tilted cones in three or more dimensions see the head of this file.
    """
    cones = [surface.function for surface in surfaces if is_cone(surface.function, dimension)]
    crossing = [surface.function for surface in surfaces if not is_cone(surface.function, dimension)]
    directions, weights = direction_rule(dimension, nodes, cones)
    reach = np.sqrt(dimension) + TAIL

    def points(ray: Integers, radius: Floats) -> Floats:
        return directions[ray] * radius[:, None]

    crossings = crossings_on_lines(crossing, points, len(directions), np.linspace(1e-9, reach, 141), reach)
    edges = cut_edges(np.array([0.0, 0.15, 0.4, 1.0]) * reach, crossings)
    radius, radial = panels(edges, nodes)
    ray, place = np.nonzero(radial > 0)
    radius, radial = radius[ray, place], radial[ray, place] * _chi_density(dimension, radius[ray, place])
    total = weights[ray] * radial
    return Rule(directions[ray] * radius[:, None], total / total.sum())


def _chi_density(dimension: int, radius: Floats) -> Floats:
    """The density of |z|, z ~ N(0, I_dimension)."""
    log_normaliser = (0.5 * dimension - 1) * np.log(2.0) + gammaln(0.5 * dimension)
    return radius ** (dimension - 1) * np.exp(-0.5 * radius**2 - log_normaliser)
