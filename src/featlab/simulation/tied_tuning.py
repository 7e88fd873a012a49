"""Fine-tuning: once the shared direction is found, the second layer is fitted by ridge regression on fresh samples
(Bietti, Bruna, Sanford, Song 2022, arXiv:2210.15651), on the same neurons or on new ones along that direction."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array, lax

from featlab.learners.tied import TiedFlow, TiedNetwork
from featlab.simulation.designs.choose import Sizes
from featlab.simulation.designs.chunks import chunk_size, within
from featlab.simulation.linalg import product
from featlab.simulation.problem import Problem
from featlab.simulation.random import fold, named
from featlab.simulation.readout import Samples, fresh_samples
from featlab.simulation.ridge import Columns, Fit, Rows, fit_dual, fit_primal
from featlab.simulation.tied_network import TiedWeights, draw_neurons, features

TEST_SAMPLES = 2**15


def tune(problem: Problem, network: TiedWeights, key: Array) -> dict[str, Array]:
    """The risk of the network after its second layer was fitted, its error, and the ridge. Needs float64."""
    learner = problem.learner
    knots, signs = network.knots[0], network.signs[0]
    if learner.tuning_width is not None:
        _, knots, signs = draw_neurons(named(key, "tuning neurons"), problem, (learner.tuning_width,))
    count, width = learner.tuning_samples, len(knots)
    samples = _chunked(problem, network, named(key, "tuning samples"), count, width)
    fitted = _fitted(samples, knots, signs, learner.tuning_ridge)
    test = _chunked(problem, network, named(key, "tuning test"), TEST_SAMPLES, width, additive_noise=False)

    def squares(index: Array) -> Array:
        found, outcome = _rows(test, knots, signs, index)
        return (outcome - product(found, fitted.coefficients[:, None])[:, 0]) ** 2

    found = lax.map(squares, jnp.arange(test.chunks)).reshape(-1)[: test.total]
    error = jnp.std(found, ddof=1) / test.total**0.5
    return {"risk": jnp.mean(found) + problem.target.noise, "risk_error": error, "ridge": fitted.ridge}


def _chunked(
    problem: Problem, network: Any, key: Array, count: int, width: int, additive_noise: bool = True
) -> Samples:
    """New samples, in chunks so small that their features stay within the cache."""
    size = chunk_size(count, width)

    def visit(index: Array) -> tuple[Array, Array]:
        fields, outcome = fresh_samples(problem, network, fold(key, index), size, additive_noise).visit(jnp.int32(0))
        return fields, outcome

    return Samples(visit, size, count)


def _fitted(samples: Samples, knots: Array, signs: Array, ridge: float | str) -> Fit:
    if samples.total > len(knots):
        return fit_primal(Rows(lambda index: _rows(samples, knots, signs, index), samples.chunks, samples.total), ridge)
    # Fewer samples than neurons: few enough to hold all their features at once.
    found, outcome = lax.map(lambda index: _rows(samples, knots, signs, index), jnp.arange(samples.chunks))
    found, outcome = found.reshape(-1, len(knots))[: samples.total], outcome.reshape(-1)[: samples.total]
    return fit_dual(Columns(lambda index: found, 1, len(knots), outcome), ridge)


def _rows(samples: Samples, knots: Array, signs: Array, index: Array) -> tuple[Array, Array]:
    """Features (size, N) and labels (size,) of a chunk in float64, zero beyond the last sample."""
    fields, outcome = samples.visit(index)
    found = features(fields[:, 0].astype(jnp.float64), knots.astype(jnp.float64), signs.astype(jnp.float64))
    found = within(found, index, samples.total)
    return found, within(outcome.astype(jnp.float64)[:, None], index, samples.total)[:, 0]


def tuning_bytes(learner: TiedFlow, student: TiedNetwork, sizes: Sizes) -> int:
    """An estimate of the memory that a second fit needs; seeds are fitted one at a time."""
    if learner.tuning_samples is None:
        return 0
    width = learner.tuning_width or student.width
    count, side = learner.tuning_samples, min(learner.tuning_samples, width)
    visited = max(chunk_size(count, width), chunk_size(TEST_SAMPLES, width))
    whole = 3 * count * width if count <= width else 0
    return 8 * (4 * visited * width + 6 * side**2 + whole)
