"""A link on parallel lines, cut into monotone pieces, and where each piece takes a given label.

Between its kinks and its extrema a link is monotone along a line, so that it takes a label at most once on each piece,
at a place that bisection finds to float precision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from featlab.analysis.cells import Cells, cut_into_cells, turned_at_extrema
from featlab.analysis.label_law import LabelLaw
from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.quadrature import crossings_on_lines, static_breaks, with_coordinate
from featlab.targets import Target

REACH = 7.5  # the prior's mass beyond is 6e-14
_HALVINGS = 54


@dataclass(frozen=True)
class Pieces(Cells):
    """Monotone pieces; `atom` is the number of the atom whose label the link keeps all along one, -1 elsewhere."""

    atom: Integers


def monotone_pieces(
    target: Target, law: LabelLaw, lines: Floats, axis: int, scan: Floats, centres: Floats | None = None
) -> Pieces:
    """Cut the lines through the points `lines` along an axis of the fields, at the kinks and at the link's extrema.

    Args:
        lines: (L, D) points; their coordinate on `axis` does not matter.
        scan: ascending positions at which each line is looked at, from its first to its last place; two kinks or
            extrema between neighbours may be missed.
        centres: (L,) to which the positions are relative; None for 0.
    """
    edges = scan + (np.zeros(len(lines)) if centres is None else centres)[:, None]

    def points(line: Integers, position: Floats) -> Floats:
        found = lines[line]  # a copy
        found[:, axis] = position
        return found

    cells = cut_into_cells(target.link, points, edges, _crossings(target, lines, axis, edges, scan))
    cells = turned_at_extrema(cells, lambda line, position: target.link(points(line, position)))
    line, low, high, first, last = cells.line, cells.low, cells.high, cells.first, cells.last
    of_first = law.atom_of(first)
    constant = (of_first >= 0) & (of_first == law.atom_of(last))
    rise = np.where(constant, 0.0, np.sign(cells.rise))
    # Neighbours that go on in the same way are one piece.
    begins = np.nonzero(~(cells.continues & (rise == np.append(np.nan, rise[:-1]))))[0]
    ends = np.append(begins[1:], line.size) - 1
    atom = np.where(rise[begins] == 0, of_first[begins], -1)
    useful = (rise[begins] != 0) | (atom >= 0)
    begins, ends = begins[useful], ends[useful]
    return Pieces(line[begins], low[begins], high[ends], first[begins], last[ends], atom[useful])


def _crossings(target: Target, lines: Floats, axis: int, edges: Floats, scan: Floats) -> Floats:
    """Where each line crosses a kink, (L, most), short rows filled up with the line's last position."""
    kinks = [kink for kink in target.kinks if axis in kink.variables]
    fixed = np.tile(static_breaks(kinks, axis, lines.shape[1]), (len(lines), 1))

    def points(line: Integers, position: Floats) -> Floats:
        return with_coordinate(lines[line], axis, start[line] + position)

    start = edges[:, 0] - scan[0]
    curved = [kink.function for kink in kinks if len(kink.variables) > 1]
    moving = start[:, None] + crossings_on_lines(curved, points, len(lines), scan + 1e-7, scan[-1])
    return np.concatenate([np.clip(fixed, edges[:, :1], edges[:, -1:]), moving], axis=1)


def invert(target: Target, points: Floats, axis: int, pieces: Pieces, piece: Integers, labels: Floats) -> Floats:
    """The place on each piece where the link has the label: secants that keep a bracket, every third step a bisection.

    The secants are those of the Illinois method (Dowell and Jarratt 1971), which halves the value at an end that stays.
    """
    low, high = pieces.low[piece], pieces.high[piece]
    below, above = pieces.first[piece] - labels, pieces.last[piece] - labels
    place = 0.5 * (low + high)
    active = np.arange(len(place))
    for step in range(3 * _HALVINGS):
        middle = 0.5 * (low + high)
        if step % 3 != 2:
            with np.errstate(invalid="ignore", over="ignore"):
                secant = (low * above - high * below) / (above - below)
            middle = np.where((low < secant) & (secant < high), secant, middle)
        value = target.link(with_coordinate(points[active], axis, middle)) - labels[active]
        left = np.sign(value) == np.sign(below)
        halved = 1.0 if step % 3 == 2 else 0.5
        below, above = np.where(left, value, halved * below), np.where(left, halved * above, value)
        low, high = np.where(left, middle, low), np.where(left, high, middle)
        place[active] = np.where(value == 0, middle, 0.5 * (low + high))
        going = (value != 0) & (high - low > 4e-15 * (1 + np.abs(middle)))
        if not going.any():
            break
        active, low, high, below, above = active[going], low[going], high[going], below[going], above[going]
    return place
