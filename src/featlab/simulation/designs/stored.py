"""X and y as they were given, in the place of inputs that are drawn: how learners run on data.

The samples come with their labels: these stand where other designs have the target's fields, and `labels` takes them
from there. Arrays of NumPy stay on the host, where nothing is compiled for a new shape; those of JAX may be traced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from featlab.simulation.arrays import ops_of
from featlab.simulation.designs.protocol import Rule
from featlab.simulation.linalg import product
from featlab.simulation.random import named, normal, uniform


class StoredBatch(NamedTuple):
    """Samples (rows, d) and their labels (rows,)."""

    inputs: Any
    outcome: Any


@dataclass(frozen=True, eq=False)
class Stored:
    """All samples, or at every draw `rows` of them, independently.

    Attributes:
        inputs, outcome: X (n, d) and y (n,).
        rows: how many samples a batch has; all of them, in their order, if that is n.
        width: 0: questions may have any number of rows.
    """

    inputs: Any
    outcome: Any
    rows: int
    known: int = 1
    width: int = 0
    block: int = 1

    @classmethod
    def whole(cls, inputs: Any, outcome: Any) -> Stored:
        """The design whose every batch is all there is."""
        return cls(inputs, outcome, len(inputs))

    @property
    def dim(self) -> int:
        """The number of columns of X."""
        return self.inputs.shape[1]

    @property
    def frame(self) -> int:
        """All d coordinates."""
        return self.dim

    @property
    def dtype(self) -> Any:
        """That of X."""
        return self.inputs.dtype

    @property
    def batch(self) -> StoredBatch:
        """All samples."""
        return StoredBatch(self.inputs, self.outcome)

    def gaussian_rows(self, key: Any, count: int) -> Any:
        """Rows of N(0, I_d), of the same bits on the host and on a device."""
        return normal(key, (count, self.dim), np.float32).astype(self.dtype)

    def rebase(self, weights: Any) -> Any:
        """Nothing to do: the frame is all of R^d."""
        return weights

    def draw(self, key: Any) -> StoredBatch:
        """One batch."""
        batch, count = self.batch, len(self.inputs)
        if self.rows < count:
            ops = ops_of(self.inputs)
            chosen = ops.floor(count * uniform(key, (self.rows,), self.dtype)).astype(np.int32)
            batch = StoredBatch(*(part[ops.minimum(chosen, count - 1)] for part in batch))
        return StoredBatch(*(part[None] for part in batch))

    def target_fields(self, batch: StoredBatch) -> tuple[Any, StoredBatch]:
        """The labels, as one column."""
        return batch.outcome[:, None], batch

    def forward(self, batch: StoredBatch, weights: Any) -> tuple[Any, StoredBatch]:
        """X W^T."""
        return product(batch.inputs, weights.T), batch

    def backward(self, batch: StoredBatch, duals: Any) -> tuple[Any, StoredBatch]:
        """D^T X."""
        return product(duals.T, batch.inputs), batch

    def squared_norms(self, batch: StoredBatch) -> Array:
        """|x|^2."""
        return jnp.sum(batch.inputs**2, axis=1)

    def sweep(self, key: Any, weights: Any, rule: Rule) -> Any:
        """D^T X over a batch."""
        batch = StoredBatch(*(part[0] for part in self.draw(key)))
        duals = rule(batch.outcome[:, None], product(batch.inputs, weights.T), named(key, "rule"))
        return product(duals.T, batch.inputs)
