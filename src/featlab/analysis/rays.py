"""Gaussian space cut into small cells along rays, each with its exact probability and the link's values at its ends.

A point of R^Q is rho u with a direction u uniform on the sphere and a radius rho of law chi_Q. Along a ray the label
is a function of one variable, so the probability that it lies between two values is an exact difference of chi
integrals; only the average over directions is a quadrature, cut where a cone of kinks (such as a coordinate plane)
passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc

from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.quadrature import legendre, pad_by_line, roots_on_lines

_TAIL = 8.5  # radii beyond sqrt(Q) + 8.5 have a probability below 1e-16
_CONE_RADII = (0.3, 1.0, 2.5)

Function = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Cells:
    """Pieces of rays: cell i lies on direction `ray[i]`, has probability mass[i] and E[rho^2; cell] = square[i].

    It begins at radius `start`; the label runs from `first` to `last` along it (almost linearly: cells are short and do
    not contain a jump).
    """

    ray: Integers
    start: Floats
    mass: Floats
    square: Floats
    first: Floats
    last: Floats


def direction_rule(dimension: int, nodes: int, cones: Sequence[Function]) -> tuple[Floats, Floats]:
    """Directions (count, dimension) and weights of a product Gauss rule on the unit sphere, cut at the cones.

    Angles are nested, u = (cos t1, sin t1 cos t2, ...), with breaks at every multiple of pi/2 (the coordinate planes)
    and, on the innermost circle, wherever one of the given functions changes sign.
    """
    if dimension == 1:
        return np.array([[1.0], [-1.0]]), np.array([0.5, 0.5])
    graded = dimension <= 3
    prefix, weights, sines = np.zeros((1, 0)), np.ones(1), np.ones(1)
    for level in range(dimension - 2):
        t, w = _panels(np.array([0.0, 0.5, 1.0]) * np.pi, nodes, graded)
        w = w * np.sin(t) ** (dimension - 2 - level)
        prefix = np.column_stack([np.repeat(prefix, t.size, axis=0), np.outer(sines, np.cos(t)).ravel()])
        weights, sines = np.outer(weights, w).ravel(), np.outer(sines, np.sin(t)).ravel()
    line, t, w = _circles(prefix, sines, nodes, cones, graded)
    directions = np.column_stack([prefix[line], sines[line] * np.cos(t), sines[line] * np.sin(t)])
    weights = weights[line] * w
    return directions, weights / weights.sum()


def _panels(edges: Floats, nodes: int, graded: bool) -> tuple[Floats, Floats]:
    """Gauss-Legendre on each panel between the edges, along the last axis.

    A label such as h1 h2 h3 varies on every scale near the coordinate planes; the graded map s -> s^2 (3 - 2 s), which
    crowds nodes at both ends of a panel, resolves them. It costs accuracy where only a few nodes can be paid for.
    """
    t, w = legendre(nodes)
    s, w = 0.5 * (t + 1), 0.5 * w
    if graded:
        s, w = s * s * (3 - 2 * s), w * 6 * s * (1 - s)
    low, width = edges[..., :-1, None], np.diff(edges, axis=-1)[..., None]
    points, weights = low + width * s, width * w
    return points.reshape(*edges.shape[:-1], -1), weights.reshape(*edges.shape[:-1], -1)


def _circles(
    prefix: Floats, sines: Floats, nodes: int, cones: Sequence[Function], graded: bool
) -> tuple[Integers, Floats, Floats]:
    """The innermost angle on (0, 2 pi) for each prefix, cut at quadrants and where a cone is crossed."""
    lines = len(prefix)
    cuts = [np.broadcast_to(np.arange(5) * 0.5 * np.pi, (lines, 5))]
    for cone in cones:

        def values(line: Integers, angle: Floats, cone: Function = cone) -> Floats:
            circle = sines[line, None] * np.column_stack([np.cos(angle), np.sin(angle)])
            return cone(np.column_stack([prefix[line], circle]))

        scan = np.linspace(0, 2 * np.pi, 120) + 1e-3  # off the quadrants, which are cut already
        cuts.append(pad_by_line(*roots_on_lines(values, lines, scan[:-1]), lines, 2 * np.pi))
    edges = np.sort(np.concatenate(cuts, axis=1), axis=1)
    angle, weight = _panels(edges, nodes, graded)
    line, place = np.nonzero(weight > 1e-14)
    return line, angle[line, place], weight[line, place]


def is_cone(surface: Function, dimension: int) -> bool:
    """Whether the sign of the surface's function depends on the direction only."""
    directions = np.random.default_rng(7).standard_normal((64, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    signs = [np.sign(surface(radius * directions)) for radius in _CONE_RADII]
    return all(np.array_equal(signs[0], other) for other in signs[1:])


def cut_into_cells(link: Function, jumps: Sequence[Function], directions: Floats, weights: Floats, steps: int) -> Cells:
    """Cells of every ray: `steps` of equal length, those that a jump crosses cut in two at the crossing."""
    count, dimension = directions.shape
    radii = np.linspace(0.0, np.sqrt(dimension) + _TAIL, steps + 1)
    radii[0] = 1e-9  # not the origin itself, where a link such as log|h| is not finite
    ray = np.repeat(np.arange(count), steps)
    low, high = np.tile(radii[:-1], count), np.tile(radii[1:], count)
    values = _on_rays(link, directions, np.repeat(np.arange(count), steps + 1), np.tile(radii, count))
    values = values.reshape(count, steps + 1)
    first, last = values[:, :-1].ravel(), values[:, 1:].ravel()
    for jump in jumps:
        ray, low, high, first, last = _cut_at(jump, link, directions, ray, low, high, first, last)
    mass, square = _chi_moments(dimension, low, high)
    return Cells(ray, low, weights[ray] * mass, weights[ray] * square, first, last)


def _on_rays(function: Function, directions: Floats, ray: Integers, radius: Floats) -> Floats:
    return function(directions[ray] * radius[:, None])


def _cut_at(
    jump: Function,
    link: Function,
    directions: Floats,
    ray: Integers,
    low: Floats,
    high: Floats,
    first: Floats,
    last: Floats,
) -> tuple[Integers, Floats, Floats, Floats, Floats]:
    """Cut the cells in which `jump` changes sign, and read the label on either side of the crossing."""
    sign_low = np.sign(_on_rays(jump, directions, ray, low))
    crossed = np.nonzero(sign_low * np.sign(_on_rays(jump, directions, ray, high)) < 0)[0]
    if crossed.size == 0:
        return ray, low, high, first, last
    left, right, on = low[crossed].copy(), high[crossed].copy(), ray[crossed]
    for _ in range(48):
        middle = 0.5 * (left + right)
        before = np.sign(_on_rays(jump, directions, on, middle)) == sign_low[crossed]
        left, right = np.where(before, middle, left), np.where(before, right, middle)
    # A hair off the surface on either side: at the surface itself the label may take a third value (sign(0) = 0).
    left, right = left - 1e-9, right + 1e-9
    outer, outer_last = high[crossed].copy(), last[crossed].copy()
    high, last = high.copy(), last.copy()
    high[crossed], last[crossed] = left, _on_rays(link, directions, on, left)
    beyond = _on_rays(link, directions, on, right)
    return (
        np.concatenate([ray, on]),
        np.concatenate([low, left]),
        np.concatenate([high, outer]),
        np.concatenate([first, beyond]),
        np.concatenate([last, outer_last]),
    )


def _chi_moments(dimension: int, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """P(low < rho < high) and E[rho^2; low < rho < high] for rho ~ chi_dimension: incomplete gamma differences."""

    def between(shape: float) -> Floats:
        return gammainc(shape, 0.5 * high**2) - gammainc(shape, 0.5 * low**2)

    return between(0.5 * dimension), dimension * between(0.5 * dimension + 1)
