"""X sampled only where it was asked, with explicit d-vectors: exact in law, without ever forming X.

Known about X: orthonormal right vectors V with their answers A = X V, and orthonormal left vectors U with
their answers B = U^T X. To answer X v, split v = V c + s w with w a unit vector orthogonal to V. Given what
is known, X w = U (B w) + (I - U U^T) g with fresh g ~ N(0, I_n); w and X w join the known, and the answer is
A c + s X w. X^T u is its mirror image. The law is that of Y. M. Lu's Householder Dice (arXiv:2101.07464),
here in conditioning form, p vectors at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from featlab.errors import InvalidParameter
from featlab.simulation.designs.protocol import Rule
from featlab.simulation.linalg import product, split
from featlab.simulation.random import fold, named, normal


class DiceBatch(NamedTuple):
    """What is known of one X. Unused rows of the tables are zero, which leaves every formula as it is."""

    key: Array
    right: Array  # V^T (capacity, d)
    right_answers: Array  # (X V)^T (capacity, n)
    left: Array  # U^T (capacity, n)
    left_answers: Array  # U^T X (capacity, d)
    right_count: Array
    left_count: Array


@dataclass(frozen=True)
class Dice:
    """X sampled where asked. `uses`: how many times forward(W) and backward(D) may be asked of one batch."""

    dim: int
    known: int
    width: int
    rows: int
    uses: int = 1
    dtype: Any = np.float32
    block: int = 1

    def __post_init__(self) -> None:
        if self.dim < self.right_capacity:
            raise InvalidParameter("dim", self.dim, f"at least {self.right_capacity} vectors to ask of X in R^d")
        if self.rows < self.left_capacity:
            raise InvalidParameter("samples", self.rows, f"at least {self.left_capacity} vectors to ask of X^T in R^n")

    @property
    def right_capacity(self) -> int:
        """How many right vectors there is room for."""
        return self.known + self.uses * self.width

    @property
    def left_capacity(self) -> int:
        """How many left vectors there is room for."""
        return self.uses * self.width

    @property
    def frame(self) -> int:
        """All d coordinates."""
        return self.dim

    def gaussian_rows(self, key: Array, count: int) -> Array:
        """Rows of N(0, I_d)."""
        return normal(key, (count, self.dim), self.dtype)

    def rebase(self, weights: Array) -> Array:
        """Nothing to do: the frame is all of R^d."""
        return weights

    def draw(self, key: Array) -> DiceBatch:
        """One batch of which the target's fields are known and nothing else."""
        right, left = self.right_capacity, self.left_capacity
        axes = jnp.zeros((right, self.dim), self.dtype).at[: self.known, : self.known].set(jnp.eye(self.known))
        fields = normal(named(key, "target fields"), (self.known, self.rows), self.dtype)
        batch = DiceBatch(
            key=named(key, "dice"),
            right=axes,
            right_answers=jnp.zeros((right, self.rows), self.dtype).at[: self.known].set(fields),
            left=jnp.zeros((left, self.rows), self.dtype),
            left_answers=jnp.zeros((left, self.dim), self.dtype),
            right_count=jnp.int32(self.known),
            left_count=jnp.int32(0),
        )
        return DiceBatch(*(part[None] for part in batch))

    def target_fields(self, batch: DiceBatch) -> tuple[Array, DiceBatch]:
        """The answers to the first axes, which are known from the start."""
        return batch.right_answers[: self.known].T, batch

    def forward(self, batch: DiceBatch, weights: Array) -> tuple[Array, DiceBatch]:
        """X W^T."""
        old, lower, axes = split(batch.right, weights)
        noise = normal(fold(batch.key, 2 * batch.right_count), (self.width, self.rows), self.dtype)
        known = product(batch.left_answers, axes.T).T
        answers = noise + product(known - product(batch.left, noise.T).T, batch.left)
        coefficients = lax.dynamic_update_slice_in_dim(old, lower, batch.right_count, axis=1)
        batch = batch._replace(
            right=lax.dynamic_update_slice_in_dim(batch.right, axes, batch.right_count, axis=0),
            right_answers=lax.dynamic_update_slice_in_dim(batch.right_answers, answers, batch.right_count, axis=0),
            right_count=batch.right_count + self.width,
        )
        # Read after the answers are written, never before: only then does the compiler write in place.
        return product(coefficients, batch.right_answers).T, batch

    def backward(self, batch: DiceBatch, duals: Array) -> tuple[Array, DiceBatch]:
        """D^T X."""
        old, lower, axes = split(batch.left, duals.T)
        noise = normal(fold(batch.key, 2 * batch.left_count + 1), (self.width, self.dim), self.dtype)
        known = product(batch.right_answers, axes.T).T
        answers = noise + product(known - product(batch.right, noise.T).T, batch.right)
        coefficients = lax.dynamic_update_slice_in_dim(old, lower, batch.left_count, axis=1)
        batch = batch._replace(
            left=lax.dynamic_update_slice_in_dim(batch.left, axes, batch.left_count, axis=0),
            left_answers=lax.dynamic_update_slice_in_dim(batch.left_answers, answers, batch.left_count, axis=0),
            left_count=batch.left_count + self.width,
        )
        return product(coefficients, batch.left_answers), batch

    def sweep(self, key: Array, weights: Array, rule: Rule) -> Array:
        """D^T X over a fresh batch."""
        batch = DiceBatch(*(part[0] for part in self.draw(key)))
        target_fields, batch = self.target_fields(batch)
        fields, batch = self.forward(batch, weights)
        return self.backward(batch, rule(target_fields, fields, named(key, "rule")))[0]

    def bytes_per_seed(self, swept: bool = False) -> int:
        """The tables, and a few vectors while a question is answered."""
        tables = (self.right_capacity + self.left_capacity) * (self.rows + self.dim)
        numbers = tables + 8 * self.width * (self.rows + self.dim)
        return numbers * np.dtype(self.dtype).itemsize
