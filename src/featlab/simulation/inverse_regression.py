"""Sliced inverse regression (Li 1991): one pull-back of the slices' indicators, then the leading right singular
vectors of sqrt(p_s) m_s, (S, d)."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from featlab.errors import InvalidParameter
from featlab.learners.spectral_methods import SlicedInverseRegression
from featlab.simulation.amp import Estimate
from featlab.simulation.arrays import ops_of
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.problem import Algorithm, Problem, Simulator
from featlab.simulation.questions import isotropic_only, labelled_batch
from featlab.simulation.slices import Slices, check_sliced, slice_means, sliced
from featlab.targets import Target


class State(NamedTuple):
    """The estimate, orthonormal rows, and the eigenvalues of sum_s p_s m_s m_s^T that belong to them."""

    network: Estimate
    eigenvalues: Array


class Info(NamedTuple):
    """There is nothing to see: no step is taken."""


def init(problem: Problem[SlicedInverseRegression, None], key: Array) -> State:
    """The whole of it."""
    batch, values = labelled_batch(problem, key)
    eigenvalues, vectors = spectrum(problem.design, batch, sliced(values, problem.learner.slices))
    rank = problem.target.rank
    return State(Estimate(vectors[:rank]), eigenvalues[:rank])


def spectrum(design: Any, batch: Any, slices: Slices) -> tuple[Any, Any]:
    """The eigenvalues of sum_s p_s m_s m_s^T that may differ from zero, descending, and their vectors as rows."""
    means, _ = slice_means(design, batch, slices)
    ops = ops_of(means)
    _, sizes, vectors = ops.linalg.svd(ops.sqrt(slices.shares)[:, None] * means, full_matrices=False)
    return sizes**2, vectors


def draw(problem: Problem[SlicedInverseRegression, None], key: Array) -> Array:
    """Nothing is random after the start."""
    return jnp.zeros(1, jnp.int32)


def step(
    problem: Problem[SlicedInverseRegression, None], state: State, fresh: Array, number: Array
) -> tuple[State, Info]:
    """Nothing moves after the start."""
    return state, Info()


def inverse_regression(problem: Problem[SlicedInverseRegression, None]) -> Algorithm:
    """The algorithm for a problem whose learner is a `SlicedInverseRegression`."""
    return Algorithm(
        partial(init, problem),
        partial(draw, problem),
        partial(step, problem),
        measures={"eigenvalue": lambda state, key: state.eigenvalues},
        absent=("risk",),
    )


def inverse_regression_demand(learner: SlicedInverseRegression, student: None, target: Target, sizes: Sizes) -> Demand:
    """One pull-back of all slices; their indicators and the labels besides."""
    check_sliced(learner.slices, sizes.batch)
    besides = 4 * sizes.batch * learner.slices * np.dtype(sizes.dtype).itemsize
    return Demand(sizes.dim, sizes.known, learner.slices, sizes.batch, dtype=sizes.dtype, per_seed=besides)


def check_inverse_regression(learner: SlicedInverseRegression, student: None, target: Target) -> None:
    """Refuse other inputs, and fewer slices than could tell the directions apart."""
    isotropic_only(learner, target)
    if learner.slices <= target.rank:
        expected = f"more than {target.rank}: the means of S slices span S - 1 directions at most"
        raise InvalidParameter("slices", learner.slices, expected)


SIMULATOR = Simulator(inverse_regression, inverse_regression_demand, check_inverse_regression)
