"""The straightforward versions that the simulations are measured against: explicit inputs, NumPy, float32."""

from __future__ import annotations

import numpy as np

from featlab.gaussian.hermite import Floats


def gaussian_batch(rows: int, dim: int) -> np.ndarray:
    """X stored: n x d numbers in float32."""
    return np.random.default_rng(0).standard_normal((rows, dim), dtype=np.float32)


def full_batch_steps(batch: np.ndarray, width: int, steps: int, step_size: float) -> Floats:
    """Steps of relu neurons on He3 of the first coordinate, squared loss: two products with X a step, by BLAS."""
    rows, dim = batch.shape
    labels = batch[:, 0] ** 3 - 3 * batch[:, 0]
    weights = gaussian_batch(width, dim)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    for _ in range(steps):
        fields = batch @ weights.T
        residual = labels - np.maximum(fields, 0).mean(axis=1)
        weights += np.float32(step_size / rows) * ((residual[:, None] * (fields > 0)).T @ batch)
    return weights


def one_pass_steps(dim: int, steps: int, step_size: float) -> Floats:
    """Spherical one-pass SGD of one relu neuron on He3, a fresh sample of d numbers drawn at each step."""
    rng = np.random.default_rng(0)
    weight = rng.standard_normal(dim, dtype=np.float32)
    weight /= np.linalg.norm(weight)
    rate = np.float32(step_size / dim)
    for _ in range(steps):
        sample = rng.standard_normal(dim, dtype=np.float32)
        label, field = sample[0] ** 3 - 3 * sample[0], sample @ weight
        change = (label - max(field, 0)) * (field > 0) * sample
        weight += rate * (change - (change @ weight) * weight)
        weight /= np.linalg.norm(weight)
    return weight
