"""One-pass SGD: every step reads a fresh sample or mini-batch once.

    w_i <- w_i + (gamma/b) sum over the batch of r a_i sigma'(<w_i, x> + b_i) x,   r = y - f(x) or y,

projected to the sphere or not. On the design `Virtual` a step costs the same at every d.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from featlab.learners.online import Extragradient, OnlineSgd
from featlab.learners.steps import step_at
from featlab.learners.students import TwoLayer
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.losses import downhill, loss
from featlab.simulation.networks import Network, moved, start_network
from featlab.simulation.problem import DIM, Algorithm, Problem, Simulator, label_noise, labels
from featlab.simulation.random import named
from featlab.targets import Target


class State(NamedTuple):
    """What the next step needs."""

    network: Network


class Fresh(NamedTuple):
    """What a step needs at random: a batch and the noise of its labels."""

    batch: Any
    noise: Array


class Info(NamedTuple):
    """What a person wants to see: the mean loss on the batch before the step."""

    loss: Array


def init(problem: Problem, key: Array) -> State:
    """The student at the start."""
    return State(start_network(key, problem))


def draw(problem: Problem, key: Array) -> Fresh:
    """The batches of the next `block` steps."""
    design = problem.design
    noise = label_noise(problem, named(key, "labels"), (design.block, design.rows))
    return Fresh(design.draw(named(key, "batch")), noise)


def step(problem: Problem, state: State, fresh: Fresh, number: Array) -> tuple[State, Info]:
    """One step on one fresh batch."""
    design = problem.design
    network = replace(state.network, weights=design.rebase(state.network.weights))
    target_fields, batch = design.target_fields(fresh.batch)
    fields, batch = design.forward(batch, network.weights)
    outcome = labels(problem, target_fields, fresh.noise)
    pull, _ = design.backward(batch, downhill(problem, network, fields, outcome))
    rate = step_at(problem.learner.step_size, design.dim) / design.rows
    info = Info(jnp.mean(loss(problem, network, fields, outcome)))
    return State(moved(problem, network, rate * pull)), info


def online_sgd(problem: Problem) -> Algorithm:
    """The algorithm for a problem whose learner is an `OnlineSgd`."""
    return Algorithm(partial(init, problem), partial(draw, problem), partial(step, problem), problem.design.block)


def online_demand(learner: OnlineSgd | Extragradient, student: TwoLayer, target: Target, sizes: Sizes) -> Demand:
    """A fresh batch for each step."""
    return Demand(sizes.dim, sizes.known, student.width, rows=learner.batch, dtype=sizes.dtype)


SIMULATOR = Simulator(online_sgd, online_demand, arguments=("step_size", DIM))
