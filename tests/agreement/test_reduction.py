"""Dimension reduction at n ~ d against plain eigenvectors of plain samples, by NumPy.

Squared cosines, means over seeds against the limit: within four standard errors and 2/d, which is what the limit leaves
out. The same assertion rejects the formula that forgets a part: for PHD that the linear fit saw the same samples, for
SAVE that a slice has n/S of them, for SIR that its means are noisy, for the spectral method that a sample's fields are
not Gaussian given its label; and the method that forgets its Onsager term.
"""

from __future__ import annotations

import numpy as np
import pytest

from featlab.analysis.thresholds import label_table
from featlab.targets import target
from featlab.theory import sir_matrix
from featlab.theory.inverse_regression import labelled_points, slice_moments
from featlab.theory.reduction.average_variance import save_outliers
from featlab.theory.reduction.optimal import leading_mode
from featlab.theory.reduction.outliers import outliers
from featlab.theory.reduction.principal_hessian import WeightedBulk, phd_outliers

DIM, SEEDS = 240, 12


def drawn(text, samples, seed):
    goal, rng = target(text), np.random.default_rng([7, seed])
    inputs = rng.standard_normal((samples, DIM))
    return inputs, goal.link(inputs[:, : goal.rank])


def slices_of(inputs, labels, slices):
    return [inputs[rows] for rows in np.array_split(np.argsort(labels), slices)]


def knows(matrix, rank):
    """The squared singular values of the r leading eigenvectors (in size) with the first r axes, in the mean."""
    values, vectors = np.linalg.eigh(matrix)
    leading = vectors[:rank, np.argsort(-np.abs(values))[:rank]]
    return float(np.sum(leading**2) / rank)


def agree(measured, predicted):
    error = np.std(measured, ddof=1) / np.sqrt(len(measured))
    return bool(abs(np.mean(measured) - predicted) < 4 * error + 2 / DIM)


@pytest.mark.parametrize(("text", "alpha"), [("relu(h1)", 12.0), ("sign(h1*h2)", 12.0)])
def test_principal_hessian(text, alpha):
    rank, samples = target(text).rank, int(alpha * DIM)
    measured = []
    for seed in range(SEEDS):
        inputs, labels = drawn(text, samples, seed)
        labels = labels - labels.mean()
        rest = labels - inputs @ (labels @ inputs / samples)
        measured.append(knows((inputs * rest[:, None]).T @ inputs / samples, rank))
    above, below = phd_outliers(target(text), alpha, samples, 0)
    predicted = sum(float(np.sum(one.vector[:rank] ** 2)) for one in (*above.found, *below.found)) / rank
    assert agree(measured, predicted), (np.mean(measured), predicted)
    assert np.std(measured, ddof=1) < 0.06
    fields, labels, _ = labelled_points(target(text), 0)
    labels = labels - labels.mean()
    known = outliers(WeightedBulk(labels - fields @ (labels @ fields / len(labels)), fields, 0 * labels + 1e-9, alpha))
    forgetful = sum(float(np.sum(one.vector**2)) for one in known.found)  # one end, which is one direction of each
    assert not agree(measured, forgetful)


@pytest.mark.parametrize(("text", "alpha", "slices"), [("abs(h1)", 10.0, 4), ("h1 + He2(h2)", 30.0, 3)])
def test_sliced_average_variance(text, alpha, slices):
    rank, samples = target(text).rank, int(alpha * DIM)
    measured = []
    for seed in range(SEEDS):
        inputs, labels = drawn(text, samples, seed)
        deviations = [np.eye(DIM) - np.cov(part, rowvar=False, bias=True) for part in slices_of(inputs, labels, slices)]
        measured.append(knows(sum(one @ one for one in deviations) / slices, rank))
    means, seconds = slice_moments(target(text), slices, 0)
    spread = seconds - means[:, :, None] * means[:, None, :]

    def predicted(ratio):
        return sum(float(one.vector @ one.vector) for one in save_outliers(spread, ratio).found) / rank

    assert agree(measured, predicted(alpha)), (np.mean(measured), predicted(alpha))
    assert not agree(measured, predicted(slices * alpha))


def test_sliced_inverse_regression():
    """h1^3 at n = 2d; neither a perfect estimate nor half the noise will do."""
    text, slices, samples = "h1**3", 6, 2 * DIM
    measured = []
    for seed in range(2 * SEEDS):
        inputs, labels = drawn(text, samples, seed)
        means = np.array([part.mean(axis=0) for part in slices_of(inputs, labels, slices)])
        measured.append(knows(means.T @ means / slices, 1))
    value = sir_matrix(text, slices).eigenvalues[0]
    assert agree(measured, value / (value + 0.5)), np.mean(measured)
    assert not agree(measured, 1.0)
    assert not agree(measured, value / (value + 0.25))


@pytest.mark.parametrize("onsager", [True, False])
def test_spectral_method(onsager):
    """|h| at n = 2d, G = y^2 - 1: power iteration of (X X^T / d - I) G, which is not what the formula says without its
    Onsager term -G; nor is it (lambda - 1) / lambda, the cosine without E[G^3] = 4 E[G^2]."""
    samples, measured = 2 * DIM, []
    for seed in range(SEEDS):
        inputs, labels = drawn("abs(h1)", samples, seed)
        response, fields = labels**2 - 1, np.random.default_rng(seed).standard_normal(samples)
        for _ in range(60):
            pulled = response * fields
            fields = inputs @ (estimate := pulled @ inputs / DIM) - onsager * pulled
            fields = fields / np.linalg.norm(fields)
        measured.append(estimate[0] ** 2 / (estimate @ estimate))
    mode = leading_mode(label_table(target("abs(h1)")), samples / DIM)
    assert agree(measured, mode.cosines[0] ** 2) == onsager, np.mean(measured)
    assert not onsager or not agree(measured, 1 - 1 / mode.growth)
