"""A link on parallel lines, cut into monotone pieces, and where each piece takes a given label.

Between its kinks and its extrema a link is monotone along a line, so that it takes a label at most once on each piece,
at a place that bisection finds to float precision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from featlab.analysis.label_law import LabelLaw
from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.quadrature import pad_by_line, roots_on_lines
from featlab.targets import Target

REACH = 7.5  # the prior's mass beyond is 6e-14
_HALVINGS = 54
_GOLDEN = 0.5 * (np.sqrt(5) - 1)
_HAIR = 1e-10


@dataclass(frozen=True)
class Pieces:
    """Monotone pieces: piece i lies on line `line[i]` between `low` and `high`, the link runs from `first` to `last`.

    `atom` is the number of the atom whose label the link keeps all along the piece, -1 elsewhere.
    """

    line: Integers
    low: Floats
    high: Floats
    first: Floats
    last: Floats
    atom: Integers


def monotone_pieces(target: Target, law: LabelLaw, lines: Floats, axis: int, scan: int) -> Pieces:
    """Cut the lines through the points `lines` along an axis of the fields, at the kinks and at the link's extrema.

    Args:
        lines: (L, D) points whose coordinate on `axis` is zero.
        scan: at how many places each line is looked at; two kinks or extrema between neighbours may be missed.
    """
    edges = _cut_at_kinks(target, lines, axis, np.linspace(-REACH, REACH, scan))
    line = np.repeat(np.arange(len(lines)), edges.shape[1] - 1)
    low, high = edges[:, :-1].ravel(), edges[:, 1:].ravel()
    kept = high - low > 100 * _HAIR
    line, low, high = line[kept], low[kept], high[kept]
    first, last = (link_at(target, lines[line], axis, s) for s in (low + _HAIR, high - _HAIR))
    rise = np.where(np.abs(last - first) > 1e-12 * law.scale, np.sign(last - first), 0.0)
    near = 1e-7 * law.scale + 1e-4 * np.minimum(np.abs(last - first)[1:], np.abs(last - first)[:-1])
    joined = np.append(False, (line[1:] == line[:-1]) & (np.abs(first[1:] - last[:-1]) <= near))
    turn = np.nonzero(joined & (rise * np.append(0.0, rise[:-1]) < 0))[0]
    if turn.size:
        place = _extrema(target, lines[line[turn]], axis, low[turn - 1], high[turn], rise[turn - 1])
        value = link_at(target, lines[line[turn]], axis, place)
        low[turn], first[turn], high[turn - 1], last[turn - 1] = place, value, place, value
    return _merged(law, line, low, high, first, last, rise, joined)


def _merged(
    law: LabelLaw,
    line: Integers,
    low: Floats,
    high: Floats,
    first: Floats,
    last: Floats,
    rise: Floats,
    joined: NDArray[np.bool_],
) -> Pieces:
    """Neighbours that go on in the same way are one piece."""
    begins = np.nonzero(~(joined & (rise == np.append(np.nan, rise[:-1]))))[0]
    ends = np.append(begins[1:], line.size) - 1
    atom = np.where(rise[begins] == 0, law.atom_of(first[begins]), -1)
    useful = (rise[begins] != 0) | (atom >= 0)
    begins, ends = begins[useful], ends[useful]
    return Pieces(line[begins], low[begins], high[ends], first[begins], last[ends], atom[useful])


def _cut_at_kinks(target: Target, lines: Floats, axis: int, scan: Floats) -> Floats:
    """Sorted positions on each line: the scan, and in it every place where a kink's function changes sign."""
    cuts = [np.broadcast_to(scan, (len(lines), scan.size))]
    for kink in target.kinks:
        if axis not in kink.variables:
            continue

        def values(line: Integers, position: Floats, surface: object = kink.function) -> Floats:
            return surface(moved(lines[line], axis, position))  # type: ignore[operator]

        line, place = roots_on_lines(values, len(lines), scan + 1e-7)
        cuts.append(pad_by_line(line, place, len(lines), REACH))
    return np.sort(np.concatenate(cuts, axis=1), axis=1)


def moved(points: Floats, axis: int, position: Floats) -> Floats:
    """The points with their coordinate on `axis` replaced."""
    fields = points.copy()
    fields[:, axis] = position
    return fields


def link_at(target: Target, points: Floats, axis: int, position: Floats) -> Floats:
    return target.link(moved(points, axis, position))


def _extrema(target: Target, points: Floats, axis: int, low: Floats, high: Floats, sign: Floats) -> Floats:
    """The maximum of sign * link on each [low, high], by golden sections (to half the digits, as extrema allow)."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = (sign * link_at(target, points, axis, place) for place in (left, right))
    for _ in range(40):
        lower = at_left > at_right
        low, high = np.where(lower, low, left), np.where(lower, right, high)
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        at_left, at_right = (sign * link_at(target, points, axis, place) for place in (left, right))
    return 0.5 * (low + high)


def invert(target: Target, points: Floats, axis: int, pieces: Pieces, piece: Integers, labels: Floats) -> Floats:
    """The place on each piece where the link has the label, by bisection."""
    low, high = pieces.low[piece], pieces.high[piece]
    rising = pieces.last[piece] > pieces.first[piece]
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        beyond = (link_at(target, points, axis, middle) > labels) == rising
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return 0.5 * (low + high)
