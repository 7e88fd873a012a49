"""What learns tree targets: all quadratics, two layers, three layers; in NumPy and single precision, for many runs.

The rule of the layers is that of `featlab.Layerwise` with a quadratic first activation on one batch: there the gradient
of a neuron is 2 A w with A = mean[y x x^T], so that all steps of all neurons cost n d^2 and not n d p. A run gives the
risks after several numbers of second steps at once, where a simulation has one, and nothing is compiled. The tests hold
it to loops as they are written; one run at d = 64, n = 16,384 with 50 second steps left .333 (two layers) and .097
(three), where a simulation with n = 16,000 left .334 and .098. All risks are shares of the variance of the label, on
fresh samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from featlab.learners.fields import LEAVE_ONE_OUT
from featlab.simulation.ridge import Fit, Rows, fit_primal
from featlab.targets import TreeTarget

Values = NDArray[Any]  # in single precision, unless said otherwise
# As those of the exhibit depth: eight large steps are where more of them on one batch end, too.
FIRST_STEPS, FIRST_STEP = 8, 50.0
_RIDGES = (0.3, 1.0, 3.0)  # times the number of features over n
_RATES, _BATCH, _LOOK = (0.01, 0.003), 500, 5  # of Adam
_ROUNDING = 1e-6  # of single precision, relative to the largest eigenvalue


class Samples(NamedTuple):
    """Inputs x (n, d), of which the first are along the target's directions, and labels y (n,)."""

    x: Values
    y: Values


def drawn(draw: np.random.Generator, tree: TreeTarget, count: int, dim: int) -> Samples:
    """So many samples of a tree with a given number of directions."""
    x = draw.standard_normal((count, dim), dtype=np.float32)
    return Samples(x, tree.link(x[:, : tree.rank]).astype(np.float32))


def first_layer(draw: np.random.Generator, batch: Samples, neurons: int) -> Values:
    """Rows of norm 1 (p, d) after large spherical steps with He2 on one batch."""
    dim = batch.x.shape[1]
    rows = _unit(draw.standard_normal((neurons, dim), dtype=np.float32))
    matrix = batch.x.T @ (batch.y[:, None] * batch.x) / len(batch.x)
    for _ in range(FIRST_STEPS):
        slope = 2 * rows @ matrix
        slope -= np.sum(slope * rows, axis=1, keepdims=True) * rows
        rows = _unit(rows + FIRST_STEP * slope)
    return rows


def aligned(draw: np.random.Generator, tree: TreeTarget, neurons: int) -> Values:
    """Rows of norm 1 that are uniform within the target's directions (p, D r), for inputs of no other ones."""
    return _unit(draw.standard_normal((neurons, tree.rank), dtype=np.float32))


def features(rows: Values, x: Values) -> Values:
    """(h2 + h3)(<w_i, x>) / sqrt(p)."""
    fields = x @ rows.T
    square = fields * fields
    return ((square - 1) / 2**0.5 + fields * (square - 3) / 6**0.5) / len(rows) ** 0.5


def two_layers(rows: Values, fitted: Samples, tested: Samples) -> float:
    """The share of the variance that a ridge regression on the first layer's features leaves of fresh samples."""
    fit = ridge(features(rows, fitted.x), fitted.y)
    return left(tested.y, features(rows, tested.x) @ fit.coefficients)


def three_layers(
    draw: np.random.Generator,
    rows: Values,
    second: Samples,
    last: Samples,
    tested: Samples,
    *,
    neurons: int,
    step_size: float,
    steps: Sequence[int],
) -> Iterator[float]:
    """The same with a second layer of tanh neurons before the fit, after each of these numbers of preconditioned steps
    from zero, v_j <- v_j + eta mean[(y - f) a_j tanh'(<v_j, z> + c_j) z] (mean[z z^T] + lambda)^-1.

    Args:
        draw: for biases c ~ N(0, 1) and signs a ~ N(0, 1), both paired so that f = 0 at first.
        second, last, tested: fresh samples for the second layer, for the last one, and for the risk.
        neurons: of the second layer, an even number.
    """
    half = draw.standard_normal((2, neurons // 2), dtype=np.float32)
    signs, biases = np.concatenate([half[0], -half[0]]), np.tile(half[1], 2)
    z = features(rows, second.x)
    sizes, basis = _axes(z)
    z, others = z @ basis, [(features(rows, part.x) @ basis, part.y) for part in (last, tested)]
    inverse = (step_size / (sizes + ridge(z, second.y).ridge)).astype(np.float32)
    layer = np.zeros((neurons, len(sizes)), np.float32)
    for step in range(1, max(steps) + 1):
        values = np.tanh(z @ layer.T + biases)
        missed = second.y - values @ signs / neurons
        slope = (missed[:, None] * signs * (1 - values**2)).T @ z / len(z)
        layer = layer + slope * inverse
        if step in steps:
            seen = [np.tanh(part @ layer.T + biases) / neurons**0.5 for part, _ in others]
            yield left(others[1][1], seen[1] @ ridge(seen[0], others[0][1]).coefficients)


def all_quadratics(fitted: Samples, tested: Samples) -> float:
    """Ridge regression on all quadratics, linear functions and the constant; of three ridges the best on half of the
    tested samples, the risk on the other half."""
    (samples, dim), half = fitted.x.shape, len(tested.y) // 2
    unit = dim * (dim + 1) / 2 / samples
    values = [_values(tested.x, conjugate(*fitted, unit * factor)) for factor in _RIDGES]
    best = min(values, key=lambda value: left(tested.y[:half], value[:half]))
    return left(tested.y[half:], best[half:])


def conjugate(x: Values, y: Values, ridge: float, accuracy: float = 1e-3) -> Values:
    """The coefficients (d + 1, d + 1) of the ridge regression of y on all quadratics: min over symmetric M, vectors b
    and numbers c of mean (y - f)^2 + ridge (|M|^2 + |b|^2 + c^2) with f as in `_values`, by conjugate gradients."""
    dim = x.shape[1]

    def back(values: Values) -> Values:
        """The transpose of `_values`, over n."""
        found = np.zeros((dim + 1, dim + 1), np.float32)
        found[:dim, :dim] = (x.T @ (values[:, None] * x) - values.sum() * np.eye(dim, dtype=np.float32)) / 2**0.5
        found[:dim, dim], found[dim, dim] = x.T @ values, values.sum()
        return found / len(x)

    rest = back(y)
    found, towards, size = np.zeros_like(rest), rest, float(np.sum(rest**2))
    goal = accuracy**2 * size
    while size > goal:
        image = back(_values(x, towards)) + ridge * towards
        share = size / float(np.sum(towards * image))
        found, rest = found + share * towards, rest - share * image
        before, size = size, float(np.sum(rest**2))
        towards = rest + size / before * towards
    return found


def _values(x: Values, coefficients: Values) -> Values:
    """f(x) = (x^T M x - tr M)/sqrt(2) + b.x + c, every feature of variance 1."""
    dim = x.shape[1]
    matrix, linear, constant = coefficients[:dim, :dim], coefficients[:dim, dim], coefficients[dim, dim]
    return (np.sum((x @ matrix) * x, axis=1) - np.trace(matrix)) / 2**0.5 + x @ linear + constant


def trained_together(
    draw: np.random.Generator, batch: Samples, fitted: Samples, tested: Samples, *, rank: int, neurons: int, epochs: int
) -> float:
    """Two layers of relu neurons trained together by Adam, in the span of the leading `rank` eigenvectors of
    mean[y (x x^T - 1)] over a batch, where the steps of `first_layer` end. The best of all step sizes and stops by the
    tested samples themselves, which favours it."""
    matrix = batch.x.T @ (batch.y[:, None] * batch.x) / len(batch.x) - batch.y.mean() * np.eye(batch.x.shape[1])
    values, vectors = np.linalg.eigh(matrix)
    span = vectors[:, np.argsort(-np.abs(values))[:rank]].astype(np.float32)
    inside, seen = (Samples(part.x @ span, part.y) for part in (fitted, tested))
    return min(adam(draw, inside, seen, rate, neurons, epochs) for rate in _RATES)


def adam(draw: np.random.Generator, fitted: Samples, tested: Samples, rate: float, neurons: int, epochs: int) -> float:
    """The least risk while f(x) = a . relu(W x + b) is trained, rates falling to zero; a look every fifth epoch."""
    (count, dim), batches = fitted.x.shape, len(fitted.x) // _BATCH
    shapes = [(neurons, dim), (neurons,), (neurons,)]
    scales = [dim**-0.5, 0.5, neurons**-0.5]
    layers = [
        scale * draw.standard_normal(shape, dtype=np.float32) for scale, shape in zip(scales, shapes, strict=True)
    ]
    moments = [(np.zeros_like(layer), np.zeros_like(layer)) for layer in layers]
    first, biases, second = layers
    risks, step, total = [], 0, epochs * batches
    for epoch in range(1, epochs + 1):
        for rows in draw.permutation(count)[: batches * _BATCH].reshape(-1, _BATCH):
            x, y = fitted.x[rows], fitted.y[rows]
            fields = x @ first.T + biases
            values = np.maximum(fields, 0)
            missed = (values @ second - y) / _BATCH
            slopes = (fields > 0) * missed[:, None] * second
            step += 1
            for layer, slope, (mean, square) in zip(
                layers, (slopes.T @ x, slopes.sum(axis=0), missed @ values), moments, strict=True
            ):
                mean += 0.1 * (slope - mean)
                square += 0.001 * (slope**2 - square)
                sizes = np.sqrt(square / (1 - 0.999**step)) + 1e-8
                layer -= rate * (1 - step / total) / (1 - 0.9**step) * mean / sizes
        if epoch % _LOOK == 0:
            risks.append(left(tested.y, np.maximum(tested.x @ first.T + biases, 0) @ second))
    return min(risks)


def _axes(z: Values) -> tuple[Values, Values]:
    """Eigenvalues (k,) and vectors (p, k) of mean[z z^T] but those that are zero up to rounding: neurons that lie in
    few directions have fewer features than they are."""
    double = z.astype(np.float64)
    values, vectors = np.linalg.eigh(double.T @ double / len(z))
    kept = values > _ROUNDING * values[-1]
    return values[kept], vectors[:, kept].astype(np.float32)


def ridge(phi: Values, labels: Values) -> Fit:
    """Ridge regression at the ridge that leave-one-out chooses, in double precision."""
    whole = phi.astype(np.float64), labels.astype(np.float64)
    return fit_primal(Rows(lambda index: whole, 1, len(labels)), LEAVE_ONE_OUT)


def left(labels: Values, fitted: Values) -> float:
    """The mean squared error over the variance of the labels."""
    return float(np.mean((labels - fitted) ** 2) / np.var(labels))


def _unit(rows: Values) -> Values:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
