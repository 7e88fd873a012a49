"""How the averages of one-pass learning are computed: which points stand for the fields, and how accurate they are.

The points for h and the fields lambda = M h + L z are one of these.

    product  Gauss rules on every axis of z, the same for every h: exact for polynomials, spectrally accurate for smooth
             activations.
    cut      lines of z cut where a field meets a kink of the activation (one or two neurons).
    pairs    for many neurons, averages over one and over two of them (`cuts.PairRule`); E[D_i D_j] is sampled.
    sampled  a scrambled Sobol sequence in all variables, symmetrised and whitened, so that its odd moments vanish and
             its second moments are exact: only for many neurons that make inner steps with the squared loss.

The first is exact when activation and target are polynomials and the points can be afforded. All others come in two
versions whose difference states the error: fewer nodes, or another scrambling.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from featlab.gaussian.activations import Activation
from featlab.gaussian.hermite import Floats
from featlab.gaussian.matrices import symmetric_root
from featlab.gaussian.quadrature import nested_rule
from featlab.gaussian.sobol import balanced_normals
from featlab.targets import Target
from featlab.theory.online.averages import Averages, AveragesOf, Descent, average, noise_of
from featlab.theory.online.cuts import CutRule, PairRule
from featlab.theory.online.labels import Labels, label_axes, label_points, singular_breaks
from featlab.theory.question import NoPrediction

_POINTS = 2**18  # of one rule: some 20 ms an average
_NUMBERS = 2**20  # points times neurons
_ENOUGH_NODES, _FEWEST_NODES = 20, 10  # on an axis of a smooth function; with fewer than 10, sampling is better
_LABEL_NODES = {1: 40, 2: 24, 3: 12}  # for E[y^2]
_FEWEST_POINTS = 2**12  # of the rule of a single neuron
_NOISE_SHARE = 4  # of the points go into E[D_i D_j], which need not be as accurate as the drift
_MOST_NEURONS = 256  # of which the points of E[D_i D_j] are four times as many as their coordinates
_COARSER = 0.75
_CUT_NEURONS = 2
# One label axis and one neuron: enough pieces for eight digits. An inner step sharpens the label: He3(h) = 50 at h = 4.
_FINE_LABEL, _FINE_FIELD = (-3.0, -1.5, 0.0, 1.5, 3.0), (-2.0, 0.0, 2.0)
_FINE_INNER = tuple(np.linspace(-6, 6, 25).tolist())


@dataclass(frozen=True)
class Accuracy:
    """The averages and how accurate they are.

    Attributes:
        best: the averages.
        other: a second version, whose difference from the first states the error; None if they are exact.
        words: what they are.
        tolerance: for an integration in time. Averages over a fixed sample are not smooth in M and Q, and a solver that
            asked for more than the sample gives would take tiny steps for nothing.
    """

    best: AveragesOf
    other: AveragesOf | None
    words: str
    tolerance: float = 1e-8


def averages(target: Target, descent: Descent, points: int = _POINTS) -> Accuracy:
    """The averages for a student that learns this target, by the most accurate rule of about so many points."""
    _check_width(descent)
    points = min(points, _NUMBERS // descent.width)
    exact = _exact_nodes(target, descent, points)
    if exact is not None:
        labels = label_points(target, exact[0], (), descent.reach != 0, False)
        return Accuracy(_product(descent, labels, (), exact[1]), None, "exact (polynomials)")
    kinks = bool(descent.activation.kinks)
    if kinks and descent.width <= _CUT_NEURONS:
        cut = CutRule(target, descent, points)
        return Accuracy(cut, replace(cut, scale=_COARSER), "quadrature cut at the kinks")
    axes = label_axes(target, descent.reach != 0) + descent.width
    per_axis = int(points ** (1 / axes))
    # lambda + rho d D is as steep as y is large: few nodes miss it, unless there are as many pieces as on two axes.
    steep = descent.reach != 0 and axes > 2
    if kinks or steep or per_axis < _ENOUGH_NODES:
        if descent.width > 1 and (descent.loss == "correlation" or descent.reach == 0):
            fine, coarse = (pair_rule(target, descent, points, *version) for version in ((1, 1.0), (2, _COARSER)))
            return Accuracy(fine, coarse, "quadrature over neurons and pairs, Sobol points for E[D_i D_j]", 1e-4)
        if kinks or steep or per_axis < _FEWEST_NODES:
            return sampled(target, descent, points)
    best, other = (_smooth(target, descent, per_axis, scale) for scale in (1.0, _COARSER))
    return Accuracy(best, other, "quadrature")


def sampled(target: Target, descent: Descent, points: int) -> Accuracy:
    """By so many points of a Sobol sequence, whatever the target and the activation are."""
    _check_width(descent)
    first, second = (_sampled(target, descent, points, key) for key in (1, 2))
    return Accuracy(first, second, "Sobol points", 1e-4)


def _check_width(descent: Descent) -> None:
    """Points that are fewer than their coordinates cannot have the covariance of N(0, I)."""
    if descent.width > _MOST_NEURONS:
        raise NoPrediction(
            f"averages over {descent.width:,} neurons are taken on {_NUMBERS:,} numbers, {8 * _NUMBERS:,} bytes, which "
            f"is enough for at most {_MOST_NEURONS} neurons; more can be simulated"
        )


def polynomial_degree(activation: Activation) -> int | None:
    """The degree of an activation that is a polynomial: its last Hermite coefficient, if no energy is left. Or None."""
    coefficients = activation.hermite_coefficients(24)
    degree = int(np.max(np.flatnonzero(coefficients), initial=0))
    return degree if degree < 24 and activation.residual(degree) < 1e-20 * activation.second_moment else None


def _field_degree(descent: Descent, degree: int, label_degree: int) -> int:
    """The degree of D for a polynomial activation, in an axis on which y has `label_degree` and the fields degree 1."""
    squared = descent.loss == "squared"
    residual = max(label_degree, degree) if squared else label_degree
    inner = max(1, degree - 1 + residual) if descent.reach != 0 else 1
    return (degree - 1) * inner + (max(label_degree, degree * inner) if squared else label_degree)


def _exact_nodes(target: Target, descent: Descent, most: int) -> tuple[int, int] | None:
    """Nodes on each axis of the label and of z that make every average exact, if there are such and not too many."""
    degree = polynomial_degree(descent.activation)
    if degree is None or target.degree is None:
        return None
    top = max(target.degree, degree)
    label, field = (1 + max(top, _field_degree(descent, degree, y)) for y in (target.degree, 0))
    points = float(label) ** label_axes(target, descent.reach != 0) * float(field) ** descent.width
    return (label, field) if points <= most and max(label, field) <= 64 else None


@dataclass(frozen=True, eq=False)
class FixedRule:
    """Points that are the same for every M and Q: those of the label, each with its own z (n, p)."""

    descent: Descent
    labels: Labels
    normals: Floats

    def __call__(self, overlap: Floats, gram: Floats) -> Averages:
        return average(self.descent, self.labels, self._fields(overlap, gram))

    def noise(self, overlap: Floats, gram: Floats) -> Floats:
        """E[D_i D_j] alone."""
        return noise_of(self.descent, self.labels, self._fields(overlap, gram))

    def _fields(self, overlap: Floats, gram: Floats) -> Floats:
        across = self.normals @ symmetric_root(gram - overlap @ overlap.T)
        return self.labels.directions @ overlap.T + across


def _product(descent: Descent, labels: Labels, breaks: tuple[float, ...], nodes: int) -> FixedRule:
    """Every point of the label with every point of z: so many Gauss points on each piece of each axis."""
    rule = nested_rule((), descent.width, nodes, breaks)
    count = len(rule.weights)
    place, other = np.divmod(np.arange(len(labels.weights) * count), count)
    return FixedRule(descent, labels.taken(place, labels.weights[place] * rule.weights[other]), rule.points[other])


def _smooth(target: Target, descent: Descent, per_axis: int, scale: float) -> FixedRule:
    """Half-range Gauss rules on every axis; a polynomial in z needs no break and few nodes."""
    raw, degree = descent.reach != 0, polynomial_degree(descent.activation)
    label_breaks: tuple[float, ...] = (0.0,)
    field_breaks: tuple[float, ...] = (0.0,)
    label_nodes = field_nodes = max(2, int(scale * per_axis) // 2)
    if label_axes(target, raw) == 1 and descent.width == 1:
        label_breaks, field_breaks = _FINE_INNER if raw else _FINE_LABEL, _FINE_FIELD
        label_breaks += singular_breaks(target)
        label_nodes, field_nodes = int(16 * scale), int(24 * scale)
    if degree is not None:
        exact = 1 + max(degree, _field_degree(descent, degree, 0))
        if exact <= field_nodes * (len(field_breaks) + 1):
            field_breaks, field_nodes = (), exact
    labels = label_points(target, label_nodes, label_breaks, raw, False)
    return _product(descent, labels, field_breaks, field_nodes)


def pair_rule(target: Target, descent: Descent, points: int, key: int, scale: float) -> PairRule:
    """The rule of pairs; `key` scrambles what is sampled, `scale` < 1 takes fewer nodes for the rest."""
    singles: list[AveragesOf] = []
    for second, bias in zip(descent.second, descent.biases, strict=True):
        one = replace(descent, second=np.array([second]), biases=np.array([bias]), loss="correlation")
        rules = averages(target, one, max(_FEWEST_POINTS, points // descent.width))
        singles.append(rules.best if scale == 1 or rules.other is None else rules.other)
    labels = label_points(target, _LABEL_NODES[min(target.rank, 3)], (0.0,), False, False)
    square = float(labels.weights @ labels.square)
    return PairRule(descent, singles, _sampled(target, descent, points // _NOISE_SHARE, key).noise, square, scale)


def _sampled(target: Target, descent: Descent, points: int, key: int) -> FixedRule:
    raw = descent.reach != 0
    inside = target.rank + target.hidden
    axes = inside + (raw and target.noise > 0)
    normals, weights = balanced_normals(axes + descent.width, int(np.log2(points)), key, axes)
    values = target.link(normals[:, :inside])
    if axes > inside:
        values = values + np.sqrt(target.noise) * normals[:, inside]
    square = values**2 if raw else values**2 + target.noise
    labels = Labels(normals[:, : target.rank], values, square, weights)
    return FixedRule(descent, labels, normals[:, axes:])
