"""Quadrature around many centres at once: rules for z ~ N(centre, L L^T), every line cut where it crosses a kink.

State evolution asks for averages over the field omega that message passing knows, and for each omega over the true
field z ~ N(omega, V). Both are nested rules of `gaussian.quadrature` in coordinates t with z = centre + L t and L lower
triangular: a surface that depends on the first i coordinates of z depends on the first i of t, so that axis i can be
cut where it crosses one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.quadrature import (
    gauss_pieces,
    gaussian_lines,
    pad_by_line,
    roots_on_lines,
    static_breaks,
)
from featlab.targets import Target

REACH = 8.0  # the mass beyond is 1e-15
_SCAN = np.linspace(-REACH, REACH, 49)
FINE_PANELS = (-REACH, -4.0, -2.2, -1.0, 0.0, 1.0, 2.2, 4.0, REACH)
COARSE_PANELS = (-REACH, -2.5, 0.0, 2.5, REACH)
# Of an average over all fields, by their number: nodes on each panel and of smooth axes.
_AVERAGE_NODES = {1: (12, 80), 2: (10, 60), 3: (6, 24), 4: (4, 12)}


@dataclass(frozen=True)
class Cut:
    """A kink: the last coordinate that it depends on, and its places there if it depends on no other."""

    last: int
    static: tuple[float, ...] | None
    function: Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class View:
    """A target with its fields in another order, and its kinks sorted by the last axis that they depend on.

    Attributes:
        order: place i of the view holds field order[i] of the target; empty for the target's own order.
        origin: whether the planes on which a coordinate vanishes count as kinks: many links are critical there.
        level: whether the level set of the origin does: it divides the plane where the origin is a saddle.
    """

    target: Target
    order: tuple[int, ...] = ()
    origin: bool = False
    level: bool = False

    @property
    def dimension(self) -> int:
        return self.target.rank + self.target.hidden

    def link(self, points: Floats) -> Floats:
        """The label at points (..., dimension) of the view."""
        return self.target.link(self._fields(points))

    def _fields(self, points: Floats) -> Floats:
        if not self.order:
            return points
        fields = np.empty_like(points)
        fields[..., self.order] = points
        return fields

    def _above_origin(self, points: Floats) -> Floats:
        """g - g(0), a hair off the origin, where a link such as log|h1| is not finite."""
        return self.link(points) - self.link(np.full((1, self.dimension), 1e-9))[0]

    @cached_property
    def cuts(self) -> tuple[Cut, ...]:
        place = {axis: position for position, axis in enumerate(self.order or range(self.dimension))}
        found = []
        for kink in self.target.kinks:
            alone = len(kink.variables) == 1
            static = tuple(static_breaks([kink], kink.variables[0], self.dimension)) if alone else None

            def function(points: Floats, surface: Callable[[Floats], Floats] = kink.function) -> Floats:
                return surface(self._fields(points))

            found.append(Cut(max(place[variable] for variable in kink.variables), static, function))
        if self.origin:
            found += [Cut(axis, (0.0,), partial(_coordinate, axis)) for axis in range(self.dimension)]
        if self.level:
            found.append(Cut(self.dimension - 1, None, self._above_origin))
        return tuple(found)


def _coordinate(axis: int, points: Floats) -> Floats:
    return points[..., axis]


@dataclass(frozen=True)
class Lines:
    """Partial points: row i belongs to centre `owner[i]`, has coordinates t[i] and weight weights[i]."""

    owner: Integers
    t: Floats
    weights: Floats

    def chosen(self, rows: NDArray[np.bool_], factor: float) -> Lines:
        """Some of the rows, their weights multiplied."""
        return Lines(self.owner[rows], self.t[rows], factor * self.weights[rows])


def lines_through(centres: Floats) -> Lines:
    """One empty row for each centre."""
    count = len(centres)
    return Lines(np.arange(count), np.zeros((count, 0)), np.ones(count))


def extend(
    lines: Lines,
    view: View,
    centres: Floats,
    factor: Floats,
    nodes: int,
    smooth_nodes: int,
    margins: Sequence[float] | None = (),
    panels: Sequence[float] = FINE_PANELS,
) -> Lines:
    """One more coordinate for every row: Gauss-Hermite where no kink is crossed, else panels cut at the crossings.

    Args:
        centres: (O, D); factor: (D, D) lower triangular, z = centre + factor t.
        nodes: on each panel; smooth_nodes: of the Gauss-Hermite rule.
        margins: cuts at these distances on either side of each crossing and of 0, for integrands that vary fast there;
            None for an integrand that is smooth across the kinks.
        panels: edges that are always there.
    """
    axis = lines.t.shape[1]
    if factor[axis, axis] == 0:
        return Lines(lines.owner, np.column_stack([lines.t, np.zeros(len(lines.t))]), lines.weights)
    crossings = crossing_places(lines, view, centres, factor) if margins is not None else np.zeros((len(lines.t), 0))
    if crossings.shape[1] == 0 and not margins:
        x, w = gauss_pieces((), smooth_nodes)
        rows = np.repeat(np.arange(len(lines.t)), x.size)
        return Lines(
            lines.owner[rows],
            np.column_stack([lines.t[rows], np.tile(x, len(lines.t))]),
            np.outer(lines.weights, w).ravel(),
        )
    around = [crossings] if view.origin else [crossings, np.zeros((len(lines.t), 1))]
    cuts = [places + sign * margin for places in around for margin in margins or () for sign in (1, -1)]
    row, x, w = gaussian_lines(panels, np.concatenate([*cuts, crossings], axis=1), nodes, narrowest=2e-12)
    return Lines(lines.owner[row], np.column_stack([lines.t[row], x]), lines.weights[row] * w)


def average(of: Target, function: Callable[[Floats], Floats]) -> float:
    """E[function(z)] over z ~ N(0, I), for a function of fields (N, D) that is smooth between the kinks of a target."""
    view = View(of)
    centres, factor = np.zeros((1, view.dimension)), np.eye(view.dimension)
    lines = lines_through(centres)
    for _ in range(view.dimension):
        lines = extend(lines, view, centres, factor, *_AVERAGE_NODES[view.dimension])
    return float(lines.weights @ function(lines.t) / np.sum(lines.weights))


def crossing_places(lines: Lines, view: View, centres: Floats, factor: Floats) -> Floats:
    """Where the next coordinate of every row crosses a kink: (rows, most), filled up with REACH."""
    count, axis = lines.t.shape
    offset = centres[lines.owner, axis] + lines.t @ factor[axis, :axis]
    found = [np.zeros((count, 0))]
    for cut in view.cuts:
        if cut.last != axis:
            continue
        if cut.static is not None:
            found += [((place - offset) / factor[axis, axis])[:, None] for place in cut.static]
            continue
        known = centres[lines.owner, :axis] + lines.t @ factor[:axis, :axis].T

        def values(row: Integers, position: Floats, cut: Cut = cut, known: Floats = known) -> Floats:
            points = np.zeros((row.size, centres.shape[1]))
            points[:, :axis], points[:, axis] = known[row], offset[row] + factor[axis, axis] * position
            return cut.function(points)

        found.append(pad_by_line(*roots_on_lines(values, count, _SCAN + 1e-7), count, REACH))
    places = np.concatenate(found, axis=1)
    return np.where(np.abs(places) < REACH, places, REACH)


@lru_cache(maxsize=64)
def evenly_spaced(nodes: int) -> tuple[Floats, Floats]:
    """Equally spaced nodes for N(0, 1): the error is exp(-2 pi a / step) for a function with poles at distance a.

    A Gauss-Hermite rule with as many nodes is coarser in the middle, where a softmax turns.
    """
    x: Floats = np.linspace(-7.5, 7.5, nodes)
    w: Floats = np.exp(-0.5 * x * x)
    return x, w / w.sum()
