"""Stored inputs turned by a fixed rotation R that leaves the known axes alone: x -> R x, and so the start.

An equivariant learner then has weights turned by R, number by number, since all randomness is the same. The frame of a
virtual design is arbitrary in just this way: beyond the known axes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from featlab.simulation.designs.dense import Dense
from featlab.simulation.designs.hypercube import HypercubeDense
from featlab.simulation.designs.spiked import SpikedDesign
from featlab.simulation.linalg import product


@cache
def rotation(dim: int, known: int) -> np.ndarray:
    """R (d, d): the identity on the first axes, orthogonal on the others, with no coordinate left alone."""
    turned = np.eye(dim)
    turned[known:, known:] = np.linalg.qr(np.random.default_rng(1).standard_normal((dim - known, dim - known)))[0]
    return turned


class _Turned(Dense):
    """What both stored designs share: rows of X and of the start, turned."""

    def gaussian_rows(self, key: Array, count: int) -> Array:
        return _turn(self, super().gaussian_rows(key, count))

    def chunk(self, key: Array, index: Array) -> Array:
        return _turn(self, super().chunk(key, index))


@dataclass(frozen=True)
class TurnedDense(_Turned, Dense):
    """Gaussian inputs, turned."""


@dataclass(frozen=True)
class TurnedHypercube(_Turned, HypercubeDense):
    """Signs, turned."""


def turned(design: Any) -> Any:
    """A stored design with everything turned."""
    if isinstance(design, SpikedDesign):
        return replace(design, inner=turned(design.inner))
    kind = TurnedHypercube if isinstance(design, HypercubeDense) else TurnedDense
    return kind(**{field.name: getattr(design, field.name) for field in fields(design)})


def _turn(design: Dense, rows: Array) -> Array:
    return product(rows, jnp.asarray(rotation(design.dim, design.known).T, design.dtype))
