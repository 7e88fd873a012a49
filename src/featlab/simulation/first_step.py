"""Algorithm 1 of Damian, Lee, Soltanolkotabi 2022 (arXiv:2206.15144): one step on labels without their linear part,
new biases, and a second layer fitted by ridge regression; the update is stated in `featlab.learners.PreprocessedStep`.

One batch is read for beta, for the gradient, and once more where the second layer is fitted to it. The linear part
<beta, x> is one more field: beta is asked for beside the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from featlab.errors import InvalidParameter
from featlab.learners.first_step import PreprocessedStep
from featlab.learners.steps import step_at
from featlab.learners.students import TwoLayer
from featlab.simulation.arrays import ops_of
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.networks import Network, draw_biases, start_network
from featlab.simulation.problem import Algorithm, Problem, Simulator
from featlab.simulation.questions import backward, isotropic_only, labelled_batch, mean_slope
from featlab.simulation.random import named
from featlab.simulation.readout import Info as Fitted
from featlab.simulation.readout import Samples, fresh_samples, kept_samples, readout_bytes, ridge_fit, risk_on
from featlab.targets import Target


class State(NamedTuple):
    """What the step and the fit need."""

    network: Network
    mean: Array  # alpha
    slope: Array  # beta (1, frame)
    step_size: Array  # gamma of the step that was taken; NaN before it
    batch: Any
    labels: Array


class Info(NamedTuple):
    """What a person wants to see: the gradient that was followed, (p, frame)."""

    gradient: Array


def init(problem: Problem[PreprocessedStep, TwoLayer], key: Array) -> State:
    """The student at the start, the batch, and the linear part of its labels."""
    batch, values = labelled_batch(problem, key)
    slope, batch = mean_slope(problem.design, batch, values)
    unknown = ops_of(values).full((), jnp.nan, problem.design.dtype)
    return State(start_network(key, problem), values.mean(), slope, unknown, batch, values)


def draw(problem: Problem[PreprocessedStep, TwoLayer], key: Array) -> Array:
    """Nothing is random after the start but the biases of the fit, which has a key of its own."""
    return jnp.zeros(1, jnp.int32)


def step(problem: Problem[PreprocessedStep, TwoLayer], state: State, fresh: Array, number: Array) -> tuple[State, Info]:
    """The one step; what is left of the old weights is nothing."""
    design, learner, network = problem.design, problem.learner, state.network
    fields, batch = design.forward(state.batch, _with_slope(state).weights)
    residuals = state.labels - state.mean - fields[:, -1]
    slopes = network.second * problem.activation.slope(fields[:, :-1] + network.biases)
    gradient, batch = backward(design, batch, residuals[:, None] * slopes / design.rows)
    if learner.step_size is None:
        size = (gradient**2).sum(axis=1).mean() ** 0.5
        rate = ops_of(gradient).where(size > 0, learner.wanted_norm, 0) / (size + (size == 0))  # labels may be constant
    else:
        rate = ops_of(gradient).asarray(step_at(learner.step_size, design.dim), design.dtype)
    moved = replace(network, weights=rate * gradient)
    return state._replace(network=moved, step_size=rate, batch=batch), Info(gradient)


def fit(problem: Problem, state: State, key: Array) -> dict[str, Array]:
    """The second layer on top of the state's weights with new biases, and what it is worth. Needs float64."""
    learner = problem.learner
    redrawn = replace(problem.student, biases="gaussian", bias_scale=1.0, paired=False)
    biases = draw_biases(named(key, "readout biases"), replace(problem, student=redrawn))
    network, asked = replace(state.network, biases=biases), _with_slope(state)
    goal, without = problem, _residuals(state.mean)
    if learner.transfer is not None:
        goal, without = replace(problem, target=learner.transfer_target), _labels_alone
    if learner.data == "same":
        samples = kept_samples(problem, state._replace(network=asked))
    else:
        samples = fresh_samples(goal, asked, named(key, "readout"), learner.samples)
    fitted = ridge_fit(goal, network, without(samples))
    tests = fresh_samples(goal, asked, named(key, "test"), learner.test_samples, additive_noise=False)
    return Fitted(*risk_on(goal, network, fitted, without(tests)), fitted.ridge)._asdict()


def preprocessed_step(problem: Problem[PreprocessedStep, TwoLayer]) -> Algorithm:
    """The algorithm for a problem whose learner is a `PreprocessedStep`."""
    return Algorithm(
        partial(init, problem),
        partial(draw, problem),
        partial(step, problem),
        informs=True,
        measures={"step_size": lambda state, key: state.step_size},
        fit=partial(fit, problem),
    )


def preprocessed_demand(learner: PreprocessedStep, student: TwoLayer, target: Target, sizes: Sizes) -> Demand:
    """A batch that is pulled back twice and asked for fields twice, by the neurons and beta; the memory of the fit."""
    besides = readout_bytes(learner, student, sizes.dim, sizes.known, sizes.batch, sizes.dtype)
    return Demand(sizes.dim, sizes.known, student.width + 1, sizes.batch, uses=2, dtype=sizes.dtype, besides=besides)


def check_preprocessed(learner: PreprocessedStep, student: TwoLayer, target: Target) -> None:
    """Refuse inputs for which mean(y x) is not the slope, and another target in more directions than were learned."""
    isotropic_only(learner, target)
    other = learner.transfer_target
    if other is not None and other.rank > target.rank:
        expected = f"a target of at most {target.rank} directions, those of the target that is learned first"
        raise InvalidParameter("transfer", learner.transfer, expected)


def _with_slope(state: State) -> Network:
    """The network with beta as one more row of weights."""
    return replace(state.network, weights=ops_of(state.slope).vstack([state.network.weights, state.slope]))


def _residuals(mean: Array) -> Callable[[Samples], Samples]:
    """Samples with the field <beta, x> taken off the labels, and alpha."""

    def without(samples: Samples) -> Samples:
        def visit(index: Array) -> tuple[Array, Array]:
            fields, outcome = samples.visit(index)
            return fields[:, :-1], outcome - mean - fields[:, -1]

        return samples._replace(visit=visit)

    return without


def _labels_alone(samples: Samples) -> Samples:
    """Samples with their labels as they are; the field <beta, x> is not used."""

    def visit(index: Array) -> tuple[Array, Array]:
        fields, outcome = samples.visit(index)
        return fields[:, :-1], outcome

    return samples._replace(visit=visit)


SIMULATOR = Simulator(
    preprocessed_step, preprocessed_demand, check_preprocessed, arguments=("step_size", "ridge"), on_host=True
)
