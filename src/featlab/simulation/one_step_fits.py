"""One gradient step of relu neurons on labels without their linear part, and ridge regression after it.

With one step size for all of a label, its linear part y_1 = <mean(y x), x> would drown the rest of it (Dandi et al.
2023, arXiv:2305.18270). Here it is taken off, as the batch at hand has it. Samples are arrays in d dimensions, and
everything is NumPy: what such steps find is far from any limit, and is measured as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from featlab.gaussian.hermite import Floats

Numbers = TypeVar("Numbers", NDArray[np.float32], NDArray[np.float64])

_CHUNK = 8192


def relu_gradient(weights: Numbers, inputs: Numbers, labels: Numbers) -> Numbers:
    """mean(y relu'(<w_i, x>) x) of each neuron, (p, d): the gradient of the correlation of label and neuron."""
    total = np.zeros_like(weights)
    for part in _chunks(len(inputs)):
        total += ((inputs[part] @ weights.T > 0) * labels[part, None]).T @ inputs[part]
    return total / weights.dtype.type(len(inputs))


def linear_part(inputs: Numbers, labels: Numbers) -> Numbers:
    """<mean(y x), x> at every sample."""
    return inputs @ (labels @ inputs / labels.dtype.type(len(inputs)))


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


def _chunks(count: int) -> Sequence[slice]:
    return [slice(begin, begin + _CHUNK) for begin in range(0, count, _CHUNK)]
