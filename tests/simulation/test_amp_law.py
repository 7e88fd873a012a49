"""Bayes-AMP on every design has the law of a plain NumPy loop on a stored X; without the Onsager term it has not.

And designs answer as many questions as it asks: their vectors stay orthonormal.
"""

from __future__ import annotations

import functools
from itertools import permutations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ndtr, owens_t
from scipy.stats import ks_2samp

from featlab.learners import BayesAmp
from featlab.simulation import linalg, simulate

from .reference import LEVEL, SEEDS

DIM, ROWS, LOOKS = 24, 60, (1, 3)
LEARNERS = {
    "sign(h1*h2)": BayesAmp(3, damping=0.35, start="informed", start_overlap=0.3),
    "abs(h1)": BayesAmp(3, damping=0.2, start="random", start_overlap=0.3),
}


def phase_denoiser(labels, fields, variance):
    v = variance[:, :1]
    return (labels[..., None] * np.tanh(fields * labels[..., None] / v) - fields) / v


def parity_denoiser(labels, fields, variance):
    """The gradient of log P(y z1 z2 > 0), the probability by Owen's function."""
    scale = np.sqrt(np.diagonal(variance, axis1=1, axis2=2))[:, None]
    rho = (variance[:, 0, 1] / np.prod(scale[:, 0], axis=1))[:, None]
    a, b = (fields / scale)[..., 0], (fields / scale)[..., 1]
    across = np.sqrt(1 - rho**2)
    inside = owens_t(a, (b - rho * a) / (a * across)) + owens_t(b, (a - rho * b) / (b * across))
    both = (ndtr(a) + ndtr(b)) / 2 - inside - np.where(a * b < 0, 0.5, 0)  # P(z1 > 0, z2 > 0)
    agree = 1 - ndtr(a) - ndtr(b) + 2 * both
    chance = np.where(labels > 0, agree, 1 - agree)
    pulls = [
        np.exp(-(one**2) / 2) / np.sqrt(2 * np.pi) * (2 * ndtr((other - rho * one) / across) - 1)
        for one, other in ((a, b), (b, a))
    ]
    return labels[..., None] * np.stack(pulls, axis=-1) / (scale * chance[..., None])


DENOISERS = {"sign(h1*h2)": parity_denoiser, "abs(h1)": phase_denoiser}


def reference(text, onsager=True, seed=0):
    """All seeds side by side in float64; one array (seeds, r, r) of overlaps and one of products for each look."""
    learner, rng = LEARNERS[text], np.random.default_rng(seed)
    rank = 2 if "h2" in text else 1
    directions = np.linalg.qr(rng.standard_normal((DIM, rank)))[0].T
    inputs = rng.standard_normal((SEEDS, ROWS, DIM))
    clean = inputs @ directions.T
    labels = np.sign(clean.prod(axis=2)) if rank == 2 else np.abs(clean[..., 0])
    weights = rng.standard_normal((SEEDS, rank, DIM)) / np.sqrt(DIM)
    covariance, q = np.tile(np.eye(rank), (SEEDS, 1, 1)), learner.start_overlap
    if learner.start == "informed":
        weights, covariance = np.sqrt(q * (1 - q)) * weights + q * directions, (1 - q) * covariance
    else:
        weights = np.sqrt(q) * weights
    memory, found, keep = np.zeros((SEEDS, ROWS, rank)), {}, learner.damping
    for step in range(1, LOOKS[-1] + 1):
        fields = inputs @ np.swapaxes(weights, 1, 2) - onsager * memory
        duals = DENOISERS[text](labels, fields, covariance)
        precision = np.swapaxes(duals, 1, 2) @ duals / DIM
        new_covariance = np.linalg.inv(np.eye(rank) + precision)
        new = new_covariance @ (np.swapaxes(duals, 1, 2) @ inputs / DIM + precision @ weights)
        weights = (1 - keep) * new + keep * weights
        memory = (1 - keep) * duals @ new_covariance + keep * memory
        covariance = (1 - keep) * new_covariance + keep * covariance
        if step in LOOKS:
            found[step] = weights @ directions.T, weights @ np.swapaxes(weights, 1, 2)
    return found


def numbers(overlap, gram):
    """A few numbers per seed that no signed permutation changes."""
    rank = overlap.shape[1]
    orders = [sum(np.abs(overlap[:, order[k], k]) for k in range(rank)) for order in permutations(range(rank))]
    return {
        "aligned": np.max(orders, axis=0),
        "learned": np.sqrt(np.sum(overlap**2, axis=(1, 2))),
        "size": np.trace(gram, axis1=1, axis2=2),
        "volume": np.linalg.det(gram),
    }


@functools.cache
def simulated(text, design):
    sizes = {"dim": DIM, "samples": ROWS, "seeds": SEEDS, "times": LOOKS, "key": 5}
    data = simulate(text, LEARNERS[text], **sizes, design=design, observe=("overlap", "gram"), progress=False)
    parts = zip(np.swapaxes(data.overlap.values, 0, 1), np.swapaxes(data.gram.values, 0, 1), strict=True)
    return dict(zip(LOOKS, parts, strict=True))


def smallest_level(one, other):
    levels = []
    for look in LOOKS:
        left, right = numbers(*one[look]), numbers(*other[look])
        levels += [ks_2samp(left[name], right[name]).pvalue for name in left]
    return min(levels)


@pytest.fixture(scope="module")
def loops():
    return {text: reference(text) for text in LEARNERS}


@pytest.mark.parametrize(("text", "design"), [("sign(h1*h2)", "virtual"), ("abs(h1)", "dice")])
def test_law_is_that_of_a_plain_loop(text, design, loops):
    assert smallest_level(simulated(text, design), loops[text]) > LEVEL


@pytest.mark.parametrize(("text", "design"), [("sign(h1*h2)", "virtual"), ("abs(h1)", "dice")])
def test_control_a_missing_onsager_term_is_refused(text, design):
    assert smallest_level(simulated(text, design), reference(text, onsager=False)) < LEVEL


def test_the_reported_overlaps_are_aligned():
    """Diagonal not negative, and no other order of the rows has a larger sum."""
    overlap = simulated("sign(h1*h2)", "virtual")[LOOKS[-1]][0]
    assert np.all(np.diagonal(overlap, axis1=1, axis2=2) >= 0)
    swapped = np.abs(overlap[:, 0, 1]) + np.abs(overlap[:, 1, 0])
    assert np.all(np.trace(overlap, axis1=1, axis2=2) >= swapped)


def lost_orthogonality(many, monkeypatch):
    """Largest deviation from orthonormality after 20 blocks of two that lie in the span of the earlier ones up to 1e-4,
    the first 60 vectors having squared norms of 1.0001, as float32 sums over 10^5 samples leave them."""
    monkeypatch.setattr(linalg, "MANY", many)
    rng = np.random.default_rng(0)
    known = np.sqrt(1.0001) * np.linalg.qr(rng.standard_normal((2000, 60)))[0].T
    basis = jnp.asarray(np.vstack([known, np.zeros((40, 2000))]), jnp.float32)
    divided = jax.jit(lambda basis, block: linalg.split(basis, block)[2])
    for count in range(60, 100, 2):
        near = rng.standard_normal((2, count)) @ np.asarray(basis[:count]) / np.sqrt(count)
        block = near + 1e-4 * rng.standard_normal((2, 2000)) / np.sqrt(2000)
        basis = basis.at[count : count + 2].set(divided(basis, jnp.asarray(block, jnp.float32)))
    new = np.asarray(basis, dtype=float)[60:]
    kept = new[np.sum(new**2, axis=1) > 0.5]
    return np.abs(kept @ kept.T - np.eye(len(kept))).max() if np.all(np.isfinite(new)) else np.inf


def test_vectors_of_many_questions_stay_orthonormal(monkeypatch):
    assert lost_orthogonality(32, monkeypatch) < 1e-3


def test_control_without_measured_norms_they_do_not(monkeypatch):
    assert lost_orthogonality(1000, monkeypatch) > 1e-3


def tilt_of_new(many, monkeypatch):
    """Largest product of a new vector with any other after 20 blocks of two that lie in the span up to 1e-4, the first
    60 vectors having products of 1e-5 with each other, as float32 sums over 10^5 samples leave them."""
    monkeypatch.setattr(linalg, "MANY", many)
    rng = np.random.default_rng(0)
    known = np.linalg.qr(rng.standard_normal((2000, 60)))[0].T
    known = known + 1e-5 * rng.standard_normal((60, 60)) @ known
    basis = jnp.asarray(np.vstack([known, np.zeros((40, 2000))]), jnp.float32)
    divided = jax.jit(lambda basis, block: linalg.split(basis, block)[2])
    for count in range(60, 100, 2):
        near = rng.standard_normal((2, count)) @ np.asarray(basis[:count]) / np.sqrt(count)
        block = near + 1e-4 * rng.standard_normal((2, 2000)) / np.sqrt(2000)
        basis = basis.at[count : count + 2].set(divided(basis, jnp.asarray(block, jnp.float32)))
    products = np.asarray(basis, dtype=float) @ np.asarray(basis, dtype=float).T
    if not np.all(np.isfinite(products)):
        return np.inf
    kept = np.diagonal(products) > 0.5
    assert np.count_nonzero(kept[60:]) >= 10
    return np.abs((products - np.diag(np.diagonal(products)))[60:][kept[60:]]).max()


def test_a_third_pass_keeps_small_tilts_from_growing(monkeypatch):
    """Message passing at d = 10^4 asks some hundred questions; without it they were no longer orthogonal after 120."""
    assert tilt_of_new(32, monkeypatch) < 1e-5


def test_control_without_it_they_grow(monkeypatch):
    assert tilt_of_new(1000, monkeypatch) > 1e-5
