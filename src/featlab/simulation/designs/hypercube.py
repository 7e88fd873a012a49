"""X on the corners of a hypercube: stored like `Dense`, with signs in the place of normals.

x = A z with z uniform on {+-1/sqrt d}^d and A diagonal, d^(alpha/2) on the known coordinates. Such inputs are not
rotation invariant, so no design that samples X only where it was asked can serve them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import jax.numpy as jnp
from jax import Array

from featlab.errors import InvalidParameter
from featlab.simulation.designs.dense import Dense
from featlab.simulation.random import fold, uniform
from featlab.targets.inputs import Hypercube

_CORNERS = Hypercube()


@dataclass(frozen=True)
class HypercubeDense(Dense):
    """X stored as n x d numbers, of which a column has one absolute value."""

    inputs: Hypercube = _CORNERS

    def chunk(self, key: Array, index: Array) -> Array:
        """The chunk of X with that number, (chunk_rows, d)."""
        positive = uniform(fold(key, index), (self.chunk_rows, self.dim), self.dtype) < 0.5
        size = jnp.full(self.dim, self.dim**-0.5, self.dtype)
        size = size.at[: self.known].multiply(self.inputs.support_scale(self.dim))
        return jnp.where(positive, size, -size)

    def known_fields(self, samples: Array) -> Array:
        """The signs h of the known coordinates."""
        return jnp.sign(samples[:, : self.known])


def on_hypercube(design: Any, inputs: Hypercube) -> HypercubeDense:
    """The design of these inputs, of the sizes of a dense one."""
    if type(design) is not Dense:
        raise InvalidParameter("design", design, "'dense': only Gaussian inputs exist in other ways")
    return HypercubeDense(**{field.name: getattr(design, field.name) for field in fields(design)}, inputs=inputs)
