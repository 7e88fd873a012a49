"""Samples sorted by their labels and cut into slices of equal size, and what is averaged over a slice."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from featlab.errors import InvalidParameter
from featlab.simulation.questions import backward


class Slices(NamedTuple):
    """Which slice each sample is in, as indicators (n, S), and how many samples each slice has, (S,)."""

    indicators: Array
    counts: Array

    @property
    def shares(self) -> Array:
        """p_s."""
        return self.counts / len(self.indicators)


def slice_sizes(rows: int, slices: int) -> np.ndarray:
    """The sizes of `slices` slices of `rows` samples, equal up to one."""
    return np.diff(rows * np.arange(slices + 1) // slices)


def sliced(values: Array, slices: int) -> Slices:
    """The samples with these labels (n,) in slices; equal labels in the order of the samples."""
    rows = len(values)
    sizes = slice_sizes(rows, slices)
    places = jnp.zeros(rows, jnp.int32).at[jnp.argsort(values)].set(jnp.arange(rows, dtype=jnp.int32))
    numbers = jnp.searchsorted(jnp.asarray(np.cumsum(sizes), jnp.int32), places, side="right")
    indicators = (numbers[:, None] == jnp.arange(slices)).astype(values.dtype)
    return Slices(indicators, jnp.asarray(sizes, values.dtype))


def slice_means(design: Any, batch: Any, slices: Slices) -> tuple[Array, Any]:
    """The means of x over each slice, (S, frame)."""
    return backward(design, batch, slices.indicators / slices.counts)


def check_sliced(slices: int, rows: int) -> None:
    """Refuse slices that would have less than two samples."""
    if rows < 2 * slices:
        raise InvalidParameter("samples", rows, f"at least {2 * slices}, two for each of {slices} slices")
