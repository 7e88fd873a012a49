"""A batch whose samples are compared with each other: their own coordinates, in a frame of n + known axes, at any d.

A kernel asks for inner products of samples, never for products with weights. Beyond the known axes the samples of a
batch are n Gaussian vectors in R^(d - known), and all their inner products are those of the rows of the triangular
factor L of that Gaussian matrix, drawn by Bartlett's decomposition: X = [G | L] in an orthonormal frame. A fresh sample
has N(0, 1) coordinates in that frame and, across it, a norm of which the square is chi^2 with d - known - n degrees of
freedom. Exact in law; d is only a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from featlab.errors import InvalidParameter
from featlab.simulation.random import bartlett, named, normal


@dataclass(frozen=True)
class Triangular:
    """n samples in the frame that they span."""

    dim: int
    known: int
    width: int
    rows: int
    dtype: Any = np.float32
    block: int = 1

    def __post_init__(self) -> None:
        if self.dim < self.frame + 2:
            expected = f"at least {self.frame + 2}, two more than the {self.frame} axes of the frame; or design='dense'"
            raise InvalidParameter("dim", self.dim, expected)

    @property
    def frame(self) -> int:
        """The known axes, and one for each sample."""
        return self.known + self.rows

    def draw(self, key: Array) -> Array:
        """One batch: its coordinates (1, n, frame), zero beyond column known + i in row i (counted from 0)."""
        along = normal(named(key, "along"), (self.rows, self.known), self.dtype)
        across = bartlett(named(key, "across"), self.rows, float(self.dim - self.known), dtype=self.dtype)
        return jnp.hstack([along, across])[None]

    def target_fields(self, batch: Array) -> tuple[Array, Array]:
        """The coordinates on the known axes."""
        return batch[:, : self.known], batch

    def bytes_per_seed(self, swept: bool = False) -> int:
        """The coordinates, twice while they are drawn."""
        return 2 * self.rows * self.frame * np.dtype(self.dtype).itemsize
