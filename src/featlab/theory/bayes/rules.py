"""Quadrature around many centres at once: rules for z ~ N(centre, L L^T), every line cut where it crosses a kink.

State evolution asks for averages over the field omega that message passing knows, and for each omega over the true
field z ~ N(omega, V). Both are nested rules of `gaussian.quadrature` in coordinates t with z = centre + L t and L lower
triangular: a surface that depends on the first i coordinates of z depends on the first i of t, so that axis i can be
cut where it crosses one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.matrices import triangular_root
from featlab.gaussian.quadrature import (
    Surface,
    ZeroSet,
    crossings_on_lines,
    gauss_pieces,
    gaussian_density,
    gaussian_lines,
    moved_surfaces,
    static_breaks,
)
from featlab.targets import Target
from featlab.theory.bayes.symmetry import Fold, fold

REACH = 8.0  # the mass beyond is 1e-15
_SCAN = np.linspace(-REACH, REACH, 49) + 1e-7
FINE_PANELS = (-REACH, -4.0, -2.2, -1.0, 0.0, 1.0, 2.2, 4.0, REACH)
COARSE_PANELS = (-REACH, -2.5, 0.0, 2.5, REACH)
SIX_PANELS = (-6.0, -3.4, -1.8, 0.0, 1.8, 3.4, 6.0)  # with three nodes each, E[t^2] is 1.5e-4 off
# Of an average over all fields, by their number: nodes on each panel and of smooth axes.
_AVERAGE_NODES = {1: (12, 80), 2: (10, 60), 3: (6, 24), 4: (4, 12)}
# Of omega, by rank: cuts at these multiples of the deviation of z given omega around each kink, nodes on each panel.
_KNOWN_MARGINS = {1: (0.5, 1.5, 4.0), 2: (0.5, 1.5, 4.0), 3: (1.5,), 4: (1.5,)}
_KNOWN_NODES = {1: 6, 2: 4, 3: 3, 4: 2}
_FOUR_PANELS = (-6.0, -2.5, 0.0, 2.5, 6.0)
_KNOWN_PANELS = {1: FINE_PANELS, 2: FINE_PANELS, 3: _FOUR_PANELS, 4: _FOUR_PANELS}
_KNOWN_SMOOTH_NODES = {1: 24, 2: 14, 3: 10, 4: 6}
# With q <= 0.3 the law given omega is smooth on omega's own scale and a Gauss-Hermite rule does.
_SMOOTH_BELOW = 0.3
_CHUNK = 400_000


@dataclass(frozen=True, eq=False)
class View:
    """A target with its fields in another order, and the surfaces on which averages over them are rough.

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
        if not self.order:
            return self.target.link(points)
        fields = np.empty_like(points)
        fields[..., self.order] = points
        return self.target.link(fields)

    def _above_origin(self, points: Floats) -> Floats:
        """g - g(0), a hair off the origin, where a link such as log|h1| is not finite."""
        return self.link(points) - self.link(np.full((1, self.dimension), 1e-9))[0]

    @cached_property
    def _surfaces(self) -> list[Surface]:
        axes, found = range(self.dimension), list[Surface](self.target.kinks)
        if self.order:
            found = moved_surfaces(found, np.zeros(self.dimension), np.eye(self.dimension)[:, self.order])
        if self.origin:
            found += [ZeroSet((axis,), partial(np.take, indices=axis, axis=-1)) for axis in axes]
        return [*found, ZeroSet(tuple(axes), self._above_origin)] if self.level else found

    @cached_property
    def breaks(self) -> list[list[float]]:
        """For each axis the places of the kinks that depend on it alone."""
        return [static_breaks(self._surfaces, axis, self.dimension) for axis in range(self.dimension)]

    def crossing(self, axis: int) -> list[Callable[[Floats], Floats]]:
        """The functions of the other kinks whose last coordinate this is."""
        return [s.function for s in self._surfaces if len(s.variables) > 1 and max(s.variables) == axis]


@dataclass(frozen=True)
class Lines:
    """Partial points: row i belongs to centre `owner[i]`, has coordinates t[i] and weight weights[i]."""

    owner: Integers
    t: Floats
    weights: Floats

    def chosen(self, rows: NDArray[np.bool_], factor: float) -> Lines:
        """Some of the rows, their weights multiplied."""
        return Lines(self.owner[rows], self.t[rows], factor * self.weights[rows])

    def extended(self, rows: Integers, x: Floats, weights: Floats) -> Lines:
        """One more coordinate: x[i] after row rows[i], with its weight."""
        return Lines(self.owner[rows], np.column_stack([self.t[rows], x]), self.weights[rows] * weights)


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates t with z = centre + factor t for centres (O, D) and factor (D, D), lower triangular."""

    view: View
    centres: Floats
    factor: Floats

    def parts(self, each: int) -> Iterator[Frame]:
        """The same for some centres at a time, if a centre takes so many rows."""
        count = len(self.centres)
        for centres in np.array_split(self.centres, max(1, count * each // _CHUNK)):
            yield replace(self, centres=centres)

    def fields(self, owner: Integers, t: Floats) -> Floats:
        """z at coordinates t (N, D) or, the last ones being 0, fewer."""
        return self.centres[owner] + t @ self.factor[:, : t.shape[1]].T

    def lines(
        self,
        axes: int,
        nodes: int,
        smooth_nodes: int,
        margins: Sequence[float] | None = (),
        panels: Sequence[float] = FINE_PANELS,
    ) -> Lines:
        """A rule for the first coordinates of every centre; the arguments are those of `extend`."""
        lines = self.nothing
        for _ in range(axes):
            lines = self.extend(lines, nodes, smooth_nodes, margins, panels)
        return lines

    @property
    def nothing(self) -> Lines:
        """One row without coordinates for each centre."""
        count = len(self.centres)
        return Lines(np.arange(count), np.zeros((count, 0)), np.ones(count))

    def extend(
        self,
        lines: Lines,
        nodes: int,
        smooth_nodes: int,
        margins: Sequence[float] | None = (),
        panels: Sequence[float] = FINE_PANELS,
    ) -> Lines:
        """One more coordinate for every row: Gauss-Hermite where no kink is crossed, else panels cut at the crossings.

        Args:
            nodes: on each panel; smooth_nodes: of the Gauss-Hermite rule.
            margins: cuts at these distances on either side of each crossing and of 0, for integrands that vary fast
                there; None for an integrand that is smooth across the kinks.
            panels: edges that are always there.
        """
        count, axis = lines.t.shape
        if self.factor[axis, axis] == 0:
            return lines.extended(np.arange(count), np.zeros(count), np.ones(count))
        crossings = np.zeros((count, 0)) if margins is None else self.crossings(lines)
        if crossings.shape[1] == 0 and not margins:
            x, w = gauss_pieces((), smooth_nodes)
            return lines.extended(np.repeat(np.arange(count), x.size), np.tile(x, count), np.tile(w, count))
        around = [crossings] if self.view.origin else [crossings, np.zeros((count, 1))]
        cuts = [places + sign * margin for places in around for margin in margins or () for sign in (1, -1)]
        found = gaussian_lines(panels, np.concatenate([*cuts, crossings], axis=1), nodes, narrowest=2e-12)
        return lines.extended(*found)

    def crossings(self, lines: Lines) -> Floats:
        """Where the next coordinate of every row crosses a kink: (rows, most), filled up with REACH."""
        count, axis = lines.t.shape
        start, step = self.fields(lines.owner, lines.t), self.factor[axis, axis]

        def points(row: Integers, position: Floats) -> Floats:
            found = start[row]
            found[:, axis] += step * position
            return found

        fixed = (np.array(self.view.breaks[axis]) - start[:, axis, None]) / step
        curved = crossings_on_lines(self.view.crossing(axis), points, count, _SCAN, REACH)
        places = np.concatenate([fixed, curved], axis=1)
        return np.where(np.abs(places) < REACH, places, REACH)


def frame_given(view: View, omega: Floats, overlap: Floats) -> Frame:
    """The frame of z ~ N(omega, I - Q) for many omega (O, r); noise variables inside the link are N(0, 1)."""
    rank, order = len(overlap), list(view.order or range(view.dimension))
    covariance, centres = np.eye(view.dimension), np.zeros((len(omega), view.dimension))
    covariance[:rank, :rank] -= overlap
    centres[:, :rank] = omega
    return Frame(view, centres[:, order], triangular_root(covariance[np.ix_(order, order)], scale=1.0))


@dataclass(frozen=True)
class Known:
    """Nodes omega (O, r) of N(0, Q) in one cell of the symmetry group, with weights that sum to 1."""

    omega: Floats
    weights: Floats
    fold: Fold

    def above(self, least: float) -> Known:
        """The nodes of larger weight."""
        kept = self.weights > least
        return Known(self.omega[kept], self.weights[kept] / self.weights[kept].sum(), self.fold)

    def mean(self, matrices: Floats) -> Floats:
        """E of matrices (O, r, r), averaged over the symmetry group too."""
        return self.fold.average(np.tensordot(self.weights, matrices, axes=1))


def known_fields(
    target: Target, overlap: Floats, *, smooth: bool = True, nodes: Mapping[int, int] = _KNOWN_NODES
) -> Known:
    """A rule for omega ~ N(0, Q), with nodes where the label's law changes fast.

    For a nearly perfect overlap the labels tell something new only within sqrt(1 - q) of the kinks (and of the origin,
    where many links are critical): panels are graded there in units of the deviation of z given omega.

    Args:
        smooth: whether the integrand is smooth in omega, being an average over z; otherwise every axis is cut.
        nodes: on each panel, by the number of axes on which omega varies.
    """
    rank = target.rank
    view = View(target)
    group = fold(target, overlap)
    factor = np.zeros((view.dimension, view.dimension))
    factor[:rank, :rank] = triangular_root(overlap, scale=1.0)
    frame = Frame(view, np.zeros((1, view.dimension)), factor)
    lines = frame.nothing
    live = max(1, int(np.count_nonzero(np.diag(factor))))
    for axis in range(rank):
        margins: tuple[float, ...] | None = None if smooth else ()
        if factor[axis, axis] ** 2 > _SMOOTH_BELOW:
            deviation = np.sqrt(max(1 - overlap[axis, axis], 1e-12)) / factor[axis, axis]
            margins = tuple(margin * deviation for margin in _KNOWN_MARGINS[live] if margin * deviation < 3)
        lines = frame.extend(lines, nodes[live], _KNOWN_SMOOTH_NODES[live], margins, _KNOWN_PANELS[live])
        if axis in group.halved and factor[axis, axis] > 0:
            lines = lines.chosen(lines.t[:, axis] > 0, 2.0)
    omega = lines.t @ factor[:rank, :rank].T
    return Known(omega, lines.weights / lines.weights.sum(), group)


def average(of: Target, function: Callable[[Floats], Floats]) -> float:
    """E[function(z)] over z ~ N(0, I), for a function of fields (N, D) that is smooth between the kinks of a target."""
    view = View(of)
    frame = Frame(view, np.zeros((1, view.dimension)), np.eye(view.dimension))
    lines = frame.lines(view.dimension, *_AVERAGE_NODES[view.dimension])
    return float(lines.weights @ function(lines.t) / np.sum(lines.weights))


def omega_given(z: Floats, q: float) -> tuple[Floats, Floats]:
    """Nodes omega (Z, T) given the true field z (Z,), omega | z ~ N(q z, q (1 - q)), and their weights (T,).

    Equally spaced: the error is exp(-2 pi a / step) for a function with poles at distance a, while a Gauss-Hermite rule
    with as many nodes is coarser in the middle, where a softmax turns.
    """
    tau, weights = standard_nodes(q)
    return q * z[:, None] + np.sqrt(q * (1 - q)) * tau, weights


def standard_nodes(q: float) -> tuple[Floats, Floats]:
    """Nodes tau = (omega - q z) / sqrt(q (1 - q)) and their weights; one where omega does not vary."""
    if q == 0:
        return np.zeros(1), np.ones(1)
    tau = np.linspace(-7.5, 7.5, 51)
    weights = gaussian_density(tau)
    return tau, weights / weights.sum()
