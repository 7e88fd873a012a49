"""Factorisations in float32: identities, near-dependent rows included."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from featlab.simulation.linalg import (
    grown_triangle,
    lower_factor,
    off,
    product,
    split,
)

EPS = float(np.finfo(np.float32).eps)


def rows(count, columns, difference, seed=0):
    """Random rows of which the last is the first plus `difference` times a random row."""
    block = np.random.default_rng(seed).standard_normal((count, columns))
    block[-1] = block[0] + difference * block[-1]
    return block.astype(np.float32)


@pytest.mark.parametrize("columns", [6, 40, 5000])
@pytest.mark.parametrize("difference", [1.0, 1e-2, 1e-4, 0.0])
def test_lower_factor(columns, difference):
    """L Q gives the block back; Q is orthonormal where not zero; the small distance to the span keeps its digits."""
    block = rows(5, columns, difference)
    lower, q = (np.asarray(part, float) for part in jax.jit(lower_factor)(block))
    np.testing.assert_allclose(lower @ q, block, atol=2e-5)
    live = np.any(q != 0, axis=1)
    np.testing.assert_allclose(q[live] @ q[live].T, np.eye(live.sum()), atol=3e-5)
    assert live[:-1].all()
    assert np.all(np.triu(lower, 1) == 0)
    distance = abs(np.diag(np.linalg.qr(block.astype(float).T)[1])[-1])
    rounding = 20 * EPS * float(np.linalg.norm(block[0]))
    assert abs(lower[-1, -1]) == pytest.approx(distance, rel=1e-3, abs=rounding)


def test_a_gram_matrix_alone_would_lose_the_small_distance():
    """The control: plain Cholesky of the Gram matrix in float32 misses a distance of 1e-4 by far more than 1e-3."""
    block = rows(5, 5000, 1e-4)
    distance = abs(np.diag(np.linalg.qr(block.astype(float).T)[1])[-1])
    gram = block @ block.T
    schur = gram[-1, -1] - gram[-1, :4] @ np.linalg.solve(gram[:4, :4], gram[:4, -1])
    assert abs(np.sqrt(abs(float(schur))) / distance - 1) > 0.1


def test_growing_factor_does_not_drift():
    """A factor that takes in 300 chunks one by one keeps the norms of all of them."""
    blocks = np.random.default_rng(1).standard_normal((300, 3, 64)).astype(np.float32)
    grow, root = jax.jit(grown_triangle), jnp.zeros((3, 3))
    for block in blocks:
        root = grow(root, block)
    whole = np.concatenate(list(blocks), axis=1).astype(float)
    np.testing.assert_allclose(root @ root.T, whole @ whole.T, rtol=2e-5, atol=2e-5 * 300 * 64)


@pytest.mark.parametrize("columns", [40, 4000])
def test_split_and_off(columns):
    basis = np.linalg.qr(np.random.default_rng(2).standard_normal((columns, 4)))[0].T.astype(np.float32)
    basis[2] = 0  # an unused row
    block = rows(3, columns, 1e-3, seed=3)
    block[1] = 2 * basis[0] + 1e-7 * block[1]  # within the basis, up to rounding
    old, lower, q = (np.asarray(part, float) for part in jax.jit(split)(basis, block))
    np.testing.assert_allclose(old @ basis + lower @ q, block, atol=2e-5)
    assert np.max(np.abs(q @ basis.T)) < 3e-6
    assert np.max(np.abs(np.asarray(off(basis, block)) @ basis.T)) < 1e-5


@pytest.mark.parametrize("known", [6, 40])
def test_a_block_that_was_asked_before_leaves_nothing(known):
    """Rows within the basis to the last bit leave zero rows, never NaN, and nothing of a new row among them is lost."""
    basis = np.linalg.qr(np.random.default_rng(5).standard_normal((400, known)))[0].T.astype(np.float32)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        block = rng.standard_normal((4, known)).astype(np.float32) @ basis
        block[2] += rng.standard_normal(400).astype(np.float32)  # one new row among them
        old, lower, q = (np.asarray(part, float) for part in jax.jit(split)(basis, block))
        np.testing.assert_allclose(old @ basis + lower @ q, block, atol=3e-5)
        assert np.max(np.abs(q @ basis.T)) < 3e-6
        assert np.linalg.norm(q, axis=1) == pytest.approx([0, 0, 1, 0], abs=1e-5)


def test_products_of_every_size_agree():
    rng = np.random.default_rng(4)
    for shape in ((1, 2, 1), (3, 5, 2), (40, 50, 60)):
        left, right = rng.standard_normal(shape[:2]), rng.standard_normal(shape[1:])
        np.testing.assert_allclose(product(left.astype("f4"), right.astype("f4")), left @ right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("difference", [1.0, 1e-2, 1e-4, 0.0])
def test_a_triangle_that_is_added_to_is_that_of_all_columns(difference):
    """Rows far from each other, nearly the same, and the same: sixty chunks, against the triangle of all at once."""
    blocks = [rows(4, 500, difference, seed) for seed in range(60)]
    grow, root = jax.jit(grown_triangle), jnp.zeros((4, 4))
    for block in blocks:
        root = grow(root, block)
    whole = np.concatenate(blocks, axis=1).astype(float)
    exact = np.linalg.cholesky(whole[:3] @ whole[:3].T)
    size = float(np.linalg.norm(whole[0]))
    np.testing.assert_allclose(np.asarray(root)[:3, :3], exact, atol=1e-5 * size)
    np.testing.assert_allclose(root @ root.T, whole @ whole.T, atol=1e-5 * size**2)
    distance = abs(np.diag(np.linalg.qr(whole.T)[1])[-1])
    assert abs(root[-1, -1]) == pytest.approx(distance, rel=2e-3, abs=40 * EPS * size)
