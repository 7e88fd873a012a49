"""The slow obvious version of mean-field Langevin dynamics: neurons and samples one by one, float64, on a given X."""

from __future__ import annotations

import math

import numpy as np


def output(x, weights, biases, offsets, scale):
    """f of one sample."""
    total = 0.0
    for w, b, c in zip(weights, biases, offsets, strict=True):
        total += scale * (math.tanh(w @ x + b) + 2 * math.tanh(c)) / 3
    return total / len(biases)


def one_step(inputs, labels, neurons, noise, *, scale, rate, temperature, decay):
    """X - eta (grad of the first variation + decay X) + sqrt(2 lambda eta) noise, for (weights, biases, offsets)."""
    weights, biases, offsets = (np.array(part, dtype=np.float64) for part in neurons)
    slopes = [np.zeros_like(part) for part in (weights, biases, offsets)]
    for x, y in zip(inputs, labels, strict=True):
        push = -y / (1 + math.exp(y * output(x, weights, biases, offsets, scale))) / len(labels)
        for i in range(len(biases)):
            bend = scale / 3 * (1 - math.tanh(weights[i] @ x + biases[i]) ** 2)
            slopes[0][i] += push * bend * x
            slopes[1][i] += push * bend
            slopes[2][i] += push * scale / 3 * 2 * (1 - math.tanh(offsets[i]) ** 2)
    return [
        part - rate * (slope + decay * part) + math.sqrt(2 * temperature * rate) * np.asarray(draw, dtype=np.float64)
        for part, slope, draw in zip((weights, biases, offsets), slopes, noise, strict=True)
    ]
