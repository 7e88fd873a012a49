"""One gradient step and a ridge under an aligned spike, as plain NumPy on a stored X, a seed at a time."""

from __future__ import annotations

import numpy as np


def labelled(rng, count, dim, strength):
    """x ~ N(0, I + theta beta beta^T) with beta a generic unit vector, y = (He2(h)/sqrt2 + He3(h)/sqrt6)/sqrt2."""
    beta = np.sin(1 + np.arange(dim))
    beta /= np.linalg.norm(beta)
    z = rng.standard_normal((count, dim))
    h = z @ beta
    x = z + (np.sqrt(1 + strength) - 1) * h[:, None] * beta
    return x, ((h**2 - 1) / np.sqrt(2) + (h**3 - 3 * h) / np.sqrt(6)) / np.sqrt(2)


def one_step_risk(seed, *, dim, width, samples, strength, scale, bias_scale, ridge, tested, step_sees_spike=True):
    """W <- W + scale G, new biases, argmin (1/n)|y - Phi a|^2 + ridge |a|^2 on fresh samples; the risk on more."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((width, dim))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    biases = rng.standard_normal(width)
    x, y = labelled(rng, samples, dim, strength if step_sees_spike else 0.0)
    gradient = np.zeros_like(weights)
    for inputs, label in zip(x, y, strict=True):  # one sample after the other
        gradient += np.outer(label * (weights @ inputs + biases > 0), inputs) / samples
    weights = weights + scale * gradient
    biases = bias_scale * rng.standard_normal(width)

    def features(inputs):
        return np.maximum(inputs @ weights.T + biases, 0) / np.sqrt(width)

    x, y = labelled(rng, samples, dim, strength)
    phi = features(x)
    fitted = np.linalg.solve(phi.T @ phi / samples + ridge * np.eye(width), phi.T @ y / samples)
    x, y = labelled(rng, tested, dim, strength)
    return np.mean((y - features(x) @ fitted) ** 2)
