"""One gradient step of relu neurons on labels whose linear part is weighed anew, and ridge regression after it.

With one step size for all of a label, its linear part y_1 = <mean(y x), x> would drown the rest of it (Dandi et al.
2023, arXiv:2305.18270). Here it is weighed less, or taken off altogether, as the batch at hand has it. Samples are
arrays in d dimensions, and everything is NumPy: what such steps find is far from any limit, and is measured as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from featlab.gaussian.hermite import Floats

Numbers = TypeVar("Numbers", NDArray[np.float32], NDArray[np.float64])

_CHUNK = 8192
# The ridges among which a validation set chooses, as shares of the mean eigenvalue of the features' Gram matrix.
_RIDGE_SHARES = tuple(10.0**power for power in range(-6, 2))


def relu_gradient(weights: Numbers, inputs: Numbers, labels: Numbers) -> Numbers:
    """mean(y relu'(<w_i, x>) x) of each neuron, (p, d): the gradient of the correlation of label and neuron."""
    total = np.zeros_like(weights)
    for part in _chunks(len(inputs)):
        total += ((inputs[part] @ weights.T > 0) * labels[part, None]).T @ inputs[part]
    return total / weights.dtype.type(len(inputs))


def linear_part(inputs: Numbers, labels: Numbers) -> Numbers:
    """<mean(y x), x> at every sample."""
    return inputs @ (labels @ inputs / labels.dtype.type(len(inputs)))


@dataclass(frozen=True)
class Terms:
    """A target as a sum of uncorrelated terms.

    Attributes:
        values: inputs (n, d) -> the terms (n, T).
        energies: E[term^2], (T,).
    """

    values: Callable[[Floats], Floats]
    energies: Floats


@dataclass(frozen=True)
class TermsLearned:
    """After a step and a fit.

    Attributes:
        risk: E[(y - f)^2].
        coefficients: E[f term] / E[term^2], (T,); 1 is fully learned.
        cosines: root mean square over neurons of those with each axis, (d,).
    """

    risk: float
    coefficients: Floats
    cosines: Floats


def step_and_fit(
    terms: Terms, *, dim: int, samples: int, width: int, rest: float, test: int, seed: int
) -> TermsLearned:
    """One step W + a mean(y' relu'(W x) x), a = +-1, on y' = y_1 + rest (y - y_1); then a second layer.

    It is fitted to as many fresh samples on relu(<w_i, x> + b_i), b_i ~ N(0, 1), the inputs and a constant, by ridge
    regression, with the penalty that is best on a validation set.

    Args:
        terms: of the target, none of them constant.
        rest: how much more than its linear part the rest of a label counts in the step.
        test: the samples that risk and coefficients are measured on; half as many validate.
        seed: of all randomness.
    """
    draw = np.random.default_rng(seed)
    weights = draw.standard_normal((width, dim))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    inputs = draw.standard_normal((samples, dim))
    labels = terms.values(inputs).sum(axis=1)
    labels = labels - labels.mean()
    linear = linear_part(inputs, labels)
    signs = draw.choice([-1.0, 1.0], width)
    weights = weights + signs[:, None] * relu_gradient(weights, inputs, linear + rest * (labels - linear))
    biases = draw.standard_normal(width)

    def features(inputs: Floats) -> Floats:
        return np.column_stack([np.ones(len(inputs)), inputs, np.maximum(inputs @ weights.T + biases, 0)])

    fit, validation, tests = (draw.standard_normal((count, dim)) for count in (samples, test // 2, test))
    fitted = _ridge_path(features(fit), terms.values(fit).sum(axis=1))
    scored = [_score(features(validation) @ one, terms.values(validation), terms.energies)[0] for one in fitted]
    best = fitted[int(np.argmin(scored))]
    risk, coefficients = _score(features(tests) @ best, terms.values(tests), terms.energies)
    cosines = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    return TermsLearned(risk, coefficients, np.sqrt(np.mean(cosines**2, axis=0)))


def residual_risk(
    link: Callable[[Floats], Floats],
    rank: int,
    *,
    dim: int,
    samples: int,
    width: int,
    rate: float,
    test: int,
    seed: int,
) -> float:
    """What is left of labels without mean and linear part by one step on them and ridge regression on the same batch.

    From N(0, 1/d) weights, W + rate a mean(r relu'(W x) x) with a ~ N(0, 1); then |r - Phi c|^2 + |c|^2 is minimised,
    Phi = relu(W x) / sqrt(p). With rate 0 it is ridge regression on random features.

    Args:
        link: y of the first `rank` coordinates (n, rank).
        test: fresh samples that the risk is measured on, their labels without mean and linear part likewise.
        seed: of all randomness.
    """
    draw = np.random.default_rng(seed)
    weights = draw.standard_normal((width, dim), np.float32) / np.float32(dim**0.5)
    second = draw.standard_normal((width, 1), np.float32)

    def sample(count: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        inputs = draw.standard_normal((count, dim), np.float32)
        labels = np.asarray(link(inputs[:, :rank].astype(np.float64)), np.float32)
        return inputs, labels - labels.mean() - linear_part(inputs, labels)

    inputs, residual = sample(samples)
    weights = weights + np.float32(rate) * second * relu_gradient(weights, inputs, residual)
    gram, moment, scale = np.eye(width), np.zeros(width), np.float32(width**0.5)
    for part in _chunks(samples):
        features = np.maximum(inputs[part] @ weights.T, 0) / scale
        gram += features.T @ features
        moment += features.T @ residual[part]
    fitted = np.linalg.solve(gram, moment)
    inputs, residual = sample(test)
    errors = [residual[part] - np.maximum(inputs[part] @ weights.T, 0) / scale @ fitted for part in _chunks(test)]
    return float(np.mean(np.concatenate(errors) ** 2))


def _ridge_path(features: Floats, labels: Floats) -> list[Floats]:
    """Ridge regression at every penalty."""
    values, vectors = np.linalg.eigh(features.T @ features / len(features))
    turned, scale = vectors.T @ (features.T @ labels / len(features)), float(values.mean())
    return [vectors @ (turned / (values + share * scale)) for share in _RIDGE_SHARES]


def _score(answer: Floats, parts: Floats, energies: Floats) -> tuple[float, Floats]:
    """E[(y - f)^2] and the coefficients of the terms in f: from Var y - 2 E[y f] + E[f^2] with Var y known, because a
    mean of the heavy-tailed (y - f)^2 over samples would say little."""
    coefficients = parts.T @ answer / len(answer) / energies
    return float(energies.sum() - 2 * coefficients @ energies + np.mean(answer**2)), coefficients


def _chunks(count: int) -> Sequence[slice]:
    return [slice(begin, begin + _CHUNK) for begin in range(0, count, _CHUNK)]
