"""Gaussian space cut into small cells along rays, each with its exact probability and the link's values at its ends.

A point of R^Q is rho u with a direction u uniform on the sphere and a radius rho of law chi_Q. Along a ray the label
is a function of one variable, so the probability that it lies between two values is an exact difference of chi
integrals; only the average over directions is a quadrature, cut where a cone of kinks (such as a coordinate plane)
passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc

from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.polar import TAIL, Function


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


def cut_into_cells(link: Function, jumps: Sequence[Function], directions: Floats, weights: Floats, steps: int) -> Cells:
    """Cells of every ray: `steps` of equal length, those that a jump crosses cut in two at the crossing."""
    count, dimension = directions.shape
    radii = np.linspace(0.0, np.sqrt(dimension) + TAIL, steps + 1)
    radii[0] = 1e-9  # not the origin itself, where a link such as log|h| is not finite
    ray = np.repeat(np.arange(count), steps)
    low, high = np.tile(radii[:-1], count), np.tile(radii[1:], count)
    values = _on_rays(link, directions, np.repeat(np.arange(count), steps + 1), np.tile(radii, count))
    values = values.reshape(count, steps + 1)
    first, last = values[:, :-1].ravel(), values[:, 1:].ravel()
    mass, square = (np.tile(moment, count) for moment in _chi_moments(dimension, radii[:-1], radii[1:]))
    for jump in jumps:
        ray, low, high, first, last = _cut_at(jump, link, directions, ray, low, high, first, last)
    if jumps:  # cells are no longer the same on every ray
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
