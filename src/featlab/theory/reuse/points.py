"""Two sources of weighted samples for the recursion of `dmft`: quadrature, and Sobol points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.quadrature import REACH, Rule, gauss_pieces, gaussian_lines, nested_rule
from featlab.gaussian.sobol import sobol_normals
from featlab.targets import Target
from featlab.theory.reuse.dmft import Points

_SMOOTH = 3  # a whole line without kinks gets the nodes of this many pieces
_WIDTH = 2.0**0.5


@dataclass(frozen=True, eq=False)
class Quadrature:
    """Rules that grow axis by axis, each new axis cut where a field meets a kink of the activation.

    Attributes:
        kinks: (p, k): the values of each field at which the activation has a kink.
        nodes: Gauss points on each piece of an axis of the link's fields, of the label's noise, of a new axis.
        panels: where the line of a new axis is cut besides: after later steps, kinks are smoothed but still steep.
    """

    target: Target
    kinks: Floats
    nodes: tuple[int, int, int]
    panels: tuple[float, ...]

    @cached_property
    def _link(self) -> tuple[Rule, Floats]:
        rule = nested_rule(self.target.kinks, self.target.rank + self.target.hidden, self.nodes[0])
        return rule, self.target.link(rule.points)

    def begin(self, axes: int, noisy: bool) -> Points:
        """The rule of the target's fields, cut at the link's kinks, times one for the noise of the label."""
        rank, noise = self.target.rank, self.target.noise
        rule, labels = self._link
        fields, weights = rule.points[:, :rank], rule.weights
        if noisy and noise > 0:
            x, w = gauss_pieces((), self.nodes[1])
            fields = np.repeat(fields, x.size, axis=0)
            labels = (labels[:, None] + np.sqrt(noise) * x).ravel()
            weights = np.outer(weights, w).ravel()
        none = np.zeros((len(labels), 0))
        return Points(fields, labels, weights, forces=none, spare=none)

    def grow(self, points: Points, weights: Floats, axes: int) -> Points:
        """Each of the last axes in turn, its line through every point cut where a field that ends there has a kink."""
        known = weights.shape[1] - axes
        for axis in range(known, known + axes):
            ending = np.flatnonzero((weights[:, axis] != 0) & np.all(weights[:, axis + 1 :] == 0, axis=1))
            offsets = points.coordinates @ weights[ending].T
            cuts = (self.kinks[ending] - offsets[:, :, None]) / weights[ending, axis][:, None]
            line, x, w = self._lines(cuts.reshape(len(offsets), -1))
            coordinates = points.coordinates[line]
            coordinates[:, axis] += x
            points = Points(
                coordinates, points.labels[line], points.weights[line] * w, points.forces[line], points.spare[line]
            )
        return points

    def points(self, axes: int) -> float:
        """How many points the rule will have when noise has been added along so many axes (at most)."""
        begun = len(self.begin(axes, noisy=True).labels)
        pieces = len(self.panels) + 1 + self.kinks.shape[1] if self.kinks.shape[1] else _SMOOTH
        return float(begun) * float(pieces * self.nodes[2]) ** axes

    def _lines(self, cuts: Floats) -> tuple[Integers, Floats, Floats]:
        """Numbers of lines, positions and weights of a rule for N(0, 1) on each of the lines, cut at its own places."""
        count = len(cuts)
        if cuts.shape[1] == 0:
            x, w = gauss_pieces((), _SMOOTH * self.nodes[2])
            return np.repeat(np.arange(count), x.size), np.tile(x, count), np.tile(w, count)
        return gaussian_lines((-REACH, *self.panels, REACH), cuts, self.nodes[2])


class SobolPoints:
    """Weighted scrambled Sobol points; every batch has its own scrambling.

    The fields of the link are drawn from N(0, 2) and weighted back: forces grow with them as fast as the link does, and
    the rare large ones carry the average (for He3 the error falls five-fold, for bounded links it hardly changes). The
    weights are normalised to sum 1, so averages are right up to O(1/count), and errors are far below 1/sqrt(count) for
    smooth functions (Owen 1997).
    """

    def __init__(self, target: Target, count: int, generator: np.random.Generator) -> None:
        self.target, self.count, self.generator = target, count, generator

    def begin(self, axes: int, noisy: bool) -> Points:
        """Fields and label of `count` samples; the noises of the axes to come are drawn with them."""
        rank, known = self.target.rank, self.target.rank + self.target.hidden
        normals = sobol_normals(known + 1 + axes, self.count, self.generator)
        fields = _WIDTH * normals[:, :known]
        weights = np.exp(-0.5 * (1 - _WIDTH**-2) * np.sum(fields**2, axis=1))
        labels = self.target.link(fields)
        if noisy:
            labels = labels + np.sqrt(self.target.noise) * normals[:, known]
        no_forces = np.zeros((self.count, 0))
        return Points(fields[:, :rank], labels, weights / weights.sum(), no_forces, spare=normals[:, known + 1 :])

    def grow(self, points: Points, weights: Floats, axes: int) -> Points:
        """The next `axes` of the noises drawn at the beginning."""
        coordinates = points.coordinates.copy()
        coordinates[:, coordinates.shape[1] - axes :] += points.spare[:, :axes]
        return replace(points, coordinates=coordinates, spare=points.spare[:, axes:])
