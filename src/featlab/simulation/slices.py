"""Samples sorted by their labels and cut into slices of equal size, and what is summed over a slice."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from featlab.errors import InvalidParameter
from featlab.simulation.arrays import ops_of
from featlab.simulation.questions import backward, forward


class Slices(NamedTuple):
    """Which slice each sample is in, as indicators (n, S), and how many samples each slice has, (S,)."""

    indicators: Any
    counts: Any

    @property
    def shares(self) -> Any:
        """p_s."""
        return self.counts / len(self.indicators)


def slice_sizes(rows: int, slices: int) -> np.ndarray:
    """The sizes of `slices` slices of `rows` samples, equal up to one."""
    return np.diff(rows * np.arange(slices + 1) // slices)


def sliced(values: Any, slices: int) -> Slices:
    """The samples with these labels (n,) in slices; equal labels in the order of the samples."""
    ops = ops_of(values)
    sizes = slice_sizes(len(values), slices)
    places = ops.argsort(ops.argsort(values, stable=True))
    numbers = ops.searchsorted(ops.asarray(np.cumsum(sizes), places.dtype), places, side="right")
    return slices_of(numbers, sizes, values.dtype)


def slices_of(numbers: Any, sizes: Any, dtype: Any) -> Slices:
    """The slices of samples that know the number of theirs, (n,)."""
    ops = ops_of(numbers)
    indicators = (numbers[:, None] == ops.arange(len(sizes))).astype(dtype)
    return Slices(indicators, ops.asarray(sizes, dtype))


def slice_means(design: Any, batch: Any, slices: Slices) -> tuple[Any, Any]:
    """The means of x over each slice, (S, frame)."""
    return backward(design, batch, slices.indicators / slices.counts)


def slice_pulls(design: Any, batch: Any, slices: Slices, fields: Any) -> tuple[Any, Any]:
    """For every slice the sum over its samples of fields (n, k) times x, (S, k, frame)."""
    if isinstance(fields, np.ndarray):  # stored rows: those of a slice alone are multiplied
        members = [np.nonzero(column)[0] for column in slices.indicators.T]
        return np.stack([fields[own].T @ batch.inputs[own] for own in members]), batch
    count = fields.shape[1]
    duals = slices.indicators[:, :, None] * fields[:, None, :]
    pull, batch = backward(design, batch, duals.reshape(len(fields), -1))
    return pull.reshape(-1, count, pull.shape[1]), batch


def slice_fields(design: Any, batch: Any, slices: Slices, rows: Any) -> tuple[Any, Any]:
    """The fields (n, k) of every sample with the rows of its own slice; rows (S, k, frame)."""
    if isinstance(rows, np.ndarray):
        fields = np.empty((len(slices.indicators), rows.shape[1]), rows.dtype)
        for column, own_rows in zip(slices.indicators.T, rows, strict=True):
            own = np.nonzero(column)[0]
            fields[own] = batch.inputs[own] @ own_rows.T
        return fields, batch
    count = rows.shape[1]
    fields, batch = forward(design, batch, rows.reshape(-1, rows.shape[2]))
    chosen = slices.indicators[:, :, None] * fields.reshape(len(fields), -1, count)
    return ops_of(chosen).sum(chosen, axis=1), batch


def check_sliced(slices: int, rows: int) -> None:
    """Refuse slices that would have less than two samples."""
    if rows < 2 * slices:
        raise InvalidParameter("samples", rows, f"at least {2 * slices}, two for each of {slices} slices")
