"""Averages over the fields of one or two neurons with a kinked activation, every line cut at its kinks.

Given the label's variables, lambda = M h + L z with L lower triangular, so the kink k of neuron i lies on the axis z_i
at (k - b_i - what is known so far) / L_ii. After an inner step there are more jumps, where the *shifted* field meets a
kink; they are found by scan and bisection.

What is left is to integrate over h a function that is smooth on the scale |L| / |M|. With one direction, the axis of h
is refined down to that scale where it matters, so that the averages stay accurate up to perfect overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from featlab.gaussian.hermite import Floats, Integers
from featlab.gaussian.matrices import triangular_root
from featlab.gaussian.quadrature import (
    REACH,
    Rule,
    gaussian_lines,
    gaussian_panels,
    pad_by_line,
    roots_on_lines,
    static_breaks,
)
from featlab.targets import Target
from featlab.theory.online.averages import Averages, Descent, average
from featlab.theory.online.labels import Labels, from_rule, label_axes, label_points, singular_breaks

LINE_EDGES = (-REACH, -2.5, 2.5, REACH)
_LINE_NODES = {1: 16, 2: 8}
_MOST_LABEL_NODES = 24
_LINE_PIECES, _SURFACE_PIECES = 4, 5  # of a line of z; of a label's axis that surfaces cross
_LABEL_EDGES, _LABEL_NODES = np.linspace(-12, 12, 17), 16  # He4(h)^2 has died out at 12
# Off zero, where kinks like to lie: a zero on the scan hides a root beside it.
_SCAN = np.linspace(-REACH, REACH, 121) + 0.0123


@dataclass(frozen=True, eq=False)
class CutRule:
    """The averages for one or two neurons, with about so many `points`; `scale` < 1 takes fewer nodes on each line."""

    target: Target
    descent: Descent
    points: int
    scale: float = 1.0

    def __call__(self, overlap: Floats, gram: Floats) -> Averages:
        root = triangular_root(gram - overlap @ overlap.T)
        labels = self._labels(overlap, root)
        line, fields, weights = np.arange(len(labels.weights)), labels.directions @ overlap.T, labels.weights
        for axis in range(self.descent.width):
            crossings = self._crossings(axis, fields, root, labels.mean[line])
            nodes = max(4, int(self.scale * _LINE_NODES[self.descent.width]))
            parent, x, w = gaussian_lines(LINE_EDGES, crossings, nodes)
            line, weights = line[parent], weights[parent] * w
            fields = fields[parent] + x[:, None] * root[:, axis]
        return average(self.descent, labels.taken(line, weights), fields)

    def _crossings(self, axis: int, fields: Floats, root: Floats, labels: Floats) -> Floats:
        """Positions (lines, most) on the axis at which the integrand jumps or bends."""
        kinks = np.array(self.descent.activation.kinks) - self.descent.biases[axis]
        if root[axis, axis] == 0:
            return np.empty((len(fields), 0))
        found = [(kinks - fields[:, axis, None]) / root[axis, axis]]
        if self.descent.reach != 0 and (self.descent.width == 1 or self.descent.loss == "correlation"):
            found += [self._shifted_crossings(axis, fields, root, labels, kink) for kink in kinks]
        return np.concatenate(found, axis=1)

    def _shifted_crossings(self, axis: int, fields: Floats, root: Floats, labels: Floats, kink: float) -> Floats:
        def above(line: Integers, position: Floats) -> Floats:
            moved = fields[line] + position[:, None] * root[:, axis]
            return self.descent.shifted(moved, labels[line])[:, axis] - kink

        return pad_by_line(*roots_on_lines(above, len(fields), _SCAN), len(fields), REACH)

    def _labels(self, overlap: Floats, root: Floats) -> Labels:
        target, raw = self.target, self.descent.reach != 0
        axes = label_axes(target, raw)
        if axes == 1 and not target.hidden:
            return self._refined_labels(overlap[:, 0], np.sqrt(np.sum(root**2, axis=1)))
        cut_at_zero = raw and axes == 2  # with more axes, too few nodes are left for the many pieces
        nodes = int(self.scale * self._label_nodes(axes, cut_at_zero))
        return label_points(target, max(3, nodes), (0.0,), raw, cut_at_zero)

    def _label_nodes(self, axes: int, cut_at_zero: bool) -> int:
        """As many as make, with two pieces an axis and the lines of z, a rule of the size that can be paid for."""
        line = _LINE_PIECES * _LINE_NODES[self.descent.width]
        pieces = 2**axes * (_SURFACE_PIECES / 2 if cut_at_zero else 1)
        return min(_MOST_LABEL_NODES, int((self.points / line**self.descent.width / pieces) ** (1 / axes)))

    def _refined_labels(self, overlap: Floats, spread: Floats) -> Labels:
        """The axis of h, cut at the target's kinks and refined where a field, known up to `spread`, meets a kink."""
        breaks = list(self._fixed_breaks)
        for index, slope in enumerate(overlap):
            for centre in self._meeting_points(index, overlap):
                breaks += _graded(centre, spread[index] / max(abs(slope), spread[index]))
        edges = np.unique(np.clip([*breaks, *_LABEL_EDGES], _LABEL_EDGES[0], _LABEL_EDGES[-1]))
        h, weights = gaussian_panels(edges, int(self.scale * _LABEL_NODES))
        kept = weights > 1e-18
        return from_rule(self.target, Rule(h[kept, None], weights[kept]), self.target.link, raw=False)

    @cached_property
    def _fixed_breaks(self) -> list[float]:
        """The target's kinks on the axis of h, and where y changes sign: there a jump of the shifted field ends."""
        breaks = [*static_breaks(self.target.kinks, 0, 1), *singular_breaks(self.target)]
        if self.descent.reach != 0:
            breaks += roots_on_lines(lambda _, h: self.target.link(h[:, None]), 1, 1.3 * _SCAN)[1].tolist()
        return breaks

    def _meeting_points(self, index: int, overlap: Floats) -> list[float]:
        """Where the mean field M h of a neuron, before or after an inner step, meets a kink."""
        points: list[float] = []
        for kink in self.descent.activation.kinks:
            level = kink - self.descent.biases[index]
            if overlap[index] != 0:
                points.append(level / overlap[index])
            if self.descent.reach != 0:

                def above(_: Integers, h: Floats, level: float = level) -> Floats:
                    moved = self.descent.shifted(h[:, None] * overlap, self.target.link(h[:, None]))
                    return moved[:, index] - level

                points += roots_on_lines(above, 1, _SCAN)[1].tolist()
        return points


def _graded(centre: float, scale: float) -> list[float]:
    """Breaks around a centre at distances scale, 2 scale, 4 scale, ... up to 1."""
    steps = scale * 2.0 ** np.arange(0, max(1, int(np.ceil(-np.log2(max(scale, 1e-9)))) + 1))
    return [centre, *(centre + steps), *(centre - steps)]
