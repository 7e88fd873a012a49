"""The slow obvious version of training three layers one after the other: NumPy, float64, stored samples, one seed."""

from __future__ import annotations

import numpy as np


def quadratic_step(weights, inputs, labels, step_size):
    """w_i <- normalised(w_i + eta (I - w_i w_i^T) mean[y 2 <w_i, x> x]), neuron by neuron: sigma = He2."""
    after = np.empty_like(weights)
    for i, w in enumerate(weights):
        gradient = np.mean((labels * 2 * (inputs @ w))[:, None] * inputs, axis=0)
        gradient -= (gradient @ w) * w
        after[i] = w + step_size * gradient
        after[i] /= np.linalg.norm(after[i])
    return after


def second_layer(features, labels, last, biases, steps, step_size, ridge, preconditioned=True):
    """V after T2 steps from zero with s2 = tanh, sample by sample, on features z (n, p1)."""
    count, width = features.shape
    second = np.zeros((len(last), width))
    gram = features.T @ features / count + ridge * np.eye(width)
    for _ in range(steps):
        gradient = np.zeros_like(second)
        for z, y in zip(features, labels, strict=True):
            fields = second @ z + biases
            missed = y - np.mean(last * np.tanh(fields))
            gradient += np.outer(missed * last * (1 - np.tanh(fields) ** 2), z) / count
        second = second + step_size * (gradient @ np.linalg.inv(gram) if preconditioned else gradient)
    return second


def ridge(features, labels, penalty):
    """a = (Phi^T Phi / n + lambda)^-1 Phi^T y / n."""
    count, width = features.shape
    return np.linalg.solve(features.T @ features / count + penalty * np.eye(width), features.T @ labels / count)
