"""Sliced average variance estimation (Cook, Weisberg 1991) through products with X and X^T.

A product with sum_s p_s (I - C_s)^2 is two products with every I - C_s, C_s v = X_s^T X_s v / n_s - m_s <m_s, v>: rows
of X belong to one slice each, so all slices together are one pull-back of S times as many rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from featlab.learners.spectral_methods import SlicedAverageVariance
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.lanczos import Operator, lanczos, lanczos_bytes
from featlab.simulation.linalg import product
from featlab.simulation.problem import Algorithm, Problem, Simulator
from featlab.simulation.questions import Labelled, backward, forward, isotropic_only
from featlab.simulation.slices import Slices, check_sliced, slice_means, sliced
from featlab.targets import Target


class Sliced(NamedTuple):
    """What a product needs: the batch, its slices, and the means of x over them (S, frame)."""

    batch: Any
    slices: Slices
    means: Array


def prepare(problem: Problem, data: Labelled) -> Sliced:
    """The slices and their means."""
    slices = sliced(data.labels, problem.learner.slices)
    means, batch = slice_means(problem.design, data.batch, slices)
    return Sliced(batch, slices, means)


def apply(problem: Problem, data: Sliced, rows: Array) -> tuple[Array, Sliced]:
    """V sum_s p_s (I - C_s)^2 for rows V (k, frame)."""
    design, (batch, slices, means), (count, frame) = problem.design, data, rows.shape
    inside = slices.indicators[:, :, None]
    fields, batch = forward(design, batch, rows)
    duals = inside * fields[:, None, :] / slices.counts[:, None]
    pull, batch = backward(design, batch, duals.reshape(design.rows, -1))
    centred = pull.reshape(-1, count, frame) - product(means, rows.T)[:, :, None] * means[:, None, :]
    once = rows - centred  # V (I - C_s), (S, k, frame)
    fields, batch = forward(design, batch, once.reshape(-1, frame))
    own = jnp.sum(inside * fields.reshape(design.rows, -1, count), axis=1)
    pull, batch = backward(design, batch, own / design.rows)  # p_s / n_s = 1 / n
    along = slices.shares[:, None] * jnp.sum(once * means[:, None, :], axis=2)
    twice = pull - product(along.T, means)
    return jnp.sum(slices.shares[:, None, None] * once, axis=0) - twice, Sliced(batch, slices, means)


def average_variance(problem: Problem[SlicedAverageVariance, None]) -> Algorithm:
    """The algorithm for a problem whose learner is a `SlicedAverageVariance`."""
    return lanczos(problem, Operator(prepare, apply))


def average_variance_demand(learner: SlicedAverageVariance, student: None, target: Target, sizes: Sizes) -> Demand:
    """A batch that is read for the means and twice in every iteration, by a row for each slice and direction."""
    check_sliced(learner.slices, sizes.batch)
    width, item = learner.slices * target.rank, np.dtype(sizes.dtype).itemsize
    vectors = lanczos_bytes(learner.iterations, target.rank, sizes.dim, item)
    besides = vectors + 6 * item * sizes.batch * width
    uses = 1 + 2 * learner.iterations
    return Demand(sizes.dim, sizes.known, width, sizes.batch, uses=uses, dtype=sizes.dtype, per_seed=besides)


def check_average_variance(learner: SlicedAverageVariance, student: None, target: Target) -> None:
    """Refuse other inputs."""
    isotropic_only(learner, target)


SIMULATOR = Simulator(average_variance, average_variance_demand, check_average_variance)
