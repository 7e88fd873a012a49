"""Fine-tuning: once the shared direction is found, the second layer is fitted by ridge regression on fresh samples
(Bietti, Bruna, Sanford, Song 2022, arXiv:2210.15651), on the same neurons or on new ones along that direction."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import gauss_pieces
from featlab.learners.tied import TiedFlow, TiedNetwork
from featlab.precision import double_precision
from featlab.simulation.designs.choose import Sizes
from featlab.simulation.designs.chunks import chunk_size, within
from featlab.simulation.designs.dense import Dense
from featlab.simulation.linalg import product
from featlab.simulation.problem import Problem
from featlab.simulation.random import fold, named, seed_keys
from featlab.simulation.readout import Samples, fresh_samples
from featlab.simulation.ridge import Columns, Fit, Rows, fit_dual, fit_primal
from featlab.simulation.tied_network import TiedWeights, draw_neurons, features
from featlab.targets import Target

TEST_SAMPLES = 2**15
# Of the integral over the network's field: a trapezoidal rule, whose error at a kink is the square of its step.
_REACH, _STEP, _NODES = 10.0, 1e-3, 64


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


def refitted_risks(target: Target, cosines: Floats, knots: Floats, signs: Floats, *, samples: int, key: int) -> Floats:
    """E[(f* - f)^2] of given networks after c was fitted on so many fresh samples each, lambda by leave-one-out.

    The risk is an integral over two correlated fields, not a mean over samples: what the fit leaves above what the
    direction leaves is far smaller than either.

    Args:
        target: of one direction, smooth, without noise inside its link.
        cosines: m of each network, (networks,).
        knots, signs: of its neurons, (networks, N); knots ascending.
        samples: n'.
        key: of all randomness.
    """
    if target.rank != 1 or target.hidden:
        raise InvalidParameter("target", target.text, "one direction, no noise inside the link")
    design = Dense(2, 1, 1, 1, np.float64)
    problem = Problem(target, TiedNetwork(knots.shape[1]), TiedFlow(tuning_samples=samples), design)

    def fitted(network: TiedWeights, key: Array) -> Array:
        chunks = _chunked(problem, network, named(key, "tuning samples"), samples, knots.shape[1])
        return _fitted(chunks, network.knots[0], network.signs[0], problem.learner.tuning_ridge).coefficients

    rows = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=-1)
    with double_precision():
        parts = (rows, np.zeros_like(knots), knots, signs)
        networks = TiedWeights(*(jnp.asarray(part, jnp.float64)[:, None] for part in parts))
        keys = jnp.asarray(seed_keys(key, range(len(cosines))))
        second = np.asarray(jax.jit(partial(lax.map, lambda pair: fitted(*pair)))((networks, keys)))
    return np.array([_excess(target, *network) for network in zip(cosines, second, knots, signs, strict=True)])


def _excess(target: Target, cosine: float, second: Floats, knots: Floats, signs: Floats) -> float:
    """E[f*(z)^2] - 2 E[E[f*(z) | u] f(u)] + E[f(u)^2] at fields of correlation m."""
    nodes, weights = gauss_pieces((), _NODES)
    field = np.arange(-_REACH, _REACH + _STEP / 2, _STEP)
    density = _STEP * np.exp(-(field**2) / 2) / np.sqrt(2 * np.pi)
    output = np.maximum(signs * (field[:, None] - knots), 0) @ second / np.sqrt(len(knots))
    given = cosine * field[:, None] + np.sqrt(1 - cosine**2) * nodes
    expected = target.link(given.reshape(-1, 1)).reshape(given.shape) @ weights
    return float(weights @ target.link(nodes[:, None]) ** 2 + density @ (output * (output - 2 * expected)))


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
