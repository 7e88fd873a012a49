"""Sliced average variance estimation (Cook, Weisberg 1991) through products with X and X^T.

A product with sum_s p_s (I - C_s)^2 is two products with every I - C_s, C_s = (X_s^T X_s - n_s m_s m_s^T) / (n_s - 1):
rows of X belong to one slice each, so all slices together are one pull-back of S times as many rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from featlab.learners.spectral_methods import SlicedAverageVariance
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.lanczos import Operator, lanczos, lanczos_bytes
from featlab.simulation.linalg import product
from featlab.simulation.problem import Algorithm, Problem, Simulator
from featlab.simulation.questions import Labelled, backward, forward, isotropic_only
from featlab.simulation.slices import Slices, check_sliced, slice_fields, slice_means, slice_pulls, sliced
from featlab.targets import Target


class Sliced(NamedTuple):
    """What a product needs: the batch, its slices, and the means of x over them (S, frame)."""

    batch: Any
    slices: Slices
    means: Any


def prepare(problem: Problem, data: Labelled) -> Sliced:
    """The slices and their means."""
    return prepared(problem.design, data.batch, sliced(data.labels, problem.learner.slices))


def prepared(design: Any, batch: Any, slices: Slices) -> Sliced:
    """The same for slices that are known."""
    means, batch = slice_means(design, batch, slices)
    return Sliced(batch, slices, means)


def apply(problem: Problem, data: Sliced, rows: Any) -> tuple[Any, Sliced]:
    """V sum_s p_s (I - C_s)^2 for rows V (k, frame)."""
    design, (batch, slices, means) = problem.design, data
    shares, others = slices.shares, slices.counts - 1
    fields, batch = forward(design, batch, rows)
    pulls, batch = slice_pulls(design, batch, slices, fields)
    along = product(means, rows.T)[:, :, None] * slices.counts[:, None, None]
    once = rows - (pulls - along * means[:, None, :]) / others[:, None, None]  # V (I - C_s), (S, k, frame)
    own, batch = slice_fields(design, batch, slices, once)
    weights = product(slices.indicators, (shares / others)[:, None])
    pull, batch = backward(design, batch, weights * own)
    back = (shares * slices.counts / others)[:, None] * (once * means[:, None, :]).sum(axis=2)
    twice = pull - product(back.T, means)
    return (shares[:, None, None] * once).sum(axis=0) - twice, Sliced(batch, slices, means)


OPERATOR = Operator(prepare, apply)


def average_variance(problem: Problem[SlicedAverageVariance, None]) -> Algorithm:
    """The algorithm for a problem whose learner is a `SlicedAverageVariance`."""
    return lanczos(problem, OPERATOR)


def average_variance_demand(learner: SlicedAverageVariance, student: None, target: Target, sizes: Sizes) -> Demand:
    """A batch that is read for the means and twice in every iteration, by a row for each slice and direction."""
    check_sliced(learner.slices, sizes.batch)
    width, item = learner.slices * target.rank, np.dtype(sizes.dtype).itemsize
    vectors = lanczos_bytes(learner.iterations, target.rank, sizes.dim, item)
    besides = vectors + 20 * item * sizes.batch * width
    uses = 1 + 2 * learner.iterations
    return Demand(sizes.dim, sizes.known, width, sizes.batch, uses=uses, dtype=sizes.dtype, per_seed=besides)


def check_average_variance(learner: SlicedAverageVariance, student: None, target: Target) -> None:
    """Refuse other inputs."""
    isotropic_only(learner, target)


SIMULATOR = Simulator(average_variance, average_variance_demand, check_average_variance)
