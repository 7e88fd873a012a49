"""A symmetric n x n matrix that is known by its blocks: written down, or factored, within the memory of one.

LAPACK's Cholesky is as fast, but under XLA its operand and its result are two matrices. Here the entries of A are asked
for once, block by block, and what is written is L: memory is that of L and a few blocks.

The last block is filled up: rows beyond the matrix have nothing to do with the others, A_ii = 1.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array, lax

from featlab.simulation.linalg import product

# From the numbers of a block row and a block column to the entries of A there, (size, size).
Entries = Callable[[Array, Array], Array]


def block_size(count: int, largest: int) -> int:
    """The rows of a block: at most `largest`, and such that little is filled up."""
    return -(-count // -(-count // largest))


def lower_blocks(entries: Entries, count: int, size: int) -> Array:
    """A itself (blocks, size, blocks, size), in its blocks on the diagonal and below; zero above."""

    def fill(row: Array, table: Array) -> Array:
        def write(column: Array, table: Array) -> Array:
            return _written(table, _filled_up(entries, count, size, row, column), row, column)

        return lax.fori_loop(0, row + 1, write, table)

    return lax.fori_loop(0, -(-count // size), fill, _empty(count, size))


def cholesky_blocks(entries: Entries, count: int, size: int) -> Array:
    """The lower triangular L (blocks, size, blocks, size) of A.

    Column of blocks after column (left-looking): L_JJ L_JJ^T = A_JJ - sum_{k<J} L_Jk L_Jk^T, and for I > J
    L_IJ L_JJ^T = A_IJ - sum_{k<J} L_Ik L_Jk^T. Blocks above the diagonal are zero.
    """
    blocks = -(-count // size)

    def remainder(table: Array, row: Array, column: Array) -> Array:
        def subtract(earlier: Array, part: Array) -> Array:
            return part - product(block_of(table, row, earlier), block_of(table, column, earlier).T)

        return lax.fori_loop(0, column, subtract, _filled_up(entries, count, size, row, column))

    def fill(column: Array, table: Array) -> Array:
        def write(row: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
            table, corner = carry
            part = remainder(table, row, column)
            part = lax.cond(row == column, _factor, lambda part: _divided(part, corner), part)
            return _written(table, part, row, column), jnp.where(row == column, part, corner)

        return lax.fori_loop(column, blocks, write, (table, jnp.eye(size, dtype=jnp.float64)))[0]

    return lax.fori_loop(0, blocks, fill, _empty(count, size))


def solve_blocks(table: Array, right: Array) -> Array:
    """a (count,) with L L^T a = `right`, from the L of `cholesky_blocks`."""
    blocks, size = table.shape[:2]
    count = len(right)
    padded = jnp.pad(right, (0, blocks * size - count)).reshape(blocks, size, 1)

    def forward(row: Array, found: Array) -> Array:
        def subtract(earlier: Array, part: Array) -> Array:
            return part - product(block_of(table, row, earlier), found[earlier])

        part = lax.fori_loop(0, row, subtract, padded[row])
        corner = block_of(table, row, row)
        return found.at[row].set(lax.linalg.triangular_solve(corner, part, left_side=True, lower=True))

    half = lax.fori_loop(0, blocks, forward, jnp.zeros_like(padded))

    def backward(step: Array, found: Array) -> Array:
        column = blocks - 1 - step

        def subtract(later: Array, part: Array) -> Array:
            return part - product(block_of(table, later, column).T, found[later])

        part = lax.fori_loop(column + 1, blocks, subtract, half[column])
        corner = block_of(table, column, column)
        solved = lax.linalg.triangular_solve(corner, part, left_side=True, lower=True, transpose_a=True)
        return found.at[column].set(solved)

    return lax.fori_loop(0, blocks, backward, jnp.zeros_like(padded)).reshape(-1)[:count]


def block_of(table: Array, row: Array, column: Array) -> Array:
    """The block (size, size) of that number."""
    size = table.shape[1]
    return lax.dynamic_slice(table, (row, 0, column, 0), (1, size, 1, size))[0, :, 0]


def _factor(part: Array) -> Array:
    return lax.linalg.cholesky(part, symmetrize_input=False)


def _divided(part: Array, corner: Array) -> Array:
    """part L^-T."""
    return lax.linalg.triangular_solve(corner, part, lower=True, transpose_a=True)


def _empty(count: int, size: int) -> Array:
    blocks = -(-count // size)
    return jnp.zeros((blocks, size, blocks, size), jnp.float64)


def _written(table: Array, block: Array, row: Array, column: Array) -> Array:
    return lax.dynamic_update_slice(table, block[None, :, None], (row, 0, column, 0))


def _filled_up(entries: Entries, count: int, size: int, row: Array, column: Array) -> Array:
    """The entries of a block: those of the identity beyond the matrix."""
    rows, columns = row * size + jnp.arange(size)[:, None], column * size + jnp.arange(size)
    inside = (rows < count) & (columns < count)
    return jnp.where(inside, entries(row, column), (rows == columns).astype(jnp.float64))
