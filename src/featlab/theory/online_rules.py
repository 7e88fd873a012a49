"""How the averages of one-pass learning are computed: which points stand for the fields, and how accurate they are.

The rule for the fields lambda = M h + L z is one of three.

    product  Gauss rules on every axis of z, the same for every h: exact for polynomials, spectrally accurate for smooth
             activations.
    cut      lines of z cut where a field meets a kink of the activation (one or two neurons).
    sampled  for many neurons, a scrambled Sobol sequence in z, symmetrised and whitened, so that its odd moments vanish
             and its second moments are exact. Times the rule for h it is still a product: without overlap (M = 0)
             averages factorise as they must, and no spurious drift starts a search.

The first is exact when activation and target are polynomials and the points can be afforded. All others come in two
versions whose difference states the error: fewer nodes, or another scrambling.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from featlab.gaussian.activations import Activation
from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import gauss_pieces
from featlab.targets import Target
from featlab.theory.online_averages import Averages, AveragesOf, Descent, Samples, average
from featlab.theory.online_cuts import CutRule
from featlab.theory.online_labels import Labels, label_axes, label_points

_POINTS = 2**18  # of one rule: some 20 ms an average
_NUMBERS = 2**20  # points times neurons
_FEWEST_NODES = 10  # on an axis of a smooth function; with fewer, sampling is better
_LABEL_NODES = {1: 48, 2: 20}  # beside sampled fields
_COARSER = 0.75
_CUT_NEURONS = 2
# One label axis and one neuron: enough pieces for eight digits. An inner step sharpens the label: He3(h) = 50 at h = 4.
_FINE_LABEL, _FINE_INNER, _FINE_FIELD = (
    (-3.0, -1.5, 0.0, 1.5, 3.0),
    tuple(np.linspace(-6, 6, 25).tolist()),
    (-2.0, 0.0, 2.0),
)


@dataclass(frozen=True)
class Accuracy:
    """The averages, a second version whose difference from them states the error (None: exact), and what they are."""

    best: AveragesOf
    other: AveragesOf | None
    words: str


def averages(target: Target, descent: Descent) -> Accuracy:
    """The averages for a student that learns this target, by the most accurate rule that can be afforded."""
    exact = _exact_nodes(target, descent)
    if exact is not None:
        return Accuracy(_product(target, descent, exact, ()), None, "exact (polynomials)")
    kinks = bool(descent.activation.kinks)
    if kinks and descent.width <= _CUT_NEURONS:
        return Accuracy(
            CutRule(target, descent, 1.0), CutRule(target, descent, _COARSER), "quadrature cut at the kinks"
        )
    per_axis = int(_points(descent) ** (1 / (label_axes(target, descent.reach != 0) + descent.width)))
    if kinks or per_axis < _FEWEST_NODES:
        return Accuracy(
            _sampled(target, descent, 1), _sampled(target, descent, 2), "quadrature over h, Sobol points in z"
        )
    best, other = (_smooth(target, descent, per_axis, scale) for scale in (1.0, _COARSER))
    return Accuracy(best, other, "quadrature")


def _points(descent: Descent) -> int:
    return min(_POINTS, _NUMBERS // descent.width)


def polynomial_degree(activation: Activation) -> int | None:
    """The degree of an activation that is a polynomial: its last Hermite coefficient, if no energy is left. Or None."""
    coefficients = activation.hermite_coefficients(24)
    degree = int(np.max(np.flatnonzero(coefficients), initial=0))
    return degree if degree < 24 and activation.residual(degree) < 1e-20 * activation.second_moment else None


def field_degree(descent: Descent, degree: int, label_degree: int) -> int:
    """The degree of D for a polynomial activation, in an axis on which y has `label_degree` and the fields degree 1."""
    squared = descent.loss == "squared"
    residual = max(label_degree, degree) if squared else label_degree
    inner = max(1, degree - 1 + residual) if descent.reach != 0 else 1
    return (degree - 1) * inner + (max(label_degree, degree * inner) if squared else label_degree)


def _exact_nodes(target: Target, descent: Descent) -> tuple[int, int] | None:
    """Nodes on each axis of the label and of z that make every average exact, if there are such and not too many."""
    degree = polynomial_degree(descent.activation)
    if degree is None or target.degree is None:
        return None
    top = max(target.degree, degree)
    label, field = (1 + max(top, field_degree(descent, degree, y)) for y in (target.degree, 0))
    points = float(label) ** label_axes(target, descent.reach != 0) * float(field) ** descent.width
    return (label, field) if points <= _points(descent) and max(label, field) <= 64 else None


@dataclass(frozen=True, eq=False)
class ProductRule:
    """Every point of the label with every point of z."""

    descent: Descent
    labels: Labels
    points: Floats  # z (k, p)
    weights: Floats

    def __call__(self, overlap: Floats, gram: Floats) -> Averages:
        root = symmetric_root(gram - overlap @ overlap.T)
        along, across = self.labels.directions @ overlap.T, self.points @ root
        fields = (along[:, None, :] + across).reshape(-1, self.descent.width)
        count = len(self.weights)

        def repeated(values: Floats) -> Floats:
            return np.repeat(values, count, axis=0)

        labels = self.labels
        weights = np.outer(labels.weights, self.weights).ravel()
        samples = Samples(repeated(labels.directions), fields, repeated(labels.mean), repeated(labels.square), weights)
        return average(self.descent, samples)


def symmetric_root(matrix: Floats) -> Floats:
    """The symmetric square root of a positive semidefinite matrix; eigenvalues below zero are those of rounding."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def _product(target: Target, descent: Descent, nodes: tuple[int, int], breaks: tuple[float, ...]) -> ProductRule:
    labels = label_points(target, nodes[0], breaks, descent.reach != 0, False)
    return ProductRule(descent, labels, *_tensor(breaks, nodes[1], descent.width))


def _smooth(target: Target, descent: Descent, per_axis: int, scale: float) -> ProductRule:
    """Half-range Gauss rules on every axis; a polynomial in z needs no break and few nodes."""
    raw, degree = descent.reach != 0, polynomial_degree(descent.activation)
    label_breaks: tuple[float, ...] = (0.0,)
    field_breaks: tuple[float, ...] = (0.0,)
    label_nodes = field_nodes = max(2, int(scale * per_axis) // 2)
    if label_axes(target, raw) == 1 and descent.width == 1:
        label_breaks, field_breaks = _FINE_INNER if raw else _FINE_LABEL, _FINE_FIELD
        label_nodes, field_nodes = int(16 * scale), int(24 * scale)
    if degree is not None:
        exact = 1 + max(degree, field_degree(descent, degree, 0))
        if exact <= field_nodes * (len(field_breaks) + 1):
            field_breaks, field_nodes = (), exact
    labels = label_points(target, label_nodes, label_breaks, raw, False)
    return ProductRule(descent, labels, *_tensor(field_breaks, field_nodes, descent.width))


def _sampled(target: Target, descent: Descent, key: int) -> ProductRule:
    raw = descent.reach != 0
    nodes = _LABEL_NODES.get(label_axes(target, raw), 8) // 2
    labels = label_points(target, nodes, (0.0,), raw, False)
    count = max(_points(descent) // len(labels.weights), 8 * descent.width)
    points = sobol_normals(descent.width, int(np.log2(count)), key)
    return ProductRule(descent, labels, points, np.full(len(points), 1 / len(points)))


@lru_cache(maxsize=32)
def _tensor(breaks: tuple[float, ...], nodes: int, axes: int) -> tuple[Floats, Floats]:
    x, w = gauss_pieces(breaks, nodes)
    points: Any = np.array(list(product(x, repeat=axes)))
    return points, np.prod(np.array(list(product(w, repeat=axes))), axis=1)


@lru_cache(maxsize=8)
def sobol_normals(dimension: int, log2_count: int, key: int) -> Floats:
    """2^log2_count points (n, dimension) like standard normals: +- pairs, with covariance exactly the identity."""
    uniform = qmc.Sobol(dimension, scramble=True, rng=np.random.default_rng([7, key])).random_base2(log2_count - 1)
    half = ndtri(np.where(uniform > 0, uniform, 0.5 / len(uniform)))
    points = np.concatenate([half, -half])
    return points @ np.linalg.inv(np.linalg.cholesky(points.T @ points / len(points))).T
