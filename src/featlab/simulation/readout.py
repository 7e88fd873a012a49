"""A second layer fitted by ridge regression to the features of the first, at every time that is looked at.

The steps are those of the learner that trains the first layer; the fit is a look at its state that leaves no
trace in it. Fresh samples need no inputs: given W their fields are jointly Gaussian, (h, lambda) = (z[:r], R z)
with z standard normal and R R^T = Q, so n samples cost n (r + p) p at every d. The same samples as the first
layer's are asked for their fields once more.

Features come in the precision of the run, by chunks that depend on the sizes only; sums, fit and risk are in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from featlab.learners.first_step import PreprocessedStep
from featlab.learners.readout import AS_FIELDS, Readout
from featlab.learners.students import TwoLayer
from featlab.simulation import flows
from featlab.simulation.algorithms import algorithm, check_runnable, demand
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.designs.chunks import chunk_count, chunk_size, within
from featlab.simulation.designs.spiked import label_fields, seen_weights
from featlab.simulation.linalg import lower_triangle, product
from featlab.simulation.networks import Network, draw_biases, start_network
from featlab.simulation.problem import Algorithm, Problem, Simulator, label_noise, labels
from featlab.simulation.random import fold, named, normal
from featlab.simulation.ridge import Columns, Fit, Rows, fit_dual, fit_primal
from featlab.targets import Target


class State(NamedTuple):
    """Of random features, which nothing trains; otherwise the state is that of the first layer's learner."""

    network: Network


class Info(NamedTuple):
    """What a person wants to see: the fitted network's risk, its standard error, and the ridge that was used."""

    risk: Array
    risk_error: Array
    ridge: Array


class Samples(NamedTuple):
    """`visit(index)` gives fields (size, p) and labels (size,); beyond the last of `total` they mean nothing."""

    visit: Callable[[Array], tuple[Array, Array]]
    size: int
    total: int

    @property
    def chunks(self) -> int:
        """The number of chunks."""
        return -(-self.total // self.size)


class Drawn(NamedTuple):
    """As `Samples`, with the target's fields (size, r) in front."""

    visit: Callable[[Array], tuple[Array, Array, Array]]
    size: int
    total: int

    @property
    def chunks(self) -> int:
        """The number of chunks."""
        return -(-self.total // self.size)


def init(problem: Problem[Readout, TwoLayer], key: Array) -> State:
    """The student at the start."""
    return State(start_network(key, problem))


def step(state: State, fresh: Array, number: Array) -> tuple[State, None]:
    """Random features stay as they are."""
    return state, None


def readout(problem: Problem[Readout, TwoLayer]) -> Algorithm:
    """The algorithm for a problem whose learner is a `Readout`, from that of its first layer."""
    if problem.learner.first is None:
        first = Algorithm(partial(init, problem), lambda key: key[None], step)
    else:
        first = algorithm(Problem(problem.target, problem.student, problem.learner.first, problem.design))
    return first._replace(fit=partial(fit, problem))


def fit(problem: Problem, state: Any, key: Array) -> dict[str, Array]:
    """A readout trained on the network of `state`, and what it is worth. Call it where float64 is enabled."""
    learner, network = problem.learner, state.network
    if learner.biases is not None:
        network = replace(network, biases=_new_biases(problem, network, named(key, "readout biases")))
    if learner.data == "same":
        samples = kept_samples(problem, state)
    else:
        samples = fresh_samples(problem, network, named(key, "readout"), learner.samples)
    fitted = ridge_fit(problem, network, samples)
    return Info(*measured_risk(problem, network, fitted, named(key, "test")), fitted.ridge)._asdict()


def fresh_samples(problem: Problem, network: Network, key: Array, count: int, additive_noise: bool = True) -> Samples:
    """New samples, drawn chunk by chunk as fields; their labels with the target's additive noise or without."""
    drawn = fresh_fields(problem, network.weights, key, count, additive_noise)
    return Samples(lambda index: drawn.visit(index)[1:], drawn.size, count)


def fresh_fields(problem: Problem, weights: Array, key: Array, count: int, additive_noise: bool = True) -> Drawn:
    """The same with the target's fields before them."""
    design = problem.design
    root = _root(design.known, seen_weights(design, weights))
    size = chunk_size(count, sum(root.shape))

    def visit(index: Array) -> tuple[Array, Array, Array]:
        coordinates = normal(fold(named(key, "coordinates"), index), (size, root.shape[1]), design.dtype)
        noise = label_noise(problem, fold(named(key, "labels"), index), (size,))
        if not additive_noise:
            noise = noise.at[:, problem.target.hidden :].set(0)
        target_fields = label_fields(design, coordinates[:, : design.known])[:, : problem.target.rank]
        return target_fields, product(coordinates, root.T), labels(problem, target_fields, noise)

    return Drawn(visit, size, count)


def kept_samples(problem: Problem, state: Any) -> Samples:
    """The batch that the first layer has just seen, at the weights as they are now; a flow knows its fields."""
    count, width = problem.design.rows, problem.student.width
    if isinstance(state, flows.State):
        fields = jnp.broadcast_to(state.fields, (count, width))
    else:
        fields, _ = problem.design.forward(state.batch, state.network.weights)
    size = chunk_size(count, width)
    beyond = chunk_count(count, width) * size - count
    fields, outcome = jnp.pad(fields, ((0, beyond), (0, 0))), jnp.pad(state.labels, (0, beyond))

    def visit(index: Array) -> tuple[Array, Array]:
        begin = index * size
        return lax.dynamic_slice_in_dim(fields, begin, size), lax.dynamic_slice_in_dim(outcome, begin, size)

    return Samples(visit, size, count)


def ridge_fit(problem: Problem, network: Network, samples: Samples) -> Fit:
    """Ridge regression on the features sigma(fields + b)/sqrt(p), by the cheaper of primal and dual."""
    ridge = problem.learner.ridge
    if samples.total > problem.student.width:
        return fit_primal(Rows(partial(_rows, problem, network, samples), samples.chunks, samples.total), ridge)
    fields, outcome = _whole(samples)
    return fit_dual(_columns(problem, network, fields, outcome), ridge)


def measured_risk(problem: Problem, network: Network, fitted: Fit, key: Array) -> tuple[Array, Array]:
    """E[(y - f)^2] on fresh samples, and its standard error. The additive label noise enters exactly."""
    samples = fresh_samples(problem, network, key, problem.learner.test_samples, additive_noise=False)
    return risk_on(problem, network, fitted, samples)


def risk_on(problem: Problem, network: Network, fitted: Fit, samples: Samples) -> tuple[Array, Array]:
    """E[(y - f)^2] over samples that come without additive label noise, which is added, and its standard error."""

    def squares(index: Array) -> Array:
        features, outcome = _rows(problem, network, samples, index)
        return (outcome - product(features, fitted.coefficients[:, None])[:, 0]) ** 2

    found = lax.map(squares, jnp.arange(samples.chunks)).reshape(-1)[: samples.total]
    return jnp.mean(found) + problem.target.noise, jnp.std(found, ddof=1) / samples.total**0.5


def readout_bytes(
    learner: Readout | PreprocessedStep, student: TwoLayer, dim: int, rank: int, batch: int, dtype: Any
) -> int:
    """An estimate of the memory that one fit needs besides its design; seeds are fitted one at a time."""
    width, axes = student.width, rank + min(student.width, dim - rank)
    count = batch if learner.data == "same" else int(learner.samples or 0)
    visited = max(chunk_size(count, width + axes), chunk_size(learner.test_samples, width + axes))
    singles = 3 * width * axes + 2 * visited * (width + axes)
    if learner.data == "same" or count <= width:
        singles += count * (3 * width + axes)
    side = min(count, width)
    doubles = (
        (6 if isinstance(learner.ridge, str) else 3) * side**2
        + 4 * visited * width
        + 3 * side * chunk_size(width, side)
        + 3 * learner.test_samples
    )
    return singles * np.dtype(dtype).itemsize + 8 * doubles


def _new_biases(problem: Problem, network: Network, key: Array) -> Array:
    """Biases for the readout alone; those of a random law as wide as the fields, if asked for."""
    learner, design = problem.learner, problem.design
    measured = learner.bias_scale == AS_FIELDS and isinstance(learner.biases, str)
    scale = 1.0 if learner.bias_scale == AS_FIELDS else learner.bias_scale
    student = replace(problem.student, biases=learner.biases, bias_scale=scale, paired=False)
    biases = draw_biases(key, replace(problem, student=student))
    if not measured:
        return biases
    root = _root(design.known, seen_weights(design, network.weights))
    return (jnp.sqrt(jnp.mean(jnp.sum(root**2, axis=1))) * biases).astype(biases.dtype)


def _root(known: int, weights: Array) -> Array:
    """R (p, axes) with R R^T = Q and its first columns the overlaps, on as few axes as there can be."""
    width, frame = weights.shape
    if frame - known <= width:
        return weights
    return jnp.hstack([weights[:, :known], lower_triangle(weights[:, known:])])


def _features(problem: Problem, fields: Array, biases: Array) -> Array:
    return problem.activation.jax_value(fields + biases).astype(jnp.float64) / problem.student.width**0.5


def _rows(problem: Problem, network: Network, samples: Samples, index: Array) -> tuple[Array, Array]:
    """Features (size, p) and labels (size,) of a chunk, zero beyond the last sample."""
    fields, outcome = samples.visit(index)
    features = within(_features(problem, fields, network.biases), index, samples.total)
    return features, within(outcome.astype(jnp.float64)[:, None], index, samples.total)[:, 0]


def _columns(problem: Problem, network: Network, fields: Array, outcome: Array) -> Columns:
    """The same features, neurons by chunks."""
    count, width = fields.shape
    size, chunks = chunk_size(width, count), chunk_count(width, count)
    beyond = chunks * size - width
    by_neuron, biases = jnp.pad(fields.T, ((0, beyond), (0, 0))), jnp.pad(network.biases, (0, beyond))

    def visit(index: Array) -> Array:
        chosen = lax.dynamic_slice_in_dim(by_neuron, index * size, size)
        shifts = lax.dynamic_slice_in_dim(biases, index * size, size)
        return within(_features(problem, chosen, shifts[:, None]), index, width).T

    return Columns(visit, chunks, width, outcome.astype(jnp.float64))


def _whole(samples: Samples) -> tuple[Array, Array]:
    """All fields (n, p) and labels (n,) at once."""
    parts = lax.map(samples.visit, jnp.arange(samples.chunks))
    fields, outcome = jax.tree.map(lambda part: part.reshape(-1, *part.shape[2:])[: samples.total], parts)
    return fields, outcome


def readout_demand(learner: Readout, student: TwoLayer, target: Target, sizes: Sizes) -> Demand:
    """That of its first layer, of which a kept batch is read once more, and the memory of the fit."""
    if learner.first is None:
        first = Demand(sizes.dim, sizes.known, student.width, rows=1, dtype=sizes.dtype)
    else:
        first = demand(learner.first, student, target, sizes)
    besides = readout_bytes(learner, student, sizes.dim, sizes.known, first.rows, sizes.dtype)
    work = float(learner.samples or first.rows) * student.width**2
    return replace(first, uses=first.uses + (learner.data == "same"), besides=besides, fit_work=work)


def check_readout(learner: Readout, student: TwoLayer, target: Target) -> None:
    """What the first layer's learner refuses."""
    if learner.first is not None:
        check_runnable(learner.first, student, target)


SIMULATOR = Simulator(readout, readout_demand, check_readout, arguments=("ridge",))
