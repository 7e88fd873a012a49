"""Spiked inputs on any design: x = S^{1/2} z, the design being over z.

With S = I + theta mu mu^T and mu among the known axes of the frame,

    X W^T = Z (W S^{1/2})^T   and   D^T X = (D^T Z) S^{1/2},   S^{1/2} = I + (sqrt(1 + theta) - 1) mu mu^T,

so a spike is a rank-one change of the weights on the way in and of the pull-back on the way out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import Array

from featlab.simulation.designs.hypercube import on_hypercube
from featlab.simulation.designs.protocol import ColumnRule, Rule, by_columns
from featlab.simulation.designs.retraced import Answer, Retraced
from featlab.simulation.linalg import product
from featlab.targets.inputs import Hypercube, Inputs, Spiked


@dataclass(frozen=True)
class SpikedDesign:
    """A design whose samples are those of `inner`, stretched along mu."""

    inner: Any
    inputs: Spiked

    @property
    def dim(self) -> int:
        """The dimension d."""
        return self.inner.dim

    @property
    def known(self) -> int:
        """The target's directions, and mu's own axis."""
        return self.inner.known

    @property
    def width(self) -> int:
        """The number of neurons."""
        return self.inner.width

    @property
    def rows(self) -> int:
        """The samples of a batch."""
        return self.inner.rows

    @property
    def frame(self) -> int:
        """The coordinates of a weight."""
        return self.inner.frame

    @property
    def block(self) -> int:
        """The batches drawn at once."""
        return self.inner.block

    @property
    def dtype(self) -> Any:
        """Of every number."""
        return self.inner.dtype

    def gaussian_rows(self, key: Array, count: int) -> Array:
        """Rows of N(0, I_d)."""
        return self.inner.gaussian_rows(key, count)

    def draw(self, key: Array) -> Any:
        """The next batches of z."""
        return self.inner.draw(key)

    def rebase(self, weights: Array) -> Array:
        """As the inner design; the known axes stay."""
        return self.inner.rebase(weights)

    def target_fields(self, batch: Any) -> tuple[Array, Any]:
        """The normalised fields h of the target."""
        coordinates, batch = self.inner.target_fields(batch)
        return self.label_fields(coordinates), batch

    def forward(self, batch: Any, weights: Array) -> tuple[Array, Any]:
        """X W^T."""
        return self.inner.forward(batch, self.stretched(weights))

    def backward(self, batch: Any, duals: Array) -> tuple[Array, Any]:
        """D^T X."""
        pull, batch = self.inner.backward(batch, duals)
        return self.stretched(pull), batch

    def sweep(self, key: Array, weights: Array, rule: Rule) -> Array:
        """D^T X over a fresh batch."""

        answer = by_columns(rule)

        def on_labels(coordinates: Array, fields: Array, rule_key: Array) -> Array:
            return answer(self.label_fields(coordinates.T).T, fields, rule_key)

        return self.stretched(self.inner.sweep(key, self.stretched(weights), ColumnRule(on_labels)))

    def ask(self, batch: Any, weights: Array, answer: Answer) -> tuple[Array, Array, Any]:
        """D^T X of a batch that is retraced, and the mean loss."""

        def on_labels(coordinates: Array, noises: Array, fields: Array) -> tuple[Array, Array]:
            return answer(self.label_fields(coordinates), noises, fields)

        pull, loss, batch = self.inner.ask(batch, self.stretched(weights), on_labels)
        return self.stretched(pull), loss, batch

    def squared_norms(self, batch: Any) -> Array:
        """|x|^2 = |z|^2 + theta <mu, z>^2."""
        coordinates, batch = self.inner.target_fields(batch)
        return self.inner.squared_norms(batch) + self.inputs.strength * self._along(coordinates) ** 2

    def bytes_per_seed(self, swept: bool = False) -> int:
        """That of the inner design: the spike adds nothing to speak of."""
        return self.inner.bytes_per_seed(swept)

    def stretched(self, rows: Array) -> Array:
        """rows S^{1/2}."""
        return self._scaled(rows, (self.inputs.strength + 1) ** 0.5)

    def shrunk(self, rows: Array) -> Array:
        """rows S^{-1/2}."""
        return self._scaled(rows, (self.inputs.strength + 1) ** -0.5)

    def label_fields(self, coordinates: Array) -> Array:
        """h = C^{-1/2} (S^{1/2} z) on the target's directions, for z on the known axes (n, known)."""
        overlaps = jnp.asarray(self.inputs.overlaps, self.dtype)
        fields = self.stretched(coordinates)[:, : overlaps.size]
        square = sum(m * m for m in self.inputs.overlaps)
        if square == 0:
            return fields
        shrink = (1 + self.inputs.strength * square) ** -0.5 - 1
        return fields + (shrink / square) * product(fields, overlaps[:, None]) * overlaps

    def _scaled(self, rows: Array, factor: float) -> Array:
        """Rows whose part along mu is multiplied by that factor."""
        along = self._along(rows[:, : self.known])[:, None] * self._spike()
        return rows.at[:, : self.known].add((factor - 1) * along)

    def _spike(self) -> Array:
        return jnp.asarray(self.inputs.spike, self.dtype)

    def _along(self, coordinates: Array) -> Array:
        return product(coordinates, self._spike()[:, None])[:, 0]


def known_axes(inputs: Inputs, rank: int) -> int:
    """How many axes of the frame have a meaning of their own: the target's, and one for a spike outside their span."""
    return len(inputs.spike) if isinstance(inputs, Spiked) else rank


def with_inputs(design: Any, inputs: Inputs) -> Any:
    """The design for inputs of this law, from one over standard normal z."""
    if isinstance(inputs, Hypercube):
        return on_hypercube(design, inputs)
    return SpikedDesign(design, inputs) if isinstance(inputs, Spiked) else design


def is_retraced(design: Any) -> bool:
    """Whether nothing of a batch is kept, so that it is asked by `ask` alone."""
    return isinstance(design.inner if isinstance(design, SpikedDesign) else design, Retraced)


def seen_weights(design: Any, weights: Array) -> Array:
    """The weights by which standard normal coordinates in the frame give the fields: <w, x> = <seen(w), z>."""
    return design.stretched(weights) if isinstance(design, SpikedDesign) else weights


def weights_seen_as(design: Any, rows: Array) -> Array:
    """The weights w with seen(w) = these rows, the inverse of `seen_weights`."""
    return design.shrunk(rows) if isinstance(design, SpikedDesign) else rows


def label_fields(design: Any, coordinates: Array) -> Array:
    """The target's fields of samples with these standard normal coordinates on the known axes."""
    return design.label_fields(coordinates) if isinstance(design, SpikedDesign) else coordinates
