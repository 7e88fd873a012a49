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

from featlab.analysis.bends import bends_of
from featlab.analysis.cells import Bends, Cells, cut_into_cells, rounding_of, turned_at_extrema
from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.polar import TAIL, Function
from featlab.gaussian.quadrature import crossings_on_lines

# A label that changes along a cell by at most so many roundings does not change.
_ROUNDINGS = 64.0
# Rounding is looked at where the label changes by less than this part of the largest one.
_ALMOST_STILL = 1e-9


@dataclass(frozen=True)
class RayCells(Cells):
    """Cells of rays, `line` being the number of the direction: their probability and E[rho^2; cell].

    The label runs almost linearly along a cell: cells are short and contain no jump and no extremum.

    Attributes:
        blur: where the label is the same all along a cell, how much rounding may have changed it; 0 elsewhere.
        bends: the cells near an extremum or the origin, where the label is not linear (see `bends`).
    """

    mass: Floats
    square: Floats
    blur: Floats
    bends: Bends


def cells_of_rays(
    link: Function, jumps: Sequence[Function], directions: Floats, weights: Floats, steps: int
) -> RayCells:
    """Cells of every ray: `steps` of equal length, cut where a jump crosses them, with ends moved to the extrema."""
    count, dimension = directions.shape
    radii = np.linspace(0.0, np.sqrt(dimension) + TAIL, steps + 1)
    radii[0] = 1e-9  # not the origin itself, where a link such as log|h| is not finite

    def points(ray: Integers, radius: Floats) -> Floats:
        return directions[ray] * radius[:, None]

    def value(ray: Integers, radius: Floats) -> Floats:
        return link(points(ray, radius))

    crossings = crossings_on_lines(jumps, points, count, radii, radii[-1])
    cells = cut_into_cells(link, points, np.broadcast_to(radii, (count, steps + 1)), crossings)
    turns = cells.turns
    cells = turned_at_extrema(cells, value)
    if crossings.size:
        mass, square = _chi_moments(dimension, cells.low, cells.high)
    else:  # the same cells on every ray, but those at extrema
        mass, square = (np.tile(moment, count) for moment in _chi_moments(dimension, radii[:-1], radii[1:]))
        moved = np.unique(np.concatenate([turns, turns - 1]))
        mass[moved], square[moved] = _chi_moments(dimension, cells.low[moved], cells.high[moved])
    weight = weights[cells.line]
    blur, bends = _blur(link, cells, points), bends_of(cells, turns, dimension, value)
    ends = (cells.line, cells.low, cells.high, cells.first, cells.last)
    return RayCells(*ends, mass=weight * mass, square=weight * square, blur=blur, bends=bends)


def _blur(link: Function, cells: Cells, points: Callable[[Integers, Floats], Floats]) -> Floats:
    """The rounding of the label on cells along which it changes by nothing else; 0 on the others."""
    size, rise = np.maximum(np.abs(cells.first), np.abs(cells.last)), np.abs(cells.rise)
    blur = np.where(rise == 0, np.spacing(size), 0.0)
    doubtful = np.flatnonzero((rise > 0) & (rise <= _ALMOST_STILL * np.max(size)))
    middle = 0.5 * (cells.low[doubtful] + cells.high[doubtful])
    rounding = rounding_of(link, points(cells.line[doubtful], middle))
    blur[doubtful] = np.where(rise[doubtful] <= _ROUNDINGS * rounding, rounding, 0.0)
    return blur


def _chi_moments(dimension: int, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """P(low < rho < high) and E[rho^2; low < rho < high] for rho ~ chi_dimension: incomplete gamma differences."""

    def between(shape: float) -> Floats:
        return gammainc(shape, 0.5 * high**2) - gammainc(shape, 0.5 * low**2)

    return between(0.5 * dimension), dimension * between(0.5 * dimension + 1)
