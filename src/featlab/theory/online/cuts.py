"""Averages over fields on lines that are cut at the kinks of the activation: of one or two neurons, and of many.

Given the label's variables, lambda = M h + L z with L lower triangular, so the kink k of neuron i lies on the axis z_i
at (k - b_i - what is known so far) / L_ii. After an inner step there are more jumps, where the *shifted* field meets a
kink; they are found by scan and bisection.

What is left is to integrate over h a function that is smooth on the scale |L| / |M|. With one direction, the axis of h
is refined down to that scale where it matters, so that the averages stay accurate up to perfect overlap.

For many neurons the averages come from those of single neurons and of pairs, so that their accuracy does not fall with
p. With the correlation loss D_i depends on y and lambda_i alone, so E[D_i h] and E[D_i lambda_i] are averages of one
neuron, and since the other fields are linear in (h, lambda_i) up to something independent,

    E[D_i lambda_j] = <M_j, E[D_i h]> + (C_ij / C_ii) (E[D_i lambda_i] - <M_i, E[D_i h]>),   C = Q - M M^T.

The squared loss (without inner step) subtracts (a_i / p) sum_l a_l E[sigma'_i sigma_l x] for x = h_k or lambda_j, an
average over the pair (lambda_i, lambda_l) alone. Only E[D_i D_j], which involves all neurons at once, is sampled; it
enters with the square of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

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
from featlab.theory.online.averages import Averages, AveragesOf, Descent, average
from featlab.theory.online.labels import Labels, from_rule, label_axes, label_points, singular_breaks

_LINE_EDGES = (-REACH, -2.5, 2.5, REACH)
_LINE_NODES = {1: 16, 2: 8}
_MOST_LABEL_NODES = 24
_PAIR_NODES = 10
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
            parent, x, w = gaussian_lines(_LINE_EDGES, crossings, nodes)
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


class PairTerms(NamedTuple):
    """For lambda_i = sqrt(Q_ii) u and lambda_l = (Q_il / sqrt(Q_ii)) u + t_il v, with u and v independent N(0, 1).

    Attributes:
        product: E[sigma_i sigma_l] (p, p).
        with_first: E[sigma'_i sigma_l u] (p, p).
        with_second: E[sigma'_i sigma_l v] (p, p).
    """

    product: Floats
    with_first: Floats
    with_second: Floats


@dataclass(frozen=True, eq=False)
class PairRule:
    """The averages of many neurons.

    Attributes:
        descent: the student; with the squared loss it makes no inner step.
        singles: for each neuron, its averages alone, with the correlation loss.
        noise: (M, Q) -> E[D_i D_j], sampled.
        label_square: E[y^2].
        scale: < 1 takes fewer nodes.
    """

    descent: Descent
    singles: Sequence[AveragesOf]
    noise: Callable[[Floats, Floats], Floats]
    label_square: float
    scale: float

    def __call__(self, overlap: Floats, gram: Floats) -> Averages:
        width, second = self.descent.width, self.descent.second
        alone = [self.singles[i](overlap[i : i + 1], gram[i : i + 1, i : i + 1]) for i in range(width)]
        drive = np.concatenate([one.drive for one in alone])
        pull = _others(drive, np.array([one.pull[0, 0] for one in alone]), overlap, gram)
        pairs = pair_terms(self.descent, gram, max(4, int(self.scale * _PAIR_NODES)))
        own = np.array([one.risk for one in alone])  # E[(y - a_i sigma_i)^2]
        correlations = (self.label_square + second**2 * np.diag(pairs.product) - own) / 2  # a_i E[y sigma_i]
        risk = self.label_square - 2 * np.mean(correlations) + second @ pairs.product @ second / width**2
        if self.descent.loss == "squared":
            weights = np.outer(second, second) / width
            drive = drive - _contracted(pairs, weights, gram, overlap)
            pull = pull - _contracted(pairs, weights, gram, gram)
        noise = self.noise(overlap, gram)
        if self.descent.loss == "correlation":
            np.fill_diagonal(noise, [one.noise[0, 0] for one in alone])
        return Averages(drive, pull, noise, float(risk))


def _others(drive: Floats, own: Floats, overlap: Floats, gram: Floats) -> Floats:
    """E[D_i lambda_j] for all j, from E[D_i h] and E[D_i lambda_i]."""
    across = gram - overlap @ overlap.T
    variance = np.diag(across)
    rest = own - np.sum(drive * overlap, axis=1)
    free = variance > 1e-14 * np.diag(gram)
    share = np.where(free, rest / np.where(free, variance, 1.0), 0.0)
    return drive @ overlap.T + across * share[:, None]


def _contracted(pairs: PairTerms, weights: Floats, gram: Floats, covariance: Floats) -> Floats:
    """sum_l weights_il E[sigma'_i sigma_l x_k] for fields x of the given covariance (p, k) with lambda: (p, k)."""
    norms, slope, spread = _geometry(gram)
    along = covariance / norms[:, None]  # Cov(x_k, u) for each i
    on_first = np.sum(weights * pairs.with_first, axis=1)[:, None] * along
    ratio = np.where(spread > 0, weights * pairs.with_second / np.where(spread > 0, spread, 1.0), 0.0)
    return on_first + ratio @ covariance - np.sum(ratio * slope, axis=1)[:, None] * along


def _geometry(gram: Floats) -> tuple[Floats, Floats, Floats]:
    """|w_i|; the slope Q_il / |w_i| of lambda_l in u; and t_il, 0 where lambda_l follows from lambda_i."""
    norms = np.sqrt(np.diag(gram))
    slope = gram / norms[:, None]
    variance = np.diag(gram) - slope**2
    return norms, slope, np.sqrt(np.where(variance > 1e-14 * np.diag(gram), variance, 0.0))


def pair_terms(descent: Descent, gram: Floats, nodes: int) -> PairTerms:
    """The averages over every pair of neurons; the lines of u and v are cut at the kinks of sigma."""
    width, sigma, biases = descent.width, descent.activation, descent.biases
    kinks = np.array(sigma.kinks or (0.0,))  # a smooth activation varies fastest around zero
    norms, slope, spread = _geometry(gram)
    terms = np.zeros((3, width, width))
    for i in range(width):
        _, u, u_weights = gaussian_lines(_LINE_EDGES, ((kinks - biases[i]) / norms[i])[None, :], nodes)
        mean = (slope[i][:, None] * u).ravel()  # one line of v for every l and u
        reach = np.repeat(spread[i], u.size)
        level = kinks - np.repeat(biases, u.size)[:, None] - mean[:, None]
        crossings = level / np.where(reach > 0, reach, np.inf)[:, None]
        line, v, v_weights = gaussian_lines(_LINE_EDGES, crossings, nodes)
        neuron, place = np.divmod(line, u.size)
        value = sigma.value(mean[line] + reach[line] * v + biases[neuron])
        field = norms[i] * u + biases[i]
        weights = u_weights[place] * v_weights * value
        sloped = weights * sigma.derivative(field)[place]
        for row, summand in zip(
            terms, (weights * sigma.value(field)[place], sloped * u[place], sloped * v), strict=True
        ):
            row[i] = np.bincount(neuron, summand, minlength=width)
    return PairTerms(*terms)
