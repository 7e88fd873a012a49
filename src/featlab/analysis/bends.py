"""Cells close to an extremum of the label, or to the origin, where the label is far from linear along a cell.

At a distance t from such a place the label has moved by about t^p from its value v there: p = 2 at a simple extremum,
where the density of the label is infinite. A linear law would spread the cells' weight evenly over their labels.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from featlab.analysis.cells import Bends, Cells
from featlab.gaussian.hermite import Floats, Integers

_NEAR = 16  # cells; further off a power is linear along a cell to a thousandth
# Powers beyond these are not seen as powers.
_SLOWEST, _FASTEST = 0.1, 200.0


def bends_of(cells: Cells, turns: Integers, dimension: int, value: Callable[[Integers, Floats], Floats]) -> Bends:
    """The bends of the cells near the extrema (where the cells `turns` begin) and near the beginning of each line.

    Statement: where the label is v + c t^p and the probability of a distance below t is proportional to t^m, the part
    of the weight of a cell from t1 to t2 whose label is nearer to v than y is

        (x^(m/p) - s^m) / (1 - s^m),    x = (y - v) / (y2 - v),  s = t1 / t2.

    At an extremum m = 1, at the origin m is the dimension. The exponent is taken from the cell's own two labels, so
    that the law holds at both of its ends; in the innermost cell, where t1 = 0, from the label halfway.

    Args:
        value: value(line numbers (m,), positions (m,)) -> (m,), the label.
    """
    count = cells.line.size
    way = np.sign(cells.rise)
    starts = np.append(True, ~(cells.continues & (way == np.append(np.nan, way[:-1])))[1:])
    run = np.cumsum(starts) - 1
    begin = np.flatnonzero(starts)
    end = np.append(begin[1:], count) - 1
    origin = np.append(True, cells.line[1:] != cells.line[:-1])
    turned = np.zeros(count + 1, dtype=bool)
    turned[turns] = True
    from_begin, from_end = np.arange(count) - begin[run], end[run] - np.arange(count)
    has_begin, has_end = (turned[:-1] | origin)[begin][run], turned[1:][end][run]
    backward = has_end & (~has_begin | (from_end < from_begin))
    distance = np.where(backward, from_end, from_begin)
    near = np.flatnonzero((has_begin | has_end) & (distance < _NEAR) & (way != 0))
    innermost = np.where(backward, end[run], begin[run])[near]
    return _powers(cells, near, backward[near], innermost, origin, dimension, value)


def _powers(
    cells: Cells,
    near: Integers,
    backward: np.ndarray,
    innermost: Integers,
    origin: np.ndarray,
    dimension: int,
    value: Callable[[Integers, Floats], Floats],
) -> Bends:
    """The law of each cell `near` a vertex, which is an end of the cell `innermost`: its last if `backward`."""
    vertex = np.where(backward, cells.last[innermost], cells.first[innermost])
    centre = np.where(backward, cells.high[innermost], cells.low[innermost])
    inner, outer = _ends(backward, cells.first[near], cells.last[near])
    near_end, far_end = _ends(backward, cells.low[near], cells.high[near])
    is_first = near == innermost
    halfway = vertex.copy()
    place = 0.5 * (near_end + far_end)[is_first]
    halfway[is_first] = value(cells.line[near[is_first]], place)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(is_first, halfway - vertex, inner - vertex) / (outer - vertex)
        ratio = np.where(is_first, 0.5, np.abs(near_end - centre) / np.abs(far_end - centre))
        exponent = np.log(ratio) / np.log(part)  # 1 / p
    dimensions = np.where(~backward & origin[innermost], float(dimension), 1.0)
    usable = (part > 0) & (part < 1) & (exponent > 1 / _FASTEST) & (exponent < 1 / _SLOWEST)
    inside = np.where(is_first, 0.0, ratio**dimensions)
    return Bends(near[usable], vertex[usable], outer[usable], (exponent * dimensions)[usable], inside[usable])


def _ends(backward: np.ndarray, begin: Floats, end: Floats) -> tuple[Floats, Floats]:
    """The end of each cell that is nearer to its vertex, and the other one."""
    return np.where(backward, end, begin), np.where(backward, begin, end)
