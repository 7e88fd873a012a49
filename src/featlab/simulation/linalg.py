"""The few matrix operations that every design needs, at full float precision on every device."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.scipy.linalg import solve_triangular

# A library call per product of tiny matrices costs more than the product, and `vmap` over seeds makes thousands.
_TINY = 64
# From this ratio of columns to rows on, a factorisation goes through Gram matrices instead of Householder's QR.
_TALL = 8
# For the triangle alone, on a CPU, only from so many columns on: below, LAPACK's QR is up to six times faster, and
# compiles in a fifth.
_SHORT = 4096
# A row whose part off the known vectors is below so many roundings of its norm lies in their span.
ROUNDINGS = 64
# The least share of its length that a row of a triangle has to itself where the triangle is only added to.
_APART = 1e-3
# From so many known vectors on, a second orthogonalisation measures the norms that are left.
MANY = 32


def product(left: Any, right: Any) -> Any:
    """The matrix product left (a, k) times right (k, b), both of JAX or both of NumPy.

    On GPUs the default for float32 is a 10-bit mantissa, which would ruin orthogonality; this one never rounds.
    """
    if isinstance(left, np.ndarray):
        return left @ right
    rows, inner = left.shape
    columns = right.shape[1]
    if rows * inner * columns <= _TINY:
        return jnp.sum(left[:, :, None] * right[None, :, :], axis=1)
    return jnp.matmul(left, right, precision=lax.Precision.HIGHEST)


def lower_factor(block: Array) -> tuple[Array, Array]:
    """block (p, n) = L (p, p) times Q (p, n) with orthonormal or zero rows Q and lower triangular L; n >= p.

    A row that depends on the rows before it (a zero row, a copy) may give a zero row of Q and a zero column of L.
    """
    rows, columns = block.shape
    if rows == 1:
        norm = jnp.sqrt(product(block, block.T))
        return norm, block / jnp.where(norm > 0, norm, 1)
    if columns >= _TALL * rows:
        return _cholesky_factor(block)
    q, r = jnp.linalg.qr(block.T)
    return r.T, q.T


def lower_triangle(block: Array) -> Array:
    """The factor L of `lower_factor` alone, (p, p): the rows of `block` in a frame of p axes that spans them."""
    rows, columns = block.shape
    if rows == 1:
        return jnp.sqrt(jnp.sum(block**2, axis=1, keepdims=True))
    if columns >= _TALL * rows and (columns > _SHORT or jax.default_backend() != "cpu"):
        return _cholesky_factor(block)[0]
    lower = jnp.linalg.qr(block.T, mode="r").T
    if columns < _TALL * rows:
        return lower
    return lower * jnp.where(jnp.diagonal(lower) < 0, -1, 1).astype(block.dtype)  # as Cholesky's


def grown_triangle(root: Array, block: Array) -> Array:
    """`lower_triangle` of [root, block], for a root (p, p) that is one of many columns before, and a long block (p, m).

    With C = root^-1 block it is root times the Cholesky factor of I + C C^T: what came before is what makes the new
    columns nearly orthonormal, so that one product and one Gram matrix are enough. Where a row of the root has less
    than 1e-3 of its length to itself, which a Gram matrix of float32 would lose, the columns are factorised anew.
    """
    count = len(root)
    if count == 1:
        return jnp.sqrt(root**2 + jnp.sum(block**2, axis=1, keepdims=True))

    def quick(root: Array, block: Array) -> Array:
        eye = jnp.eye(count, dtype=root.dtype)
        scaled = product(solve_triangular(root, eye, lower=True), block)
        return product(root, jnp.linalg.cholesky(eye + product(scaled, scaled.T)))

    lengths = jnp.sqrt(jnp.sum(root**2, axis=1))
    apart = jnp.all(jnp.diagonal(root) > _APART * lengths)
    return lax.cond(apart, quick, lambda root, block: lower_triangle(jnp.hstack([root, block])), root, block)


def _cholesky_factor(block: Array) -> tuple[Array, Array]:
    """`lower_factor` of a long block by matrix products alone: shifted Cholesky QR, three passes
    (Fukaya, Kannan, Nakatsukasa, Yamamoto, Yanagisawa 2020, SIAM J. Sci. Comput. 42).

    A Gram matrix squares the condition number, so the first two passes add a shift above its rounding and only
    precondition; the third, without shift, then works on nearly orthonormal rows. A row whose distance from the span of
    the rows before it is below about 1e-5 of its norm (in float32) is dropped.
    """
    count = block.shape[0]
    eye = jnp.eye(count, dtype=block.dtype)
    shift = 4 * (count + 8) * jnp.finfo(block.dtype).eps
    size = jnp.sqrt(jnp.sum(block**2, axis=1, keepdims=True))
    lower, q = size * eye, block / jnp.where(size > 0, size, 1)
    for _ in range(2):
        lower, q = _cholesky_pass(lower, q, product(q, q.T) + shift * eye)
    kept = jnp.sum(q**2, axis=1) > 1 / 2
    lower, q = jnp.where(kept[None, :], lower, 0), jnp.where(kept[:, None], q, 0)
    return _cholesky_pass(lower, q, product(q, q.T) + jnp.where(kept, 0, 1) * eye)


def _cholesky_pass(lower: Array, q: Array, gram: Array) -> tuple[Array, Array]:
    """L and Q after Q was divided by the Cholesky factor of `gram` and L multiplied by it."""
    factor = jnp.linalg.cholesky(gram)
    inverse = solve_triangular(factor, jnp.eye(len(factor), dtype=factor.dtype), lower=True)
    return product(lower, factor), product(inverse, q)


def split(basis: Array, block: Array) -> tuple[Array, Array, Array]:
    """block (p, n) = C basis + L Q with `basis` (l, n) of orthonormal or zero rows, and Q too, orthogonal to it.

    Orthogonalises twice, which is enough for a basis that is orthonormal up to rounding (Giraud, Langou, Rozloznik
    2005); after many questions, which were nearly asked before, a third time, or errors would grow from block to block.
    A row of `block` that lies in the basis up to rounding (a question asked before) leaves a zero row of Q: what is
    left of it would point anywhere, mostly into the basis again. Returns C (p, l), L (p, p) and Q (p, n).
    """
    first = product(basis, block.T).T
    left = block - product(first, basis)
    least = ROUNDINGS * jnp.finfo(block.dtype).eps
    new = jnp.sum(left**2, axis=1, keepdims=True) > least**2 * jnp.sum(block**2, axis=1, keepdims=True)
    lower, q = lower_factor(jnp.where(new, left, 0))
    second = product(basis, q.T).T
    correction, q = _corrected(second, q, q - product(second, basis))
    along, lower = first + product(lower, second), product(lower, correction)
    if len(basis) > MANY:
        third = product(basis, q.T).T
        correction, q = _mostly_new(q - product(third, basis))
        along, lower = along + product(lower, third), product(lower, correction)
    return along, lower, q


def _mostly_new(remainder: Array) -> tuple[Array, Array]:
    """`lower_factor` of what is left of unit rows off the basis; rows of which most was in the basis were rounding."""
    return lower_factor(jnp.where(jnp.sum(remainder**2, axis=1, keepdims=True) > 1 / 2, remainder, 0))


def _corrected(second: Array, q: Array, remainder: Array) -> tuple[Array, Array]:
    """`lower_factor` of the remainder Q - S basis, S small: its Gram matrix is Q Q^T - S S^T, without a sum over n."""
    # A single row needs no factorisation; and where the basis may fill the space, S need not be small.
    if len(q) == 1 or 2 * second.shape[1] >= q.shape[1]:
        return lower_factor(remainder)
    if second.shape[1] > MANY:
        # After many questions, new blocks lie in the span of the old ones up to 1e-3 or less, and S is no longer small:
        # then norms have to be measured.
        return _mostly_new(remainder)
    missing = jnp.sum(q**2, axis=1) < 1 / 2
    eye = jnp.eye(len(q), dtype=q.dtype)
    gram = eye - product(second, second.T)
    factor = jnp.linalg.cholesky(gram)
    inverse = solve_triangular(factor, eye, lower=True)
    return jnp.where(missing[None, :], 0, factor), product(inverse, remainder)


def off(basis: Array, block: Array) -> Array:
    """`block` (p, n) less its part in the span of the orthonormal (or zero) rows of `basis` (l, n)."""
    return block - product(product(basis, block.T).T, basis)


def inner_products(groups: list[tuple[Any, Array]]) -> list[Array]:
    """For each of some groups the inner products of its columns, a table (columns, n) or a list, with its other one.

    One reduction for all of them reads everything once, and columns that are made on the way are never written. (A
    product of matrices on a GPU reads the other column again and again: .57 of a copy's speed where this has 1.00.)
    """
    products = [column * other for columns, other in groups for column in columns]
    found = lax.reduce(products, [np.zeros((), part.dtype) for part in products], _added, (0,))
    return jnp.split(jnp.stack(found), np.cumsum([len(columns) for columns, _ in groups])[:-1])


def _added(left: list[Array], right: list[Array]) -> list[Array]:
    return [one + other for one, other in zip(left, right, strict=True)]


def combined(numbers: Array, columns: Any) -> Any:
    """The sum of columns, a table or a list, each times its number, for the compiler to fuse; of none, zero."""
    total: Any = 0.0
    for place, column in enumerate(columns):
        total = total + numbers[place] * column
    return total
