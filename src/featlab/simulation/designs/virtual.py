"""d only as a number: weights and samples as coordinates in a small orthonormal frame. Exact in law.

The frame's first axes are the target's directions, the next p span the weights. On K known axes the
coordinates of the samples are a fresh Gaussian matrix G (n, K), so forward(W) = G W^T. On the other d - K
axes the pull-back D^T X is a Gaussian matrix with row covariance D^T D; all that matters of it is its
triangular factor, which Bartlett's decomposition draws directly, and the new axes that it spans join the
frame.

`FreshVirtual` is for batches that are read once: nothing is remembered, and before a new batch the weights
are re-based to known + p coordinates. `ReusedVirtual` remembers: the batch's coordinates on the new axes,
given the pull-back, are Q L + (I - U U^T) noise, where Q spans the part of D that was not asked before, L is
the Bartlett factor and U collects all the Q. (`one_neuron` has the same for one neuron on a GPU, with other tables.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from featlab.errors import InvalidParameter
from featlab.simulation.designs.chunks import chunk_count, chunk_size, within
from featlab.simulation.designs.protocol import Rule, by_columns
from featlab.simulation.devices import over_samples
from featlab.simulation.linalg import grown_triangle, lower_triangle, off, product, split
from featlab.simulation.random import bartlett, fold, named, normal, normal_turned

_BLOCK_STEPS = 64
_BLOCK_NUMBERS = 2**12
# Between two of these a dimension may be left open when a program is compiled: norms are drawn by the same formulas.
_LEVELS = (2, 256)


def least_of(dim: int) -> int:
    """What a program may know of a dimension that it is told when it is run: it is at least this."""
    return max(level for level in _LEVELS if level <= max(dim, 2))


@dataclass(frozen=True)
class Framed(ABC):
    """What both have in common: a frame of known axes, p axes for the weights, and room for the new ones.

    The dimension may be traced: it enters as a number of degrees of freedom only. `least_dim` is what is known of it.
    The samples of a batch that is kept or retraced are spread over so many devices (`over`).
    """

    dim: int
    known: int
    width: int
    rows: int
    dtype: Any = np.float32
    least_dim: int = field(default=2, kw_only=True)
    over: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        if self.dim <= self.frame:
            raise InvalidParameter("dim", self.dim, f"more than the {self.frame} axes of the frame; or design='dense'")

    @property
    def base(self) -> int:
        """The axes in use when a batch begins."""
        return self.known + self.width

    @property
    @abstractmethod
    def frame(self) -> int:
        """All axes there is room for."""

    def gaussian_rows(self, key: Array, count: int) -> Array:
        """Rows of N(0, I_d): their coordinates on the known axes, and a triangle on new ones."""
        along = normal(named(key, "along"), (count, self.known), self.dtype)
        across = self._triangle(named(key, "across"), count, self.known)
        return jnp.pad(jnp.hstack([along, across]), ((0, 0), (0, self.frame - self.known - count)))

    def rebase(self, weights: Array) -> Array:
        """The weights in a frame whose p axes after the known ones span them; all other axes are free again."""
        across = lower_triangle(weights[:, self.known :])
        empty = jnp.zeros((self.width, self.frame - self.base), self.dtype)
        return jnp.hstack([weights[:, : self.known], across, empty])

    def _triangle(self, key: Array, size: int, axes: int, batch: tuple[int, ...] = ()) -> Array:
        """Bartlett's factor of `size` rows on all but so many axes."""
        return bartlett(key, size, 1.0 * self.dim - axes, batch, self.dtype, self.least_dim - axes)


class FreshBatch(NamedTuple):
    """Coordinates of the samples on the axes in use (n, base) and the Bartlett factor (new, new) of the others."""

    coordinates: Array
    factor: Array


@dataclass(frozen=True)
class FreshVirtual(Framed):
    """Batches that are read once.

    With at most p rows, or when norms are asked for (`normed`), the samples themselves get one new axis each and
    `factor` is the triangle of their coordinates there; otherwise the p rows of the pull-back do.
    """

    normed: bool = False

    @property
    def per_sample(self) -> bool:
        """Whether the new axes belong to the samples (else to the rows of the pull-back)."""
        return self.normed or self.rows <= self.width

    @property
    def new(self) -> int:
        """How many new axes a batch brings."""
        return self.rows if self.per_sample else self.width

    @property
    def frame(self) -> int:
        """Known axes, weights' axes, new axes."""
        return self.base + self.new

    @property
    def block(self) -> int:
        """As many batches at once as make drawing efficient."""
        return max(1, min(_BLOCK_STEPS, _BLOCK_NUMBERS // (self.rows * self.base + self.new**2)))

    def draw(self, key: Array) -> FreshBatch:
        """The next `block` batches."""
        count = self.block
        coordinates = normal(named(key, "coordinates"), (count, self.rows, self.base), self.dtype)
        factor = self._triangle(named(key, "factor"), self.new, self.base, (count,))
        return FreshBatch(coordinates, factor)

    def target_fields(self, batch: FreshBatch) -> tuple[Array, FreshBatch]:
        """The coordinates on the known axes."""
        return batch.coordinates[:, : self.known], batch

    def forward(self, batch: FreshBatch, weights: Array) -> tuple[Array, FreshBatch]:
        """G W^T."""
        return product(batch.coordinates, weights[:, : self.base].T), batch

    def backward(self, batch: FreshBatch, duals: Array) -> tuple[Array, FreshBatch]:
        """D^T G on the axes in use, and the drawn factor on the new ones."""
        root = duals.T if self.per_sample else lower_triangle(duals.T)
        return jnp.hstack([product(duals.T, batch.coordinates), product(root, batch.factor)]), batch

    def squared_norms(self, batch: FreshBatch) -> Array:
        """|coordinates|^2 plus chi^2 of the other d - K, consistent with `backward`; needs `per_sample` axes."""
        if not self.per_sample:
            raise InvalidParameter("normed", self.normed, "True for a learner that asks for |x|^2")
        return jnp.sum(batch.coordinates**2, axis=1) + jnp.sum(batch.factor**2, axis=1)

    def sweep(self, key: Array, weights: Array, rule: Rule) -> Array:
        """D^T X over a fresh batch of any size: chunks only add to D^T G and to the triangular factor of D.

        The factor grows by QR, never through D^T D: mirror-image neurons have D_1 = -D_2 up to small differences, which
        would drown in the rounding of a Gram matrix.
        """
        chunks, size = chunk_count(self.rows, self.base), chunk_size(self.rows, self.base)
        rule_key, chunk_key, answer = named(key, "rule"), named(key, "coordinates"), by_columns(rule)

        def add(carry: tuple[Summed, Array], index: Array) -> tuple[tuple[Summed, Array], None]:
            pull, root = carry
            coordinates = normal_turned(fold(chunk_key, index), (size, self.base), self.dtype)
            fields = product(weights[:, : self.base], coordinates)
            duals = answer(coordinates[: self.known], fields, fold(rule_key, index))
            duals = within(duals.T, index, self.rows).T
            return (pull.add(product(duals, coordinates.T)), grown_triangle(root, duals)), None

        empty = jnp.zeros((self.width, self.width), self.dtype)
        zero = Summed.zero((self.width, self.base), self.dtype), empty
        (pull, root), _ = lax.scan(add, zero, jnp.arange(chunks))
        factor = self._triangle(named(key, "factor"), self.new, self.base)
        return jnp.hstack([pull.value, product(root[:, : self.new], factor)])  # D has rank `new` at most

    def bytes_per_seed(self, swept: bool = False) -> int:
        """A block of batches, or a chunk of one that is swept over, and the weights and fields."""
        rows = chunk_size(self.rows, self.base) if swept else self.rows * self.block
        numbers = 4 * rows * (self.base + self.width) + 4 * self.new**2 * self.block + 8 * self.width * self.frame
        numbers += chunk_count(self.rows, self.base) if swept else 0
        return numbers * np.dtype(self.dtype).itemsize


class Summed(NamedTuple):
    """A compensated sum (Kahan): thousands of chunks add up without losing digits."""

    value: Array
    lost: Array

    @classmethod
    def zero(cls, shape: tuple[int, ...], dtype: Any) -> Summed:
        return cls(jnp.zeros(shape, dtype), jnp.zeros(shape, dtype))

    def add(self, term: Array) -> Summed:
        corrected = term - self.lost
        total = self.value + corrected
        return Summed(total, (total - self.value) - corrected)


class ReusedBatch(NamedTuple):
    """What is known of one batch. Unused rows of the tables are zero, which leaves every formula as it is."""

    key: Array
    coordinates: Array  # G^T (frame, n)
    asked: Array  # U^T (uses * p, n): orthonormal, spans every D asked so far
    times: Array  # how often backward was asked


@dataclass(frozen=True)
class ReusedVirtual(Framed):
    """Batches that are read `uses` times each."""

    uses: int = 1
    block: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rows < self.uses * self.width:
            expected = f"at least {self.uses * self.width}, one for each pull-back asked; or design='dense'"
            raise InvalidParameter("samples", self.rows, expected)

    @property
    def frame(self) -> int:
        """Known axes, weights' axes, and p new ones for each use."""
        return self.base + self.uses * self.width

    def draw(self, key: Array) -> ReusedBatch:
        """One batch, known on the axes in use."""
        coordinates = jnp.pad(self.start(key), ((0, self.frame - self.base), (0, 0)))
        asked = jnp.zeros((self.uses * self.width, self.rows), self.dtype)
        if self.over > 1:
            coordinates, asked = lax.with_sharding_constraint((coordinates, asked), over_samples(self.over, 1, 2))
        return ReusedBatch(named(key, "axes")[None], coordinates[None], asked[None], jnp.zeros(1, jnp.int32))

    def start(self, key: Array) -> Array:
        """The coordinates on the axes in use when a batch begins, (base, n)."""
        return self._normal(named(key, "coordinates"), self.base)

    def noise(self, key: Array, times: Array) -> Array:
        """What the samples do on p axes of which nothing is known yet, (p, n)."""
        return self._normal(named(fold(key, times), "noise"), self.width)

    def _normal(self, key: Array, count: int) -> Array:
        return normal(key, (count, self.rows), self.dtype, over_samples(self.over, 1, 2))

    def target_fields(self, batch: ReusedBatch) -> tuple[Array, ReusedBatch]:
        """The coordinates on the known axes."""
        return batch.coordinates[: self.known].T, batch

    def forward(self, batch: ReusedBatch, weights: Array) -> tuple[Array, ReusedBatch]:
        """G W^T."""
        return product(weights, batch.coordinates).T, batch

    def backward(self, batch: ReusedBatch, duals: Array) -> tuple[Array, ReusedBatch]:
        """D^T G on the axes in use; on p new axes the drawn factor, and the batch's coordinates there."""
        key, first = fold(batch.key, batch.times), self.base + batch.times * self.width
        _, lower, fresh = split(batch.asked, duals.T)
        factor = bartlett(named(key, "factor"), self.width, 1.0 * self.dim - first, dtype=self.dtype)
        asked = lax.dynamic_update_slice_in_dim(batch.asked, fresh, batch.times * self.width, axis=0)
        noise = self.noise(batch.key, batch.times)
        new = product(factor.T, fresh) + off(asked, noise)
        coordinates = lax.dynamic_update_slice_in_dim(batch.coordinates, new, first, axis=0)
        # Read after the new axes are written, never before: only then does the compiler write in place.
        pull = lax.dynamic_update_slice_in_dim(product(coordinates, duals).T, product(lower, factor), first, axis=1)
        return pull, ReusedBatch(batch.key, coordinates, asked, batch.times + 1)

    def bytes_per_seed(self, swept: bool = False) -> int:
        """The tables, and a few fields while a question is answered."""
        numbers = self.rows * (self.frame + self.uses * self.width + 8 * self.width + self.known)
        return numbers * np.dtype(self.dtype).itemsize
