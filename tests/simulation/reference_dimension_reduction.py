"""SIR, SAVE, PHD and the optimal spectral method as they are defined: d x d (or nr x nr) matrices and their leading
eigenvectors by NumPy. Nothing of `featlab.simulate` is used here."""

from __future__ import annotations

import itertools

import numpy as np


def slices_of(labels, count):
    """Indices of the samples in each of `count` slices of the sorted labels, of equal size up to one."""
    bounds = len(labels) * np.arange(count + 1) // count
    order = np.argsort(labels, kind="stable")
    return [order[begin:end] for begin, end in itertools.pairwise(bounds)]


def sir(inputs, labels, slices):
    matrix = np.zeros((inputs.shape[1],) * 2)
    for chosen in slices_of(labels, slices):
        mean = inputs[chosen].mean(axis=0)
        matrix += len(chosen) / len(labels) * np.outer(mean, mean)
    return matrix


def save(inputs, labels, slices):
    dim = inputs.shape[1]
    matrix = np.zeros((dim, dim))
    for chosen in slices_of(labels, slices):
        rest = np.eye(dim) - np.cov(inputs[chosen].T)
        matrix += len(chosen) / len(labels) * rest @ rest
    return matrix


def phd(inputs, labels):
    centred = labels - labels.mean()
    residuals = centred - inputs @ (centred @ inputs / len(labels))
    return (residuals[:, None] * inputs).T @ inputs / len(labels)


def leading(matrix, count):
    """The eigenvalues largest in size, and their eigenvectors as rows."""
    values, vectors = np.linalg.eigh(matrix)
    order = np.argsort(-np.abs(values))[:count]
    return values[order], vectors[:, order].T


def spectral(inputs, second_moment):
    """For one direction: the eigenvalue of (X X^T / d - I) G with the largest real part, and the row (G u)^T X of its
    eigenvector u, made of norm 1. `second_moment` is G(y) = E[z^2 - 1 | y] of each sample."""
    count, dim = inputs.shape
    values, vectors = np.linalg.eig((inputs @ inputs.T / dim - np.eye(count)) * second_moment)
    best = np.argmax(values.real)
    row = (second_moment * vectors[:, best].real) @ inputs
    return values[best].real, row[None] / np.linalg.norm(row)


def same_span(rows, others):
    """The smallest cosine between the spans of two sets of orthonormal rows."""
    return np.linalg.svd(np.asarray(rows, dtype=float) @ np.asarray(others, dtype=float).T, compute_uv=False)[-1]
