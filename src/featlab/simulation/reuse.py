"""Full-batch gradient steps on a batch that is used again and again, or a few times before a new one
(Dandi et al. 2024, arXiv:2402.03220)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from featlab.learners.reuse import ReusedBatch
from featlab.learners.steps import step_at
from featlab.learners.students import TwoLayer
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.designs.spiked import is_retraced
from featlab.simulation.designs.stored import Stored
from featlab.simulation.losses import downhill, loss
from featlab.simulation.networks import Network, moved, start_network
from featlab.simulation.problem import DIM, Algorithm, Problem, Simulator, label_noise, labels
from featlab.simulation.random import named
from featlab.targets import Target


class State(NamedTuple):
    """What the next step needs."""

    network: Network
    batch: Any
    labels: Array


class Info(NamedTuple):
    """What a person wants to see: the training loss before the step, and the gradient that was followed."""

    loss: Array
    gradient: Array


def init(problem: Problem[ReusedBatch, TwoLayer], key: Array) -> State:
    """The student at the start, and the first batch."""
    return new_batch(problem, start_network(key, problem), named(key, "first batch"))


def draw(problem: Problem[ReusedBatch, TwoLayer], key: Array) -> Array:
    """The key of the next batch, should this step begin one."""
    return key[None]


def step(problem: Problem[ReusedBatch, TwoLayer], state: State, fresh: Array, number: Array) -> tuple[State, Info]:
    """One full-batch step, on a new batch when the old one has been used often enough."""
    design, learner = problem.design, problem.learner
    if learner.uses < learner.steps and not isinstance(design, Stored):  # stored samples are all there are
        begin = (number > 0) & (number % learner.uses == 0)
        state = lax.cond(begin, lambda old: new_batch(problem, old.network, fresh), lambda old: old, state)
    if is_retraced(design):
        return _retraced_step(problem, state)
    network = state.network
    fields, batch = design.forward(state.batch, network.weights)
    pull, batch = design.backward(batch, downhill(problem, network, fields, state.labels))
    gradient = pull / design.rows
    info = Info(loss(problem, network, fields, state.labels).mean(), gradient)
    return State(_moved(problem, network, gradient), batch, state.labels), info


def _retraced_step(problem: Problem[ReusedBatch, TwoLayer], state: State) -> tuple[State, Info]:
    """The same on samples that are made again: their labels and D come from their numbers."""
    network = state.network

    def answer(target_fields: Array, noises: Array, fields: Array) -> tuple[Array, Array]:
        given = labels(problem, target_fields, noises)
        return downhill(problem, network, fields, given), loss(problem, network, fields, given)

    pull, mean_loss, batch = problem.design.ask(state.batch, network.weights, answer)
    gradient = pull / float(problem.design.rows)
    return State(_moved(problem, network, gradient), batch, state.labels), Info(mean_loss, gradient)


def _moved(problem: Problem[ReusedBatch, TwoLayer], network: Network, gradient: Array) -> Network:
    return moved(problem, network, step_at(problem.learner.step_size, problem.design.dim) * gradient)


def reused_batch(problem: Problem[ReusedBatch, TwoLayer]) -> Algorithm:
    """The algorithm for a problem whose learner is a `ReusedBatch`."""
    return Algorithm(partial(init, problem), partial(draw, problem), partial(step, problem), informs=True)


def new_batch(problem: Problem, network: Network, key: Array) -> State:
    """The network before its first step on a fresh batch."""
    design = problem.design
    batch = jax.tree.map(lambda part: part[0], design.draw(named(key, "batch")))
    rebased = replace(network, weights=design.rebase(network.weights))
    if is_retraced(design):
        return State(rebased, batch, jnp.zeros(0, design.dtype))  # labels are made when they are asked for
    target_fields, batch = design.target_fields(batch)
    noise = label_noise(problem, named(key, "labels"), (design.rows,))
    return State(rebased, batch, labels(problem, target_fields, noise))


def reuse_demand(learner: ReusedBatch, student: TwoLayer, target: Target, sizes: Sizes) -> Demand:
    """A batch that is read again and again."""
    sampled, noises = (sizes.dim, sizes.known, student.width, sizes.batch), target.hidden + (target.noise > 0)
    return Demand(*sampled, uses=learner.uses, dtype=sizes.dtype, noises=noises)


SIMULATOR = Simulator(reused_batch, reuse_demand, arguments=("step_size", DIM), on_host=True)
