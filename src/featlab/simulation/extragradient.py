"""Extragradient: each sample's gradient is taken after an inner step on that same sample
(Arnaboldi et al. 2024, arXiv:2405.15459).

The inner step moves w_i by rho r a_i sigma'(lambda_i) x, so it moves the field of that sample by rho |x|^2
times the same scalar: W never has to be moved, and no (n, p, d) tensor is ever made.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from featlab.learners.online import Extragradient
from featlab.learners.steps import step_at
from featlab.learners.students import TwoLayer
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.losses import downhill, loss
from featlab.simulation.networks import Network, moved
from featlab.simulation.online import Fresh, draw, online_demand
from featlab.simulation.online import init as online_init
from featlab.simulation.problem import DIM, Algorithm, Problem, Simulator, labels
from featlab.targets import Target


class State(NamedTuple):
    """What the next step needs."""

    network: Network


class Info(NamedTuple):
    """What a person wants to see: the mean loss on the batch before and after the inner step."""

    loss: Array
    inner_loss: Array


def init(problem: Problem[Extragradient, TwoLayer], key: Array) -> State:
    """The student at the start."""
    return State(online_init(problem, key).network)


def step(problem: Problem[Extragradient, TwoLayer], state: State, fresh: Fresh, number: Array) -> tuple[State, Info]:
    """One outer step on one fresh batch."""
    design, learner = problem.design, problem.learner
    network = replace(state.network, weights=design.rebase(state.network.weights))
    target_fields, batch = design.target_fields(fresh.batch)
    fields, batch = design.forward(batch, network.weights)
    outcome = labels(problem, target_fields, fresh.noise)
    reach = step_at(learner.inner_step, design.dim) * design.squared_norms(batch)[:, None]
    shifted = fields + reach * downhill(problem, network, fields, outcome)
    pull, _ = design.backward(batch, downhill(problem, network, shifted, outcome))
    rate = step_at(learner.step_size, design.dim) / design.rows
    before, after = (jnp.mean(loss(problem, network, at, outcome)) for at in (fields, shifted))
    return State(moved(problem, network, rate * pull)), Info(before, after)


def extragradient(problem: Problem[Extragradient, TwoLayer]) -> Algorithm:
    """The algorithm for a problem whose learner is an `Extragradient`."""
    return Algorithm(partial(init, problem), partial(draw, problem), partial(step, problem), problem.design.block)


def extragradient_demand(learner: Extragradient, student: TwoLayer, target: Target, sizes: Sizes) -> Demand:
    """A fresh batch for each step, and the norms of its samples."""
    return replace(online_demand(learner, student, target, sizes), normed=True)


SIMULATOR = Simulator(extragradient, extragradient_demand, arguments=("step_size", "inner_step", DIM))
