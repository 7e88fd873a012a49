"""Algorithm 1 of Damian, Lee, Soltanolkotabi 2022 as a plain NumPy loop on a stored X, line by line.

Nothing of `featlab.simulate` is used here.
"""

from __future__ import annotations

import numpy as np

from featlab.gaussian.activations import activation

from .reference import SEEDS, order_parameters


def linear_part(inputs, labels):
    """alpha = mean y, beta = mean y x."""
    return labels.mean(), labels @ inputs / len(labels)


def one_step(inputs, labels, weights, second, biases, sigma, step_size, preprocessed=True):
    """W1 = gamma mean(r a sigma'(W0 x + b) x), neuron by neuron."""
    alpha, beta = linear_part(inputs, labels) if preprocessed else (0.0, np.zeros(inputs.shape[1]))
    residuals = labels - alpha - inputs @ beta
    rows = []
    for row, sign, bias in zip(weights, second, biases, strict=True):
        slopes = activation(sigma).derivative(inputs @ row + bias)
        rows.append(step_size * np.mean((residuals * sign * slopes)[:, None] * inputs, axis=0))
    return np.array(rows)


def second_layer(inputs, labels, weights, biases, sigma, ridge):
    """The function x -> alpha + <beta, x> + a . sigma(W x + b) / sqrt(p), a by ridge regression of the residuals."""
    alpha, beta = linear_part(inputs, labels)

    def features(points):
        return activation(sigma).value(points @ weights.T + biases) / np.sqrt(len(weights))

    phi, count = features(inputs), len(inputs)
    gram = phi.T @ phi / count + ridge * np.eye(len(weights))
    fitted = np.linalg.solve(gram, phi.T @ (labels - alpha - inputs @ beta) / count)
    return lambda points, linear=True: linear * (alpha + points @ beta) + features(points) @ fitted


def order_parameters_after_one_step(target, student, dim, samples, step_size, seed=0, preprocessed=True):
    """Overlaps, norm and angle of 1500 seeds, each with its own data and directions that are no axes."""
    rng = np.random.default_rng(seed)
    directions = np.linalg.qr(rng.standard_normal((dim, target.rank)))[0].T
    second = np.where(np.arange(student.width) % 2 == 0, 1.0, -1.0) * student.second_scale
    rows = np.empty((SEEDS, student.width, dim))
    for index in range(SEEDS):
        inputs = rng.standard_normal((samples, dim))
        noise = np.sqrt(target.noise) * rng.standard_normal(samples)
        start = rng.standard_normal((student.width, dim))
        start /= np.linalg.norm(start, axis=1, keepdims=True)
        labels = target.link(inputs @ directions.T) + noise
        biases = np.zeros(student.width)
        rows[index] = one_step(inputs, labels, start, second, biases, student.activation, step_size, preprocessed)
    return order_parameters(rows, rows @ directions.T)
