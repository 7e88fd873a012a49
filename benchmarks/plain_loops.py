"""Learners as a person would write them down: explicit inputs, one loop, NumPy and nothing else.

A referee between theory and simulation where they disagree. So nothing of featlab is imported here, neither its random
numbers nor its activations nor its designs, and every loop is written from the definition of its learner. Targets are
functions of the first coordinates of x, which is as good as any other directions for inputs N(0, I_d).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Function = Callable[[Floats], Floats]


class Sigma(NamedTuple):
    """An activation and its derivative."""

    value: Function
    slope: Function


SIGMAS = {
    "He2": Sigma(lambda u: u**2 - 1, lambda u: 2 * u),
    "He3": Sigma(lambda u: u**3 - 3 * u, lambda u: 3 * u**2 - 3),
    "square": Sigma(lambda u: u**2, lambda u: 2 * u),
    "tanh": Sigma(np.tanh, lambda u: 1 / np.cosh(u) ** 2),
    "relu": Sigma(lambda u: np.maximum(u, 0), lambda u: (u > 0) * 1.0),
}


def planted(rng: np.random.Generator, dim: int, cosine: float) -> Floats:
    """A unit vector with that cosine with the first axis, the rest in a random direction."""
    rest = np.append(0.0, rng.standard_normal(dim - 1))
    return cosine * np.eye(1, dim)[0] + np.sqrt(1 - cosine**2) * rest / np.linalg.norm(rest)


def reused_batch(
    rng: np.random.Generator,
    link: Function,
    sigma: Sigma,
    *,
    dim: int,
    samples: int,
    step: float,
    steps: int,
    cosine: float = 0.0,
    spherical: bool = False,
) -> Floats:
    """Full-batch steps of one neuron on one batch: (overlap, norm) at the start and after each step."""
    inputs = rng.standard_normal((samples, dim))
    labels, weights = link(inputs[:, 0]), planted(rng, dim, cosine)
    path = [(weights[0], np.linalg.norm(weights))]
    for _ in range(steps):
        fields = inputs @ weights
        change = ((labels - sigma.value(fields)) * sigma.slope(fields)) @ inputs / samples
        if spherical:
            change -= (change @ weights) * weights
        weights = weights + step * change
        weights = weights / np.linalg.norm(weights) if spherical else weights
        path.append((weights[0], np.linalg.norm(weights)))
    return np.array(path)


def extragradient(
    rng: np.random.Generator,
    link: Function,
    sigma: Sigma,
    *,
    dim: int,
    step: float,
    inner: float,
    bias: float,
    cosine: float,
    times: int,
) -> Floats:
    """One pass of one neuron, steps and inner steps over d: (overlap, norm) after 0, d, 2 d, ... samples."""
    weights = planted(rng, dim, cosine)
    path = [(weights[0], np.linalg.norm(weights))]

    def force(field: float, label: float) -> float:
        return (label - sigma.value(field + bias)) * sigma.slope(field + bias)

    for _ in range(times):
        inputs = rng.standard_normal((dim, dim))
        with np.errstate(over="ignore", invalid="ignore"):  # a run may diverge, and is then not a number
            for sample, label in zip(inputs, link(inputs[:, 0]), strict=True):
                looked = weights + inner / dim * force(weights @ sample, label) * sample
                weights = weights + step / dim * force(looked @ sample, label) * sample
        path.append((weights[0], np.linalg.norm(weights)))
    return np.array(path)


def spherical_flow(
    rng: np.random.Generator,
    link: Function,
    sigma: Sigma,
    *,
    dim: int,
    samples: int,
    cosine: float,
    steps: int,
    arc: float = 0.1,
    floor: float = 1e-5,
    whitened: bool = False,
) -> Floats:
    """Arcs of steepest descent of one neuron on one batch: its cosine at the start and after each step.

    A step that does not lower the loss goes to the vertex of the parabola through what is known of it, at least a tenth
    and at most half as far. Whitened, the flow is that of z = L^-1 x, L L^T = X^T X / n, and the cosine is that of the
    weights L^-T v.
    """
    inputs = rng.standard_normal((samples, dim))
    labels, point = link(inputs[:, 0]), planted(rng, dim, cosine)
    root = np.linalg.cholesky(inputs.T @ inputs / samples) if whitened else np.eye(dim)
    inputs = np.linalg.solve(root, inputs.T).T if whitened else inputs
    point = root.T @ point / np.linalg.norm(root.T @ point)

    def loss(fields: Floats) -> float:
        return float(np.mean((labels - sigma.value(fields)) ** 2)) / 2

    def seen() -> float:
        weights = np.linalg.solve(root.T, point)
        return float(weights[0])

    path = [seen()]
    for _ in range(steps):
        fields = inputs @ point
        descent = ((labels - sigma.value(fields)) * sigma.slope(fields)) @ inputs / samples
        descent -= (descent @ point) * point
        slope = float(np.linalg.norm(descent))
        ahead, angle, here = inputs @ descent / slope, arc, loss(fields)
        while (change := loss(np.cos(angle) * fields + np.sin(angle) * ahead) - here) >= 0 and angle >= floor:
            angle *= min(max(slope * angle / (2 * (change + slope * angle)), 0.1), 0.5)
        if angle >= floor:
            point = np.cos(angle) * point + np.sin(angle) * descent / slope
            point /= np.linalg.norm(point)
        path.append(seen())
    return np.array(path)


def readout(
    rng: np.random.Generator,
    link: Function,
    sigma: Sigma,
    *,
    dim: int,
    width: int,
    batch: int,
    scale: float,
    samples: int,
    ridge: float,
    test: int = 2**14,
) -> Floats:
    """Risk of ridge regression on random features, and on those after one giant step with second layer +-1."""
    weights = rng.standard_normal((width, dim))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    second = rng.choice([-1.0, 1.0], width)
    inputs = rng.standard_normal((batch, dim))
    fields = inputs @ weights.T
    residuals = link(inputs[:, 0]) - sigma.value(fields) @ second / width
    moved = weights + scale * (residuals[:, None] * sigma.slope(fields) * second).T @ inputs / batch
    risks = []
    for layer in (weights, moved):
        fitted, fresh = rng.standard_normal((samples, dim)), rng.standard_normal((test, dim))
        features, new = (sigma.value(one @ layer.T) / np.sqrt(width) for one in (fitted, fresh))
        normal = features.T @ features / samples + ridge * np.eye(width)
        coefficients = np.linalg.solve(normal, features.T @ link(fitted[:, 0]) / samples)
        risks.append(np.mean((link(fresh[:, 0]) - new @ coefficients) ** 2))
    return np.array(risks)


def folded_message_passing(
    rng: np.random.Generator, *, dim: int, samples: int, overlap: float, nodes: int = 241
) -> Floats:
    """Norms of the two estimates after one iteration of Bayes-AMP on y = sin(h1) |h2| + 2 He5(h2), from M = Q = q I.

    The denoiser is exact but for its rule in h1: at each of its `nodes` h2 has the real roots of a quintic, weighted by
    the Gaussian law over the slope. (A factor of y changes nothing.)
    """
    inputs = rng.standard_normal((samples, dim))
    labels = np.sin(inputs[:, 0]) * np.abs(inputs[:, 1]) + 2 * _he5(inputs[:, 1])
    estimate = np.sqrt(overlap * (1 - overlap) / dim) * rng.standard_normal((2, dim)) + overlap * np.eye(2, dim)
    variance = 1 - overlap
    parts = zip(np.array_split(labels, samples // 50), np.array_split(inputs @ estimate.T, samples // 50), strict=True)
    scores = np.concatenate([_folded_score(part, means, variance, nodes) for part, means in parts])
    precision = scores.T @ scores / dim
    new = np.linalg.solve(np.eye(2) + precision, scores.T @ inputs / dim + precision @ estimate)
    return np.linalg.norm(new, axis=1)


def _folded_score(labels: Floats, means: Floats, variance: float, nodes: int) -> Floats:
    """E[z - omega | y] / V for z ~ N(omega, V I)."""
    first = means[:, :1] + np.sqrt(variance) * np.linspace(-4.5, 4.5, nodes)
    total, moved = np.zeros(len(labels)), np.zeros((len(labels), 2))
    for sign in (1, -1):
        companion = np.zeros((*first.shape, 5, 5))
        companion[..., range(1, 5), range(4)] = 1
        companion[..., 0, 4] = labels[:, None] / 2
        companion[..., 1, 4], companion[..., 3, 4] = -15 - sign * np.sin(first) / 2, 10
        roots = np.linalg.eigvals(companion)
        second, real = roots.real, (np.abs(roots.imag) < 1e-7) & (roots.real * sign > 0)
        slope = np.abs(10 * second**4 - 60 * second**2 + 30 + sign * np.sin(first)[..., None])
        away = np.stack(np.broadcast_arrays((first - means[:, :1])[..., None], second - means[:, 1:, None]))
        weight = np.where(real, np.exp(-np.sum(away**2, axis=0) / (2 * variance)) / slope, 0)
        total += weight.sum(axis=(1, 2))
        moved += np.sum(weight * away, axis=(2, 3)).T
    return moved / total[:, None] / variance


def _he5(x: Floats) -> Floats:
    return x**5 - 10 * x**3 + 15 * x
