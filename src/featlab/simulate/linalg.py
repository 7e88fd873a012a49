"""The few matrix operations that every design needs, at full float precision on every device."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

# A library call per product of tiny matrices costs more than the product, and `vmap` over seeds makes thousands.
_TINY = 64


def product(left: Array, right: Array) -> Array:
    """The matrix product left (a, k) times right (k, b).

    On GPUs the default for float32 is a 10-bit mantissa, which would ruin orthogonality; this one never rounds.
    """
    rows, inner = left.shape
    columns = right.shape[1]
    if rows * inner * columns <= _TINY:
        return jnp.sum(left[:, :, None] * right[None, :, :], axis=1)
    return jnp.matmul(left, right, precision=lax.Precision.HIGHEST)


def lower_factor(block: Array) -> tuple[Array, Array]:
    """block (p, n) = L (p, p) times Q (p, n), L lower triangular, Q with orthonormal rows (n >= p).

    A zero block of one row gives a zero row Q.
    """
    if block.shape[0] == 1:
        norm = jnp.sqrt(product(block, block.T))
        return norm, block / jnp.where(norm > 0, norm, 1)
    q, r = jnp.linalg.qr(block.T)
    return r.T, q.T


def lower_triangle(block: Array) -> Array:
    """The factor L of `lower_factor` alone, (p, p): the rows of `block` in a frame of p axes that spans them."""
    if block.shape[0] == 1:
        return jnp.sqrt(jnp.sum(block**2, axis=1, keepdims=True))
    return jnp.linalg.qr(block.T, mode="r").T


def split(basis: Array, block: Array) -> tuple[Array, Array, Array]:
    """block (p, n) = C basis + L Q with `basis` (l, n) of orthonormal (or zero) rows and Q orthonormal to it.

    Orthogonalises twice, which is enough (Giraud, Langou, Rozloznik 2005): a row of `block` that lies in the basis up
    to rounding leaves a direction Q that is arbitrary but still orthonormal, with a coefficient L at rounding level.
    Returns C (p, l), L (p, p) and Q (p, n).
    """
    first = product(basis, block.T).T
    lower, q = lower_factor(block - product(first, basis))
    second = product(basis, q.T).T
    correction, q = lower_factor(q - product(second, basis))
    return first + product(lower, second), product(lower, correction), q


def off(basis: Array, block: Array) -> Array:
    """`block` (p, n) less its part in the span of the orthonormal (or zero) rows of `basis` (l, n)."""
    return block - product(product(basis, block.T).T, basis)
