"""Giant steps: a few gradient steps, each on its own large batch, eta = c p d^((l-1)/2)
(Dandi et al. 2023, arXiv:2305.18270).

A batch is read once and may be far larger than memory: the design sweeps over it by chunks.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

from jax import Array

from featlab.learners.giant import GiantSteps
from featlab.learners.students import TwoLayer
from featlab.simulation.arrays import ops_of
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.losses import downhill_rule
from featlab.simulation.networks import Network, start_network
from featlab.simulation.problem import Algorithm, Problem, Simulator
from featlab.targets import Target


class State(NamedTuple):
    """What the next step needs."""

    network: Network


class Info(NamedTuple):
    """What a person wants to see: the gradient that was followed, (p, frame), uphill in the labels' correlation."""

    gradient: Array


def init(problem: Problem[GiantSteps, TwoLayer], key: Array) -> State:
    """The student at the start."""
    return State(start_network(key, problem))


def draw(problem: Problem[GiantSteps, TwoLayer], key: Array) -> Array:
    """The key of the next batch."""
    return key[None]


def step(problem: Problem[GiantSteps, TwoLayer], state: State, fresh: Array, number: Array) -> tuple[State, Info]:
    """One giant step on one fresh batch."""
    design = problem.design
    network = replace(state.network, weights=design.rebase(state.network.weights))
    gradient = design.sweep(fresh, network.weights, downhill_rule(problem, problem, network)) / float(design.rows)
    rate = ops_of(gradient).asarray(problem.learner.steps_at(design.dim), design.dtype)[number]
    return State(replace(network, weights=network.weights + rate * gradient)), Info(gradient)


def giant_steps(problem: Problem[GiantSteps, TwoLayer]) -> Algorithm:
    """The algorithm for a problem whose learner is a `GiantSteps`."""
    return Algorithm(partial(init, problem), partial(draw, problem), partial(step, problem), informs=True)


def giant_demand(learner: GiantSteps, student: TwoLayer, target: Target, sizes: Sizes) -> Demand:
    """A fresh batch of all samples for each step."""
    return Demand(sizes.dim, sizes.known, student.width, sizes.batch, dtype=sizes.dtype, swept=True)


SIMULATOR = Simulator(giant_steps, giant_demand, arguments=("scale",), on_host=True)
