"""Kernel ridge regression as one would write it down, with X stored: kernels by angles, refits for leave-one-out."""

from __future__ import annotations

import numpy as np


def exponential(left, right):
    return np.exp(left @ right.T / left.shape[1])


def relu_features(left, right):
    """E[relu(<w, x>) relu(<w, y>)], w ~ N(0, I/d), by the angle between x and y (Cho and Saul 2009)."""
    norms = np.linalg.norm(left, axis=1)[:, None] * np.linalg.norm(right, axis=1)
    angle = np.arccos(np.clip(left @ right.T / norms, -1, 1))
    return norms / left.shape[1] * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)


def coefficients(kernel, inputs, labels, ridge):
    """(K + n lambda)^{-1} y."""
    matrix = kernel(inputs, inputs)
    return np.linalg.solve(matrix + len(labels) * ridge * np.eye(len(labels)), labels)


def leave_one_out(kernel, inputs, labels, ridge):
    """The mean squared error of predicting each sample from the others, at the same total penalty n lambda."""
    matrix, count = kernel(inputs, inputs), len(labels)
    errors = []
    for left_out in range(count):
        others = np.arange(count) != left_out
        inner = matrix[np.ix_(others, others)] + count * ridge * np.eye(count - 1)
        errors.append(labels[left_out] - matrix[left_out, others] @ np.linalg.solve(inner, labels[others]))
    return float(np.mean(np.square(errors)))


def run(rng, kernel, label, noise, dim, samples, ridge, tested, spike=None, theta=0.0):
    """Risk and captured share of one seed; `label` of the coordinates z, `spike` a unit vector along which x is
    longer."""
    whitened = rng.standard_normal((samples + tested, dim))
    clean = label(whitened)
    inputs = whitened
    if spike is not None:
        inputs = whitened + (np.sqrt(1 + theta) - 1) * np.outer(whitened @ spike, spike)
    labels = clean[:samples] + np.sqrt(noise) * rng.standard_normal(samples)
    fit = kernel(inputs[samples:], inputs[:samples]) @ coefficients(kernel, inputs[:samples], labels, ridge)
    fresh = clean[samples:]
    return np.mean((fresh - fit) ** 2) + noise, np.mean(fresh * fit) / np.mean(fresh**2)
