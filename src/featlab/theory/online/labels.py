"""Weighted points for the variables of a label: the directions h, and where y enters nonlinearly its noise as well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.quadrature import Rule, ZeroSet, moved_surfaces, nested_rule, static_breaks
from featlab.targets import Target


@dataclass(frozen=True, eq=False)
class Labels:
    """Points h (n, r) with their weights, and of the label there E[y | h] and E[y^2 | h] (or y and y^2: `raw`)."""

    directions: Floats
    mean: Floats
    square: Floats
    weights: Floats

    def taken(self, places: Integers, weights: Floats) -> Labels:
        """The points at these places, (m,), with other weights (m,)."""
        return Labels(self.directions[places], self.mean[places], self.square[places], weights)


def label_axes(target: Target, raw: bool) -> int:
    """The number of variables that a point of the label has: r, and when `raw` those of its noise."""
    return target.rank + (target.hidden + (target.noise > 0) if raw else 0)


def singular_breaks(target: Target) -> tuple[float, ...]:
    """Breaks that close in on the points of the axis of h, if there is one direction, where the link blows up.

    Pieces shrink by 4 down to 4^-14: what is missed of log(h)^2 beyond that is below 1e-6.
    """
    if target.rank + target.hidden > 1:
        return ()
    singular = [kink for kink in target.kinks if kink.kind == "singular"]
    steps = 0.25 ** np.arange(1, 15)
    centres = np.array(static_breaks(singular, 0, 1))[:, None]
    return tuple(np.concatenate([centres + steps, centres - steps], axis=1).ravel().tolist())


@lru_cache(maxsize=32)
def label_points(target: Target, nodes: int, breaks: tuple[float, ...], raw: bool, cut_at_zero: bool) -> Labels:
    """A rule for the label's variables, each axis cut at the target's kinks and at the given breaks.

    Args:
        nodes: Gauss points on each piece of an axis.
        raw: keep every value of y, for averages that are not linear in y and y^2; else the noise is averaged out here.
        cut_at_zero: cut also where y changes sign.
    """
    noisy = raw and target.noise > 0
    known = target.rank + target.hidden
    axes = known + noisy

    def label(points: Floats) -> Floats:
        clean = target.link(points[..., :known])
        return clean + np.sqrt(target.noise) * points[..., -1] if noisy else clean

    surfaces = moved_surfaces(target.kinks, np.zeros(known), np.eye(known, axes))
    if cut_at_zero:
        surfaces.append(ZeroSet(tuple(range(axes)), label))
    return from_rule(target, nested_rule(surfaces, axes, nodes, breaks), label, raw)


def from_rule(target: Target, rule: Rule, label: Callable[[Floats], Floats], raw: bool) -> Labels:
    """The labels on a rule; unless `raw`, averaged over the points with the same h, which follow one another."""
    directions, values = rule.points[:, : target.rank], label(rule.points)
    if raw:
        return Labels(directions, values, values**2, rule.weights)
    if not target.hidden:
        return Labels(directions, values, values**2 + target.noise, rule.weights)
    starts = np.flatnonzero(np.any(np.diff(directions, axis=0, prepend=np.nan) != 0, axis=1))
    weights = np.add.reduceat(rule.weights, starts)
    mean = np.add.reduceat(rule.weights * values, starts) / weights
    square = np.add.reduceat(rule.weights * values**2, starts) / weights
    return Labels(directions[starts], mean, square + target.noise, weights)
