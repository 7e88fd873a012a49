"""Integration against the standard Gaussian that is exact for kinked and discontinuous functions.

Gauss-Hermite nodes know nothing of a jump: with 200 of them E[sign(z) z] is wrong in the third digit. Here the line is
cut at the kinks and every piece gets its own Gauss rule for the Gaussian density restricted to it, so that piecewise
polynomials are integrated exactly. In several dimensions the same is done axis by axis: axis i is cut where a surface
{K = 0} that depends on the axes up to i crosses the line through the point reached so far.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import pairwise
from typing import Protocol

import numpy as np

from featlab.gaussian.hermite import Floats, Integers

# Beyond nine standard deviations lies a mass of 2e-19: less than rounding, so breaks out there are no breaks.
REACH = 9.0
_SCAN = np.linspace(-REACH, REACH, 181)
_HALVINGS = 52
_LOOK, _MOST_PARTS = 2048, 32


class Surface(Protocol):
    """A hypersurface {function = 0} on which an integrand may be rough."""

    @property
    def variables(self) -> tuple[int, ...]: ...

    @property
    def function(self) -> Callable[[Floats], Floats]: ...


@dataclass(frozen=True)
class ZeroSet:
    """The surface on which a function of points (..., dimension) vanishes; it depends on these coordinates only."""

    variables: tuple[int, ...]
    function: Callable[[Floats], Floats]


def moved_surfaces(surfaces: Sequence[Surface], offset: Floats, matrix: Floats) -> list[Surface]:
    """The surfaces in coordinates z with fields = offset + matrix z, offset (D,), matrix (D, E).

    A surface that depends on no coordinate any more cuts nothing and is left out.
    """
    found: list[Surface] = []
    for surface in surfaces:

        def function(z: Floats, function: Callable[[Floats], Floats] = surface.function) -> Floats:
            return function(offset + z @ matrix.T)

        moving = np.flatnonzero(np.any(matrix[list(surface.variables)] != 0, axis=0))
        if moving.size:
            found.append(ZeroSet(tuple(moving.tolist()), function))
    return found


@dataclass(frozen=True)
class Rule:
    """Points (N, D) and weights (N,) with sum of weights times f(points) = E[f(z)], z ~ N(0, I_D)."""

    points: Floats
    weights: Floats

    def mean(self, values: Floats) -> Floats:
        """E of values given along the first axis."""
        return np.tensordot(self.weights, values, axes=1)

    def times(self, x: Floats, weights: Floats) -> Rule:
        """The product with a rule in one more variable, which runs fastest."""
        points = np.column_stack([np.repeat(self.points, x.size, axis=0), np.tile(x, len(self.points))])
        return Rule(points, np.outer(self.weights, weights).ravel())


def product_rule(axes: Iterable[tuple[Floats, Floats]]) -> Rule:
    """The product of rules (points, weights) in one variable each."""
    return reduce(lambda rule, axis: rule.times(*axis), axes, Rule(np.zeros((1, 0)), np.ones(1)))


def gaussian_density(x: Floats) -> Floats:
    """phi(x) = exp(-x^2 / 2) / sqrt(2 pi)."""
    return np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)


@lru_cache(maxsize=64)
def legendre(nodes: int) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights on [-1, 1]: exact for polynomials of degree <= 2 nodes - 1."""
    return np.polynomial.legendre.leggauss(nodes)


def panels(edges: Floats, nodes: int, graded: bool = False) -> tuple[Floats, Floats]:
    """Gauss-Legendre on each panel between the increasing edges (..., E): points and weights (..., (E - 1) nodes).

    Exact for the integral over [first edge, last edge] of functions that are polynomials of degree <= 2 nodes - 1 on
    every panel. A panel of no length has weights 0.

    Args:
        graded: crowd nodes at both ends of each panel by the map s -> s^2 (3 - 2 s) of [0, 1], which resolves functions
            that vary on every scale there, such as h1 h2 h3 near the coordinate planes; then no polynomial is exact.
    """
    t, w = legendre(nodes)
    if graded:
        s = 0.5 * (t + 1)
        t, w = 2 * s * s * (3 - 2 * s) - 1, 6 * w * s * (1 - s)
    half = 0.5 * np.diff(edges, axis=-1)[..., None]
    points = 0.5 * (edges[..., 1:] + edges[..., :-1])[..., None] + half * t
    shape = (*edges.shape[:-1], -1)
    return points.reshape(shape), (half * w).reshape(shape)


def gaussian_panels(edges: Floats, nodes: int) -> tuple[Floats, Floats]:
    """The same with the density of N(0, 1) in the weights, for functions that are smooth on every panel.

    The mass outside of the edges is missing, and the density itself is integrated with the error of the rule: 1e-12
    with 8 nodes on panels of length 1.
    """
    points, weights = panels(edges, nodes)
    return points, weights * gaussian_density(points)


def cut_edges(fixed: Sequence[float] | Floats, crossings: Floats) -> Floats:
    """Edges of panels on many lines (..., E + K): the fixed ones (E,), and each line's own crossings (..., K).

    A crossing beyond the first or the last of the fixed edges is put there, where it bounds an empty panel.
    """
    everywhere = np.broadcast_to(fixed, (*crossings.shape[:-1], len(fixed)))
    return np.sort(np.concatenate([everywhere, np.clip(crossings, fixed[0], fixed[-1])], axis=-1), axis=-1)


def gaussian_lines(
    fixed: Sequence[float] | Floats, crossings: Floats, nodes: int, narrowest: float = 0.0
) -> tuple[Integers, Floats, Floats]:
    """Line numbers, positions and weights of `gaussian_panels` on many lines, each cut at its own crossings (L, K).

    Args:
        fixed: edges that every line has; the first and the last are its ends.
        narrowest: panels that are not wider are left out.
    """
    edges = cut_edges(fixed, crossings)
    points, weights = gaussian_panels(edges, nodes)
    line, place = np.nonzero(np.repeat(np.diff(edges, axis=1) > narrowest, nodes, axis=1))
    return line, points[line, place], weights[line, place]


@lru_cache(maxsize=512)
def gauss_segment(low: float, high: float, nodes: int) -> tuple[Floats, Floats]:
    """The Gauss rule of the N(0, 1) density restricted to [low, high]; weights sum to the segment's mass.

    Statement: exact for polynomials of degree <= 2 nodes - 1 on the segment. The three-term recurrence comes from a
    discretised Stieltjes procedure with full reorthogonalisation, nodes and weights from Golub and Welsch (1969).
    """
    if high <= 0 or (low == -np.inf and high < np.inf):  # mirror: rules on either side of 0 are exact mirror images
        x, w = gauss_segment(-high, -low, nodes)
        return -x[::-1], w[::-1]
    reach = REACH + 2.0 * np.sqrt(nodes)  # where a polynomial of degree 2 nodes has died out under the density
    edges = np.linspace(max(low, -reach), min(high, reach), 25)
    grid, measure = gaussian_panels(edges, 40)
    mass = measure.sum()
    basis = np.empty((nodes, grid.size))
    basis[0] = np.sqrt(measure / mass)
    diagonal, off_diagonal = np.empty(nodes), np.empty(max(nodes - 1, 0))
    for k in range(nodes):
        residual = grid * basis[k]
        diagonal[k] = basis[k] @ residual
        if k + 1 == nodes:
            break
        for _ in range(2):
            residual -= basis[: k + 1].T @ (basis[: k + 1] @ residual)
        off_diagonal[k] = np.linalg.norm(residual)
        basis[k + 1] = residual / off_diagonal[k]
    jacobi = np.diag(diagonal) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1)
    x = np.asarray(np.linalg.eigvalsh(jacobi), dtype=np.float64)
    return x, mass / _christoffel(x, diagonal, off_diagonal)


def _christoffel(x: Floats, diagonal: Floats, off_diagonal: Floats) -> Floats:
    """sum_k p_k(x)^2 over the orthonormal polynomials of the recurrence; its inverse at a node is the node's weight.

    Unlike the squared eigenvector entries this is accurate for the tiny outer weights, which high degrees magnify.
    """
    below: Floats = np.zeros_like(x)
    here: Floats = np.ones_like(x)
    total = np.ones_like(x)
    for k, off in enumerate(off_diagonal):
        behind = off_diagonal[k - 1] if k else 0.0
        below, here = here, ((x - diagonal[k]) * here - behind * below) / off
        total += here**2
    return total


def gauss_pieces(breaks: Sequence[float], nodes: int) -> tuple[Floats, Floats]:
    """A composite rule for N(0, 1): `nodes` Gauss points on each piece between the breaks (and the two outer ends).

    Exact for functions that are polynomials of degree <= 2 nodes - 1 on every piece. Breaks beyond nine standard
    deviations are left out. Weights sum to 1.

    Examples:
        >>> from featlab.gaussian import gauss_pieces
        >>> nodes, weights = gauss_pieces([0.0], nodes=8)
        >>> round(float(weights @ abs(nodes)), 10)  # sqrt(2/pi)
        0.7978845608
    """
    inner = sorted({float(b) for b in breaks if abs(b) < REACH})
    ends = [-np.inf, *inner, np.inf]
    pieces = [gauss_segment(low, high, nodes) for low, high in pairwise(ends)]
    return np.concatenate([x for x, _ in pieces]), np.concatenate([w for _, w in pieces])


def with_coordinate(points: Floats, axis: int, position: Floats) -> Floats:
    """The points (N, D) with their coordinate on `axis` replaced."""
    found = points.copy()
    found[:, axis] = position
    return found


def roots_on_lines(values: Callable[[Integers, Floats], Floats], lines: int, scan: Floats) -> tuple[Integers, Floats]:
    """Sign changes of a function along many lines at once, by a scan and then by halves; by more parts where lines are
    few, as a look at some hundred places takes hardly longer than at one.

    Args:
        values: values(line numbers (m,), positions (m,)) -> (m,).
        lines: how many lines.
        scan: increasing positions at which every line is looked at first; two roots within one step are missed.

    Returns:
        (line numbers, positions) of the roots, to float precision.
    """
    all_lines = np.repeat(np.arange(lines), scan.size)
    found = values(all_lines, np.tile(scan, lines)).reshape(lines, scan.size)
    sign = np.sign(found)
    line, step = np.nonzero(sign[:, :-1] * sign[:, 1:] < 0)
    low, high, sign_low = scan[step], scan[step + 1], sign[line, step, None]
    parts = int(np.clip(_LOOK // max(line.size, 1), 2, _MOST_PARTS))
    rows, marks, inside = np.arange(line.size), np.arange(parts + 1) / parts, np.repeat(line, parts - 1)
    for _ in range(math.ceil(_HALVINGS / math.log2(parts)) if line.size else 0):
        edges = low[:, None] + (high - low)[:, None] * marks
        ahead = np.sign(values(inside, edges[:, 1:-1].ravel())).reshape(line.size, -1) == sign_low
        part = np.logical_and.accumulate(ahead, axis=1).sum(axis=1)  # the first that ends behind a sign change
        low, high = edges[rows, part], edges[rows, part + 1]
    # A zero exactly on the scan is a root only if it stands alone: a function may vanish on a whole region.
    zero = np.pad(sign == 0, ((0, 0), (1, 1)))
    exact_line, exact_step = np.nonzero(zero[:, 1:-1] & ~zero[:, :-2] & ~zero[:, 2:])
    return np.concatenate([line, exact_line]), np.concatenate([0.5 * (low + high), scan[exact_step]])


def static_breaks(surfaces: Sequence[Surface], axis: int, dimension: int) -> list[float]:
    """The places where surfaces that depend on this axis alone cut it."""
    breaks: list[float] = []
    for surface in surfaces:
        if surface.variables == (axis,):

            def values(_: Integers, position: Floats, surface: Surface = surface) -> Floats:
                return surface.function(with_coordinate(np.zeros((position.size, dimension)), axis, position))

            breaks.extend(roots_on_lines(values, 1, _SCAN)[1].tolist())
    return sorted(set(np.round(breaks, 12).tolist()))


def nested_rule(
    surfaces: Sequence[Surface], dimension: int, nodes: int, extra_breaks: Sequence[float] = (0.0,)
) -> Rule:
    """A rule for N(0, I_dimension) whose lines are cut wherever they cross one of the surfaces.

    Axis i is cut at the static breaks (surfaces {K(z_i) = 0}) and, line by line, at the crossings of the surfaces that
    depend on z_i and on earlier axes only. With static breaks alone this is a tensor product, exact for piecewise
    polynomials of degree <= 2 nodes - 1 in each variable; otherwise it converges spectrally where the crossings
    depend smoothly on the point (not at tangencies).

    Args:
        surfaces: where the integrand is rough.
        nodes: Gauss points on each piece of a line.
        extra_breaks: cuts on every axis besides the surfaces'; 0 resolves functions that are steep at the origin.

    Examples:
        >>> from featlab.gaussian import nested_rule
        >>> rule = nested_rule([], dimension=2, nodes=4)
        >>> round(float(rule.weights @ (rule.points**2).sum(1)), 10)
        2.0
    """
    rule = Rule(np.zeros((1, 0)), np.ones(1))
    for axis in range(dimension):
        breaks = [*extra_breaks, *static_breaks(surfaces, axis, dimension)]
        crossing = [s.function for s in surfaces if len(s.variables) > 1 and max(s.variables) == axis]
        if not crossing:
            rule = rule.times(*gauss_pieces(breaks, nodes))
            continue
        known = np.pad(rule.points, ((0, 0), (0, dimension - axis)))

        def points(line: Integers, position: Floats, known: Floats = known, axis: int = axis) -> Floats:
            return with_coordinate(known[line], axis, position)

        crossings = crossings_on_lines(crossing, points, len(known), _SCAN, REACH)
        line, x, w = gaussian_lines(sorted({-REACH, -3.0, *breaks, 3.0, REACH}), crossings, nodes)
        rule = Rule(np.column_stack([rule.points[line], x]), rule.weights[line] * w)
    return rule


def crossings_on_lines(
    functions: Iterable[Callable[[Floats], Floats]],
    points: Callable[[Integers, Floats], Floats],
    lines: int,
    scan: Floats,
    fill: float,
) -> Floats:
    """Where each line crosses the zero sets of functions of points: (lines, most), short rows filled up.

    Args:
        points: points(line numbers (m,), positions (m,)) -> (m, dimension); scan: as in `roots_on_lines`.
    """
    found = [np.zeros((lines, 0))]
    for function in functions:

        def values(line: Integers, position: Floats, function: Callable[[Floats], Floats] = function) -> Floats:
            return function(points(line, position))

        found.append(pad_by_line(*roots_on_lines(values, lines, scan), lines, fill))
    return np.concatenate(found, axis=1)


def pad_by_line(line: Integers, position: Floats, lines: int, fill: float) -> Floats:
    """Ragged positions as a (lines, most) array, short rows filled up."""
    place = places_in_rows(line, lines)
    padded = np.full((lines, int(place.max(initial=-1)) + 1), fill)
    padded[line, place] = position
    return padded


def places_in_rows(row: Integers, rows: int) -> Integers:
    """For entries that belong to these rows, the how-manieth of its row each is, from 0 on."""
    order = np.argsort(row, kind="stable")
    starts = np.cumsum(np.bincount(row, minlength=rows))
    place = np.empty(row.size, dtype=np.intp)
    place[order] = np.arange(row.size) - np.append(0, starts)[row[order]]
    return place
