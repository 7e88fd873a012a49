"""Mean-field Langevin dynamics: a wide network by full-batch noisy gradient descent of the logistic loss
(Suzuki et al. 2023; Nitanda, Oko, Suzuki, Wu 2024).

A step is one product X W^T and one D^T X, 4 n d N floating-point operations; everything else is of order n N or d N.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import product as corners
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from featlab.errors import InvalidParameter
from featlab.learners.langevin import LangevinDynamics, MeanFieldTanh
from featlab.learners.steps import step_at
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.problem import Algorithm, Problem, Simulator, label_noise, labels
from featlab.simulation.random import named, normal

if TYPE_CHECKING:
    from featlab.targets import Target


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Neurons:
    """f = (R/3N) sum_i [tanh(<weights_i, x> + biases_i) + 2 tanh(offsets_i)]."""

    weights: Array  # (N, frame)
    biases: Array  # (N,)
    offsets: Array  # (N,)


class State(NamedTuple):
    """What the next step needs."""

    network: Neurons
    batch: Any
    labels: Array


class Info(NamedTuple):
    """What a person wants to see: the training loss before the step."""

    loss: Array


def init(problem: Problem[LangevinDynamics, MeanFieldTanh], key: Array) -> State:
    """The neurons at the start, and the batch."""
    batch, outcome = fresh_batch(problem, named(key, "batch"))
    standard = standard_neurons(problem, named(key, "neurons"))
    return State(jax.tree.map(lambda part: problem.student.start_deviation * part, standard), batch, outcome)


def draw(problem: Problem[LangevinDynamics, MeanFieldTanh], key: Array) -> Array:
    """The key of the next step's noise."""
    return key[None]


def step(
    problem: Problem[LangevinDynamics, MeanFieldTanh], state: State, fresh: Array, number: Array
) -> tuple[State, Info]:
    """X - eta (gradient + 2 lambda lambda1 X) + sqrt(2 lambda eta) noise."""
    learner, design = problem.learner, problem.design
    rate = step_at(learner.step_size, design.dim)
    temperature = step_at(learner.temperature, design.dim) * cooling(learner, number).astype(design.dtype)
    shrink = 1 - 2 * rate * temperature * learner.prior_rate
    loss, gradient = loss_and_gradient(problem, state)
    noise = standard_neurons(problem, fresh)
    amplitude = jnp.sqrt(2 * temperature * rate)
    network = jax.tree.map(lambda x, g, z: shrink * x - rate * g + amplitude * z, state.network, gradient, noise)
    return State(network, state.batch, state.labels), Info(loss)


def langevin_dynamics(problem: Problem[LangevinDynamics, MeanFieldTanh]) -> Algorithm:
    """The algorithm for a problem whose learner is a `LangevinDynamics`."""
    return Algorithm(
        partial(init, problem),
        partial(draw, problem),
        partial(step, problem),
        measures={
            "accuracy": partial(accuracy, problem),
            "logistic_loss": partial(fresh_loss, problem),
            "batch_loss": lambda state, key: batch_loss(problem, state),
        },
        absent=("risk", "second_layer", "biases"),
    )


def loss_and_gradient(problem: Problem, state: State) -> tuple[Array, Neurons]:
    """The training loss, and N times its derivative by every neuron: the gradient of the first variation of L."""
    design, network, scale = problem.design, state.network, problem.student.output_scale / 3
    fields, _ = design.forward(state.batch, network.weights)
    responses, constants = jnp.tanh(fields + network.biases), jnp.tanh(network.offsets)
    margins = state.labels * scale * (jnp.mean(responses, axis=1) + 2 * jnp.mean(constants))
    pushes = -scale * state.labels * jax.nn.sigmoid(-margins) / design.rows  # (R/3n) times the loss's derivative by f
    duals = pushes[:, None] * (1 - responses**2)
    along, _ = design.backward(state.batch, duals)
    gradient = Neurons(along, jnp.sum(duals, axis=0), 2 * (1 - constants**2) * jnp.sum(pushes))
    return _logistic(margins), gradient


def cooling(learner: LangevinDynamics, number: Array) -> Array:
    """The temperature of a step over the first one: halved after every `halve_every` steps."""
    halvings = jnp.zeros_like(number) if learner.halve_every is None else number // learner.halve_every
    return jnp.exp2(-halvings.astype(jnp.float32))


def outputs(student: MeanFieldTanh, network: Neurons, fields: Array) -> Array:
    """f of samples with these fields (n, N)."""
    mean = jnp.mean(jnp.tanh(fields + network.biases), axis=1) + 2 * jnp.mean(jnp.tanh(network.offsets))
    return student.output_scale / 3 * mean


def fresh_batch(problem: Problem, key: Array) -> tuple[Array, Array]:
    """New samples of the problem's design, and their labels."""
    batch = problem.design.draw(named(key, "inputs"))[0]
    target_fields, batch = problem.design.target_fields(batch)
    return batch, labels(problem, target_fields, label_noise(problem, named(key, "labels"), (problem.design.rows,)))


def standard_neurons(problem: Problem, key: Array) -> Neurons:
    """Neurons with entries N(0, 1)."""
    width, dtype = problem.student.width, problem.design.dtype
    others = normal(named(key, "others"), (2, width), dtype)
    return Neurons(problem.design.gaussian_rows(named(key, "weights"), width), others[0], others[1])


def accuracy(problem: Problem, state: State, key: Array) -> Array:
    """P(sign f = y) on fresh samples."""
    return jnp.mean(_test_margins(problem, state, key) > 0, dtype=problem.design.dtype)


def fresh_loss(problem: Problem, state: State, key: Array) -> Array:
    """The logistic loss on fresh samples, the same as `accuracy` sees."""
    return _logistic(_test_margins(problem, state, key))


def batch_loss(problem: Problem, state: State) -> Array:
    """The logistic loss on the batch."""
    fields, _ = problem.design.forward(state.batch, state.network.weights)
    return _logistic(state.labels * outputs(problem.student, state.network, fields))


def langevin_demand(learner: LangevinDynamics, student: MeanFieldTanh, target: Target, sizes: Sizes) -> Demand:
    """The inputs, stored: only Gaussian ones exist in other ways."""
    tested = learner.test_samples * (2 * sizes.dim + 3 * student.width)
    return Demand(
        sizes.dim,
        sizes.known,
        student.width,
        sizes.batch,
        dtype=sizes.dtype,
        besides=tested * np.dtype(sizes.dtype).itemsize,
        stored=True,
    )


def check_langevin(learner: LangevinDynamics, student: MeanFieldTanh, target: Target) -> None:
    """Refuse labels other than +-1, which the logistic loss does not know."""
    if target.noise > 0 or target.hidden:
        raise InvalidParameter("target", target.text, "no noise: the logistic loss is for labels +-1")
    values = target.link(np.array(list(corners((-1.0, 1.0), repeat=target.rank))))
    if not np.array_equal(np.abs(values), np.ones(len(values))):
        raise InvalidParameter("target", target.text, "a function that is +-1 at all signs h_k, such as sign(h1*h2)")


def _test_margins(problem: Problem, state: State, key: Array) -> Array:
    """y f on fresh samples."""
    tested = replace(problem, design=replace(problem.design, rows=problem.learner.test_samples))
    batch, outcome = fresh_batch(tested, named(key, "test"))
    fields, _ = tested.design.forward(batch, state.network.weights)
    return outcome * outputs(problem.student, state.network, fields)


def _logistic(margins: Array) -> Array:
    return jnp.mean(jax.nn.softplus(-margins))


SIMULATOR = Simulator(
    langevin_dynamics, langevin_demand, check_langevin, arguments=("step_size", "temperature", "prior_rate")
)
