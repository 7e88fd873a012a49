"""Batches in chunks of rows: how many, how large, and what lies beyond the end of the last one.

The split depends on the sizes of the problem only, never on the machine, so the same key gives the same
numbers anywhere.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

_CHUNK_NUMBERS = 2**19
_WHOLE_ROWS = 128


def chunk_size(rows: int, columns: int) -> int:
    """The rows of each chunk of a batch of `rows` x `columns` numbers, such that a chunk stays within the cache.

    The last chunk may reach beyond the batch. Large chunks have a multiple of 128 rows, which is what draws fastest.
    """
    size = max(1, _CHUNK_NUMBERS // columns)
    if rows <= size:
        return rows
    return size - size % _WHOLE_ROWS if size >= _WHOLE_ROWS else size


def chunk_count(rows: int, columns: int) -> int:
    """The number of chunks."""
    return -(-rows // chunk_size(rows, columns))


def within(duals: Array, index: Array, rows: int) -> Array:
    """The rows of `duals`, those of chunk number `index`, with those beyond the end of the batch set to zero."""
    size = len(duals)
    chunks = -(-rows // size)
    last = rows - (chunks - 1) * size
    if last == size:
        return duals
    limit = jnp.where(index == chunks - 1, last, size)
    return jnp.where((jnp.arange(size) < limit)[:, None], duals, 0)
