"""Samples that are compared by a kernel: where they lie in the frame of the design, and k between blocks of them.

Coordinates are in the precision of the run; inner products and kernels in float64, by blocks of samples and of
coordinates, so that no more than a few blocks exist in float64 at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from featlab.simulation.blocked import Entries
from featlab.simulation.designs.spiked import label_fields, seen_weights
from featlab.simulation.designs.triangular import Triangular
from featlab.simulation.linalg import product
from featlab.simulation.problem import Problem, label_noise, labels
from featlab.simulation.random import chi, named, normal

# Rows of a block, and coordinates that are multiplied at a time.
LARGEST_BLOCK = 512


class Points(NamedTuple):
    """Samples in the frame: coordinates (m, frame), in the precision of the run, and |x|^2/d (m,) in float64."""

    coordinates: Array
    squares: Array


def training_points(problem: Problem, key: Array, size: int) -> tuple[Points, Array]:
    """The batch and its labels (n,); the points are filled up to whole blocks of `size`."""
    design = problem.design
    batch = design.draw(named(key, "batch"))[0]
    target_fields, batch = design.target_fields(batch)
    outcome = labels(problem, target_fields, label_noise(problem, named(key, "labels"), (design.rows,)))
    inputs = seen_weights(design, batch)  # S^{1/2} z: what a spike does to weights it does to samples
    beyond = -design.rows % size
    squares = jnp.pad(_squares(inputs) / design.dim, (0, beyond), constant_values=1)
    return Points(jnp.pad(inputs, ((0, beyond), (0, 0))), squares), outcome.astype(jnp.float64)


def fresh_points(problem: Problem, key: Array, count: int) -> tuple[Points, Array]:
    """Fresh points, with their norm across the frame of the training samples, and labels without additive noise."""
    design = problem.design
    coordinates = normal(named(key, "along"), (count, design.frame), design.dtype)
    inputs = seen_weights(design, coordinates)
    squares = _squares(inputs)
    if design.frame < design.dim:
        squares += chi(named(key, "across"), float(design.dim - design.frame), (count,), design.dtype) ** 2.0
    noise = label_noise(problem, named(key, "labels"), (count,)).at[:, problem.target.hidden :].set(0)
    outcome = labels(problem, label_fields(design, coordinates[:, : design.known]), noise)
    return Points(inputs, squares / design.dim), outcome.astype(jnp.float64)


def kernel_blocks(problem: Problem, points: Points, size: int) -> Entries:
    """The blocks of K."""

    def entries(row: Array, column: Array) -> Array:
        return kernel_with(problem, rows_of(points, row, size), points, column, size)

    return entries


def kernel_with(problem: Problem, left: Points, points: Points, index: Array, size: int) -> Array:
    """k between some points (m,) and block number `index` of the training samples, (m, size)."""
    right = rows_of(points, index, size)
    inner = inner_products(left, right, _reach(problem, (index + 1) * size)) / problem.design.dim
    return problem.learner.function.value(jnp, inner, left.squares[:, None], right.squares)


def inner_products(left: Points, right: Points, reach: Array | int) -> Array:
    """<x, y> (a, b) over the first `reach` coordinates, by chunks of coordinates."""
    frame = left.coordinates.shape[1]
    size = min(frame, LARGEST_BLOCK)

    def add(index: Array, total: Array) -> Array:
        begin = jnp.minimum(index * size, frame - size)
        new = begin + jnp.arange(size) >= index * size  # the last chunk begins where it still fits
        parts = (lax.dynamic_slice_in_dim(points.coordinates, begin, size, axis=1) for points in (left, right))
        first, second = (part.astype(jnp.float64) for part in parts)
        return total + product(jnp.where(new, first, 0), second.T)

    empty = jnp.zeros((len(left.squares), len(right.squares)), jnp.float64)
    return lax.fori_loop(0, -(-reach // size), add, empty)


def rows_of(points: Points, index: Array, size: int) -> Points:
    """Block number `index` of the points."""
    return Points(*(lax.dynamic_slice_in_dim(part, index * size, size) for part in points))


def _reach(problem: Problem, end: Array) -> Array | int:
    """How many first coordinates of the training samples before number `end` are not all zero."""
    frame, known = problem.design.frame, problem.design.known
    triangular = isinstance(getattr(problem.design, "inner", problem.design), Triangular)
    return jnp.minimum(known + end, frame) if triangular else frame


def _squares(inputs: Array) -> Array:
    return jnp.sum(inputs.astype(jnp.float64) ** 2, axis=1)
