"""Where a target takes a given label: level sets cut out of parallel lines, so that message passing can sum over them.

Everything that Bayes-AMP and its state evolution need of a target is the partition function

    Z(y, omega, V) = int P(y | z) N(z; omega, V) dz

and its gradient in omega. It becomes a finite sum:

* A label y of the continuous part of the law. By the coarea formula, with a partition of unity chi_1 + .. + chi_D = 1,

      int delta(y - g(z)) f(z) dz = sum_i  int dz_(other axes)  sum_(roots on the line along i)  chi_i f / |d_i g|.

  With chi_i = |d_i g|^4 / sum_j |d_j g|^4 the weight vanishes where a line only touches the level set, and stretches
  of the level set that run along one axis are seen by the lines along another.
* An atom, a label with positive probability: whole segments of lines, where the Gaussian integral is a difference of
  error functions.
* Noise inside the link or on the label leaves points z with weights P(y | z).

For one direction without noise there is a single line and the sum is exact for every V. Otherwise the lines stand on
the nodes of a Gauss rule on panels cut at the kinks: Z holds while no standard deviation of V is below `resolution`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from featlab.analysis.label_law import LabelLaw, label_law
from featlab.analysis.pieces import REACH, Pieces, invert, monotone_pieces
from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.quadrature import (
    gaussian_density,
    panels,
    places_in_rows,
    product_rule,
    static_breaks,
    with_coordinate,
)
from featlab.targets import Target

# By the number of coordinates across a line: the smallest standard deviation of V that the panels resolve by default,
# and at how many places a line is looked at.
RESOLUTION = {0: 0.0, 1: 0.05, 2: 0.25, 3: 0.7}
_SCAN = {0: 1501, 1: 241, 2: 121, 3: 61}
_NODES_PER_PANEL, _GRADED_NODES = 8, 4
_PANEL_IN_DEVIATIONS = 4.0
_PARTITION_POWER = 4
_STEP = 1e-5


@dataclass(frozen=True)
class Fibres:
    """Z(y_i, omega, V) = sum_k exp(log_weights[i, k]) W_ik, one row i for each label.

    W_ik = N(base; omega, V) for a point, where low = high = 0, and otherwise the integral of
    N(base + s direction; omega, V) over low < s < high.

    Attributes:
        direction: (r,) unit vector along the segments.
        base: (n, K, r).
        low, high: (n, K).
        log_weights: (n, K); -inf in the places that only fill up a row.
    """

    direction: Floats
    base: Floats
    low: Floats
    high: Floats
    log_weights: Floats

    @property
    def is_point(self) -> NDArray[np.bool_]:
        return self.low == self.high

    def rows(self, chosen: NDArray[Any]) -> Fibres:
        """Those of some labels, by their numbers or by a mask."""
        return Fibres(self.direction, self.base[chosen], self.low[chosen], self.high[chosen], self.log_weights[chosen])


@dataclass(frozen=True)
class Entries:
    """Single terms of Z, in any order: that of label number `label`, and the rest as in `Fibres`."""

    label: Integers
    base: Floats
    low: Floats
    high: Floats
    log_weights: Floats

    def chosen(self, rows: NDArray[np.bool_]) -> Entries:
        """Some of them."""
        return Entries(*(column[rows] for column in vars(self).values()))


def as_rows(parts: Sequence[Entries], labels: int, along: Floats) -> Fibres:
    """The terms of each label in a row of its own."""
    every = Entries(*(np.concatenate(column) for column in zip(*(vars(part).values() for part in parts), strict=True)))
    place = places_in_rows(every.label, labels)
    shape = (labels, int(place.max(initial=0)) + 1)
    rows = Fibres(along, np.zeros((*shape, len(along))), np.zeros(shape), np.zeros(shape), np.full(shape, -np.inf))
    for name in ("base", "low", "high", "log_weights"):
        getattr(rows, name)[every.label, place] = getattr(every, name)
    return rows


@dataclass(frozen=True)
class Lines:
    """Parallel lines along an axis of the fields' space.

    Attributes:
        points: (L, D), zero on the axis.
        weights: (L,), Lebesgue in the directions, Gaussian in the noise inside the link.
    """

    axis: int
    points: Floats
    weights: Floats
    pieces: Pieces

    def takes(self, labels: Floats) -> NDArray[np.bool_]:
        """Whether each piece, (P,), takes a label, (..., P) or (..., 1), somewhere on its way."""
        pieces = self.pieces
        least, most = np.minimum(pieces.first, pieces.last), np.maximum(pieces.first, pieces.last)
        return (least < labels) & (labels < most) & (pieces.atom < 0)


@dataclass(frozen=True, eq=False)
class LevelSets:
    """The level sets of a target, as `level_sets` builds them; `at(labels)` gives what Z is summed over.

    Attributes:
        law: which labels are atoms.
        resolution: Z holds while no standard deviation of V is smaller; 0 when exact.
        edges: distances from 0 between which lines are laid instead, if any.
    """

    target: Target
    law: LabelLaw
    resolution: float
    edges: tuple[float, ...] = ()

    def at(self, labels: Floats) -> Fibres:
        """What Z(y, omega, V) is summed over, for every label y of the array."""
        labels = np.asarray(labels, dtype=float)
        if self.target.noise > 0:
            return self._noisy(labels)
        atom = self.law.atom_of(labels)
        parts = []
        for axis in range(self._dimension) if self.law.continuous else ():
            lines = self._lines_along(axis)
            label, piece = np.nonzero(lines.takes(labels[:, None]) & (atom < 0)[:, None])
            found = points(self.target, lines, piece, label, labels)
            parts.append(found.chosen(np.isfinite(found.log_weights)))
        if self.law.atoms.size:
            lines = self._lines_along(self.segment_axis)
            label, piece = np.nonzero((atom[:, None] >= 0) & (atom[:, None] == lines.pieces.atom))
            parts.append(segments(self.target, lines, piece, label))
        return as_rows(parts, len(labels), np.eye(self.target.rank)[min(self.segment_axis, self.target.rank - 1)])

    @property
    def _dimension(self) -> int:
        return self.target.rank + self.target.hidden

    @cached_property
    def segment_axis(self) -> int:
        """The axis of the segments: the last noise variable inside the link, or where the label changes most often."""
        if self.target.hidden:
            return self._dimension - 1
        generator = np.random.default_rng(5)
        points = generator.standard_normal((2000, self._dimension))
        labels = self.target.link(points)
        fresh = generator.standard_normal(len(points))
        changes = [
            np.mean(self.target.link(with_coordinate(points, axis, fresh)) != labels) for axis in range(self._dimension)
        ]
        return int(np.argmax(changes))

    @cached_property
    def _lines(self) -> dict[int, Lines]:
        return {}

    def _lines_along(self, axis: int) -> Lines:
        if axis not in self._lines:
            points, weights = _nodes(self.target, axis, self.resolution, self.edges)
            scan = np.linspace(-REACH, REACH, _SCAN[self._dimension - 1])
            pieces = monotone_pieces(self.target, self.law, points, axis, scan)
            self._lines[axis] = Lines(axis, points, weights, pieces)
        return self._lines[axis]

    def _noisy(self, labels: Floats) -> Fibres:
        """P(y | z) = N(y; g(z), noise) at every node of a rule over all fields."""
        rank, noise = self.target.rank, self.target.noise
        nodes, weights = _nodes(self.target, None, self.resolution, self.edges)
        residual = labels[:, None] - self.target.link(nodes)
        log_weight = np.log(weights) - 0.5 * residual**2 / noise - 0.5 * np.log(2 * np.pi * noise)
        nowhere = np.zeros(log_weight.shape)
        base = np.broadcast_to(nodes[:, :rank], (*log_weight.shape, rank))
        return Fibres(np.eye(rank)[-1], base, nowhere, nowhere, log_weight)


def points(target: Target, lines: Lines, piece: Integers, label: Integers, labels: Floats) -> Entries:
    """Where the given pieces take the labels of the given numbers: points z with the logarithms of their weights."""
    axis, pieces = lines.axis, lines.pieces
    on = lines.points[pieces.line[piece]]
    place = invert(target, on, axis, pieces, piece, labels[label])
    found = with_coordinate(on, axis, place)
    room = 0.5 * np.minimum(place - pieces.low[piece], pieces.high[piece] - place)
    log_weight = np.log(lines.weights[pieces.line[piece]])
    log_weight += _log_share(target, found, axis, np.clip(room, 1e-12, _STEP))
    if axis >= target.rank:  # the density of the other noise variables is in the lines' weights
        log_weight -= 0.5 * place**2 + 0.5 * np.log(2 * np.pi)
    nowhere = np.zeros(len(place))
    return Entries(label, found[:, : target.rank], nowhere, nowhere, log_weight)


def _log_share(target: Target, points: Floats, axis: int, room: Floats) -> Floats:
    """log of chi_axis / |d_axis g|, by central differences; along the line they stay within the room of a piece."""
    slopes = np.empty((points.shape[1], len(points)))
    for other in range(points.shape[1]):
        step = room if other == axis else np.full(len(points), _STEP)
        ahead, behind = (
            target.link(with_coordinate(points, other, points[:, other] + sign * step)) for sign in (1, -1)
        )
        slopes[other] = np.abs(ahead - behind) / (2 * step)
    steepest = np.maximum(slopes.max(axis=0), 1e-300)
    # At an extremum differences may vanish: then no axis is better than another, and the weight is all that fits.
    relative = np.where(slopes.max(axis=0) > 0, slopes / steepest, 1.0)
    with np.errstate(divide="ignore"):
        share = (_PARTITION_POWER - 1) * np.log(relative[axis]) - np.log(steepest)
    return share - np.log(np.sum(relative**_PARTITION_POWER, axis=0))


def segments(target: Target, lines: Lines, piece: Integers, label: Integers) -> Entries:
    """The given pieces as segments; along a noise variable only their mass is left."""
    pieces, rank = lines.pieces, target.rank
    base = lines.points[pieces.line[piece]][:, :rank]
    log_weight, low, high = np.log(lines.weights[pieces.line[piece]]), pieces.low[piece], pieces.high[piece]
    if lines.axis < rank:
        return Entries(label, base, low, high, log_weight)
    nowhere = np.zeros_like(low)
    return Entries(label, base, nowhere, nowhere, log_weight + log_interval(low, high))


def level_sets(target: Target, resolution: float | None = None, edges: tuple[float, ...] = ()) -> LevelSets:
    """Lay lines through the space of a target's fields, fine enough for V down to `resolution` squared.

    Args:
        resolution: the smallest standard deviation of V that has to be resolved; None for a default that grows with the
            number of directions (`RESOLUTION`). One direction without noise is exact whatever is asked.
        edges: ascending distances from 0, panels of four nodes between which take the place of equally wide ones: for
            level sets that bend near the coordinate planes.
    """
    if resolution is not None and not resolution > 0:
        raise InvalidParameter("resolution", resolution, "a standard deviation above 0, or None for the default")
    across = target.rank + target.hidden - (target.noise == 0)
    if across not in RESOLUTION:
        expected = "at most three coordinates across the lines (directions and noise variables inside the link)"
        raise InvalidParameter("target", target.text, expected)
    scale = RESOLUTION[across] if resolution is None or across == 0 else resolution
    return LevelSets(target, label_law(target), scale, edges)


def log_partition(fibres: Fibres, omega: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """log Z(y_i, omega_i, V) and its gradient g_out in omega, for omega (n, r); -inf and NaN for an impossible label.

    Statement (Gaussian algebra; Troiani et al. 2024): g_out = V^{-1} (E[z | y, omega, V] - omega). On a segment
    z = base + s e the exponent is a parabola in s with curvature e^T V^{-1} e.
    """
    rank = covariance.shape[0]
    precision, along, point = np.linalg.inv(covariance), fibres.direction, fibres.is_point
    offset = fibres.base - omega[:, None, :]
    curvature = along @ precision @ along
    centre = np.where(point, 0.0, -(offset @ (precision @ along)) / curvature)
    ground = np.einsum("nki,ij,nkj->nk", offset, precision, offset) - curvature * centre**2
    low, high = (np.sqrt(curvature) * (end - centre) for end in (fibres.low, fibres.high))
    mass = np.where(point, 0.0, log_interval(low, np.where(point, low + 1, high)))
    bent = (np.exp(-0.5 * low**2 - mass) - np.exp(-0.5 * high**2 - mass)) / np.sqrt(2 * np.pi * curvature)
    length = np.where(point, 0.0, mass + 0.5 * np.log(2 * np.pi / curvature))
    log_normal = 0.5 * np.linalg.slogdet(precision)[1] - 0.5 * rank * np.log(2 * np.pi)
    log_terms = fibres.log_weights + log_normal - 0.5 * ground + length
    top = log_terms.max(axis=1, keepdims=True)
    possible = np.isfinite(top)
    terms = np.exp(log_terms - np.where(possible, top, 0.0))
    total = np.where(possible[:, 0], terms.sum(axis=1), np.nan)
    place = np.where(point | (terms == 0), 0.0, centre + bent)
    mean = np.einsum("nk,nki->ni", terms, offset + place[..., None] * along) / total[:, None]
    return np.where(possible[:, 0], top[:, 0] + np.log(total), -np.inf), mean @ precision


def log_interval(low: Floats, high: Floats) -> Floats:
    """log of the N(0, 1) mass of [low, high], without cancellation in the tails."""
    flip = low > 0
    upper, lower = np.where(flip, -low, high), np.where(flip, -high, low)
    log_upper = log_ndtr(upper)
    return log_upper + np.log1p(-np.exp(log_ndtr(lower) - log_upper))


def _nodes(target: Target, axis: int | None, resolution: float, edges: tuple[float, ...]) -> tuple[Floats, Floats]:
    """Nodes (L, D) and weights of the coordinates other than `axis`, which is set to zero."""
    dimension = target.rank + target.hidden
    nowhere = (np.zeros(1), np.ones(1))
    rule = product_rule(nowhere if i == axis else _panels(target, i, resolution, edges) for i in range(dimension))
    kept = np.linalg.norm(rule.points, axis=1) < REACH  # corners of the box hold no mass
    return rule.points[kept], rule.weights[kept]


def _panels(target: Target, axis: int, resolution: float, graded: tuple[float, ...]) -> tuple[Floats, Floats]:
    """Gauss-Legendre on panels, cut at the axis's own kinks and at 0.

    Lebesgue measure along a direction; N(0, 1) along a noise variable inside the link, which V does not touch.
    """
    noise_variable = axis >= target.rank
    width = _PANEL_IN_DEVIATIONS * (0.5 if noise_variable else resolution)
    breaks = static_breaks(target.kinks, axis, target.rank + target.hidden)
    fixed = np.unique([-REACH, *(b for b in breaks if abs(b) < REACH), 0.0, REACH])
    if graded:
        x, w = panels(np.unique([*fixed, *graded, *(-edge for edge in graded)]), _GRADED_NODES)
        return x, w * gaussian_density(x) if noise_variable else w
    counts = np.ceil(np.diff(fixed) / width - 1e-9).astype(int)
    ends = zip(fixed[:-1], fixed[1:], counts, strict=True)
    edges = np.unique(np.concatenate([np.linspace(low, high, count + 1) for low, high, count in ends]))
    x, w = panels(edges, _NODES_PER_PANEL)
    return x, w * gaussian_density(x) if noise_variable else w
