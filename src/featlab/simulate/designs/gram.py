"""A square root of D^T D for a D (n, p) that is only seen chunk by chunk, without losing half of the digits.

Summing D^T D and factoring it would square the condition number: two neurons that start as mirror images have
D_1 = -D_2 up to small differences, and those would drown in the rounding of float32. But the chunks are
samples of one law, so the triangular factor L_0 of the first chunk (by QR, accurate) makes P = L_0^{-1} a
near-perfect preconditioner: the rows of P D^T are well conditioned, their Gram matrix C C^T is summed safely,
and D^T D = (L_0 C)(L_0 C)^T.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.scipy.linalg import solve_triangular

from featlab.simulate.linalg import lower_triangle, product

_DEPENDENT = 1e-6


class Preconditioner(NamedTuple):
    """`lower` (p, p) and its inverse on the rows that are not `dependent` on the rows before them."""

    lower: Array
    inverse: Array
    independent: Array


def precondition(duals: Array) -> Preconditioner:
    """From the first chunk of D (n, p). A row of D^T within 1e-6 of the span of earlier rows counts as dependent."""
    lower = lower_triangle(duals.T)
    size = jnp.sqrt(jnp.sum(lower**2, axis=1))
    independent = jnp.abs(jnp.diag(lower)) > _DEPENDENT * size
    lower = jnp.where(independent[None, :], lower, 0)
    eye = jnp.eye(lower.shape[0], dtype=lower.dtype)
    inverse = solve_triangular(jnp.where(independent[:, None], lower, eye), eye, lower=True)
    return Preconditioner(lower, jnp.where(independent[:, None], inverse, 0), independent)


def whitened_gram(conditioner: Preconditioner, duals: Array) -> Array:
    """The contribution P D^T D P^T of a chunk; these add up."""
    white = product(conditioner.inverse, duals.T)
    return product(white, white.T)


def square_root(conditioner: Preconditioner, gram: Array) -> Array:
    """A (p, p) with A A^T = D^T D, from the sum of the chunks' whitened Gram matrices."""
    filled = gram + jnp.diag(jnp.where(conditioner.independent, 0, 1).astype(gram.dtype))
    return product(conditioner.lower, jnp.linalg.cholesky(filled))
