"""The level set through a point, with nodes crowded around it: what decides about that point's label at any V.

For labels with a density, state evolution averages over true fields x = (z, noise) first. The label y = g(x) is then
given, the level set {g = y} does not depend on the overlap, and omega lies within a few sqrt(V) of z: lines are laid at
distances from z that grow geometrically, so that one set of nodes serves all V down to a chosen one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from featlab import interruption
from featlab.analysis.label_law import label_law
from featlab.analysis.level_sets import Entries, Fibres, Lines, as_rows, level_sets, points, segments
from featlab.analysis.pieces import monotone_pieces
from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.quadrature import gaussian_density, panels, static_breaks
from featlab.targets import Target
from featlab.theory.bayes.symmetry import Fold

_REACH = 7.0
_CELLS = 500_000  # on the lines that are looked at together, each some 200 bytes
_NEGLIGIBLE = -60.0  # the logarithm of a weight under the prior that plays no part


@dataclass(frozen=True)
class Grading:
    """How far from z lines are laid: on panels with edges at `finest` times powers of 2, at most `widest` wide.

    Attributes:
        finest: for each field the innermost panel, about the smallest deviation of V to be resolved.
        reach: for each field, how far from z points still matter.
        nodes: Gauss nodes on each panel.
        scan: at how many places a line is looked at.
    """

    finest: tuple[float, ...]
    widest: float
    reach: tuple[float, ...]
    nodes: int
    scan: int

    def edges(self, axis: int) -> Floats:
        """Distances at which panels end, in both directions."""
        distances = [0.0, self.finest[axis]]
        while distances[-1] < self.reach[axis]:
            distances.append(min(2 * distances[-1], distances[-1] + self.widest))
        return np.concatenate([-np.array(distances[:0:-1]), distances])


def noise_inside(target: Target) -> Target:
    """The same target with its label noise as one more noise variable in the link: y = g(h, xi) + sqrt(noise) xi'."""
    deviation = float(np.sqrt(target.noise))

    def link(fields: Floats) -> Floats:
        return target.link(fields[..., :-1]) + deviation * fields[..., -1]

    def of_the_fields(surface: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
        return lambda fields: surface(fields[..., :-1])

    kinks = tuple(replace(kink, function=of_the_fields(kink.function)) for kink in target.kinks)
    return replace(
        target,
        hidden=target.hidden + 1,
        noise=0.0,
        kinks=kinks,
        tree=None,
        numpy_function=link,
        source=("label noise inside the link", target),
    )


def level_set_around(target: Target, through: Floats, grading: Grading, mirrors: Fold | None = None) -> Fibres:
    """What Z(g(x), omega, V) is summed over, for every point x of `through` (N, D): one row each.

    Args:
        mirrors: reflections that leave the link alone. Nodes are then laid where the halved axes are positive, and
            reflected: the sum is as symmetric as the level set, so that what vanishes by symmetry is not just small.
    """
    law, rank = label_law(target), target.rank
    labels = target.link(through)
    atom = law.atom_of(labels)
    halved = list(mirrors.halved) if mirrors else []
    if mirrors:
        through = np.column_stack([mirrors.representative(through[:, :rank]), through[:, rank:]])
    along = level_sets(target, 1.0).segment_axis if law.atoms.size else 0
    parts = []
    for axis in range(through.shape[1]):
        for few in _few_lines(target, through, axis, grading, halved):
            owner, lines = _lines_near(target, through[few], axis, grading, halved)
            of_piece = few[owner[lines.pieces.line]]
            piece = np.nonzero(lines.takes(labels[of_piece]) & (atom[of_piece] < 0))[0]
            found = points(target, lines, piece, of_piece[piece], labels)
            near = found.log_weights - 0.5 * np.sum(found.base**2, axis=1) > _NEGLIGIBLE
            parts.append(found.chosen(near & np.all(found.base[:, halved] > 0, axis=1)))
            if axis == along:
                piece = np.nonzero((lines.pieces.atom >= 0) & (lines.pieces.atom == atom[of_piece]))[0]
                found = segments(target, lines, piece, of_piece[piece])
                if along in halved:
                    found = replace(found, low=np.maximum(found.low, 0.0), high=np.maximum(found.high, 0.0))
                parts.append(found.chosen((found.low < found.high) | (along >= rank)))
    along = min(along, rank - 1)
    if mirrors:
        parts = [_reflected(part, signs, along) for signs in mirrors.signs for part in parts]
    return as_rows(parts, len(labels), np.eye(rank)[along])


def _reflected(part: Entries, signs: Floats, along: int) -> Entries:
    low, high = (part.low, part.high) if signs[along] > 0 else (-part.high, -part.low)
    return replace(part, base=part.base * signs, low=low, high=high)


def _few_lines(target: Target, points: Floats, axis: int, grading: Grading, halved: list[int]) -> Iterator[Integers]:
    """The numbers of a few points at a time: their lines fit in memory, and who interrupts is heard between them."""
    others = (other for other in range(points.shape[1]) if other != axis)
    widths = (_places(target, points[:1, other], other, grading, _least(other, halved))[0].shape[1] for other in others)
    cells = len(points) * math.prod(widths) * grading.scan
    for few in np.array_split(np.arange(len(points)), max(1, min(len(points), cells // _CELLS))):
        interruption.check()
        yield few


def _least(axis: int, halved: list[int]) -> float:
    """Where the first lines stand."""
    return 0.0 if axis in halved else -_REACH


def _lines_near(
    target: Target, points: Floats, axis: int, grading: Grading, halved: list[int]
) -> tuple[Integers, Lines]:
    """Lines along an axis around every point, and whose they are."""
    count, dimension = points.shape
    owner, places, weights = np.arange(count), np.zeros((count, 0)), np.ones(count)
    for other in range(dimension):
        if other == axis:
            places = np.column_stack([places, np.zeros(len(places))])
            continue
        x, w = _places(target, points[:, other], other, grading, _least(other, halved))
        width = x.shape[1]
        places = np.column_stack([np.repeat(places, width, axis=0), x[owner].ravel()])
        weights = np.repeat(weights, width) * w[owner].ravel()
        owner = np.repeat(owner, width)
        kept = weights > 0
        owner, places, weights = owner[kept], places[kept], weights[kept]
    reach = grading.reach[axis]
    scan = np.linspace(-reach, reach, grading.scan)
    centres = points[owner, axis] if reach < _REACH else np.zeros(len(owner))
    pieces = monotone_pieces(target, label_law(target), places, axis, scan, centres)
    return owner, Lines(axis, places, weights, pieces)


def _places(target: Target, centres: Floats, axis: int, grading: Grading, least: float) -> tuple[Floats, Floats]:
    """Positions on an axis around every centre, not below `least`, and weights (N, P): panels cut at the kinks."""
    breaks = [0.0, *static_breaks(target.kinks, axis, target.rank + target.hidden)]
    graded = centres[:, None] + grading.edges(axis)
    low, high = np.maximum(graded[:, :1], least), np.minimum(graded[:, -1:], _REACH)
    # Level sets bend where a coordinate vanishes (h1 h2 = y) as they do around kinks: crowd nodes there too.
    crowded = [b + step for b in breaks for step in (-0.3, -0.1, 0.0, 0.1, 0.3)]
    fixed = np.tile(np.array(crowded), (len(centres), 1))
    edges = np.sort(np.clip(np.column_stack([graded, fixed]), low, high), axis=1)
    x, weights = panels(edges, grading.nodes)
    if axis >= target.rank:
        weights = weights * gaussian_density(x)
    return x, np.where(weights > 1e-12, weights, 0.0)
