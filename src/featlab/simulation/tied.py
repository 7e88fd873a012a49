"""Projected gradient flow of networks whose neurons share one direction, on one batch, from several starts
(Bietti, Bruna, Sanford, Song 2022, arXiv:2210.15651); the flow is stated in `featlab.learners.TiedFlow`.

A step of a run is an interval of the flow's time, crossed by adaptive Heun steps (or by gradient steps of fixed size).
All starts share the step size: they are one system of equations, whose error is that of its worst member.
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

from featlab.errors import InvalidParameter
from featlab.learners.tied import TiedFlow, TiedNetwork
from featlab.outcome import Outcome
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.networks import rescale
from featlab.simulation.problem import Algorithm, Problem, Simulator, label_noise, labels
from featlab.simulation.random import named
from featlab.simulation.readout import fresh_samples
from featlab.simulation.tied_network import TiedWeights, feature_products, lowest_coefficient, respond, start_networks
from featlab.simulation.tied_tuning import tune, tuning_bytes
from featlab.targets import Target

RISK_SAMPLES = 2**15

# What becomes of a run, by the number in its state.
FLOWING, OUT_OF_STEPS = range(2)
OUTCOMES = (Outcome.OK, Outcome.OUT_OF_STEPS)
# Heun's error falls with the square of the step; a new step aims below the tolerance, and is not too different.
_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 4.0
_FIRST_STRIDE = 0.1


class Slope(NamedTuple):
    """The direction of steepest descent of L in theta (R, frame), made tangent or not, and in c (R, N)."""

    weights: Array
    second: Array


class State(NamedTuple):
    """What the next interval needs."""

    network: TiedWeights
    slope: Slope  # at the network as it is
    losses: Array  # L of each start (R,)
    batch: Any
    labels: Array
    stride: Array  # the step to try next
    outcome: Array  # FLOWING or OUT_OF_STEPS
    iterations: Array  # steps taken or refused so far


class Info(NamedTuple):
    """What a person wants to see: the losses of the starts, and the step of the integrator."""

    losses: Array
    stride: Array


def init(problem: Problem[TiedFlow, TiedNetwork], key: Array) -> State:
    """The networks at their starts, and the batch with its labels."""
    design = problem.design
    network = start_networks(key, problem)
    batch = jax.tree.map(lambda part: part[0], design.draw(named(key, "batch")))
    target_fields, batch = design.target_fields(batch)
    values = labels(problem, target_fields, label_noise(problem, named(key, "labels"), (design.rows,)))
    slope, losses, batch = descent(problem, network, batch, values)
    stride = jnp.full((), min(_FIRST_STRIDE, problem.learner.interval), design.dtype)
    return State(network, slope, losses, batch, values, stride, jnp.int32(FLOWING), jnp.int32(0))


def draw(problem: Problem[TiedFlow, TiedNetwork], key: Array) -> Array:
    """Nothing is random after the start."""
    return jnp.zeros(1, jnp.int32)


def step(problem: Problem[TiedFlow, TiedNetwork], state: State, fresh: Array, number: Array) -> tuple[State, Info]:
    """One interval of the flow; c moves once the frozen time is over."""
    learner = problem.learner
    training = (number >= learner.frozen_steps).astype(problem.design.dtype)
    if learner.step_size is not None:
        state = lax.fori_loop(0, learner.descents, lambda _, state: gradient_step(problem, training, state), state)
        return state, Info(state.losses, state.stride)

    def short_of_the_end(at: tuple[State, Array]) -> Array:
        return (at[1] > 0) & (at[0].iterations < learner.max_steps)

    interval = jnp.full((), learner.interval, problem.design.dtype)
    state, left = lax.while_loop(short_of_the_end, partial(heun_step, problem, training), (state, interval))
    outcome = jnp.where(left > 0, OUT_OF_STEPS, FLOWING).astype(jnp.int32)
    return state._replace(outcome=outcome), Info(state.losses, state.stride)


def heun_step(problem: Problem, training: Array, at: tuple[State, Array]) -> tuple[State, Array]:
    """One step, the time left in the interval at most; taken if it differs little enough from an Euler step."""
    state, left = at
    learner, network = problem.learner, state.network
    stride = jnp.minimum(state.stride, left)
    there, _, batch = descent(problem, moved(network, state.slope, stride, training), state.batch, state.labels)
    mean = jax.tree.map(lambda here, there: (here + there) / 2, state.slope, there)
    error = stride * _difference(network, state.slope, there, training)
    taken = error <= learner.tolerance  # never, where it is not a number
    corrected = moved(network, mean, stride, training)

    def on(batch: Any) -> tuple[TiedWeights, Slope, Array, Any]:
        return corrected, *descent(problem, corrected, batch, state.labels)

    def stay(batch: Any) -> tuple[TiedWeights, Slope, Array, Any]:
        return network, state.slope, state.losses, batch

    network, slope, losses, batch = lax.cond(taken, on, stay, batch)
    factor = _SAFETY * jnp.sqrt(learner.tolerance / error)
    wished = stride * jnp.clip(jnp.where(jnp.isnan(factor), _SHRINK, factor), _SHRINK, _GROW)
    wished = jnp.where(taken & (stride < state.stride), jnp.maximum(wished, state.stride), wished)
    state = State(network, slope, losses, batch, state.labels, wished, state.outcome, state.iterations + 1)
    return state, jnp.where(taken, left - stride, left)


def gradient_step(problem: Problem, training: Array, state: State) -> State:
    """One step of gradient descent of a fixed size."""
    stride = jnp.full((), problem.learner.step_size, problem.design.dtype)
    network = moved(state.network, state.slope, stride, training)
    slope, losses, batch = descent(problem, network, state.batch, state.labels)
    return State(network, slope, losses, batch, state.labels, stride, state.outcome, state.iterations + 1)


def descent(problem: Problem, network: TiedWeights, batch: Any, values: Array) -> tuple[Slope, Array, Any]:
    """The slope at a network, and L there: two products with X, and n log N besides."""
    learner, design = problem.learner, problem.design
    fields, batch = design.forward(batch, network.weights)

    def one(fields: Array, second: Array, knots: Array, signs: Array) -> tuple[Array, Array, Array]:
        answers = respond(fields, second, knots, signs)
        missed = values - answers.output
        to_second = feature_products(missed, fields, answers.piece, knots, signs)
        loss = jnp.mean(missed**2) + learner.penalty * jnp.sum(second**2)
        return missed * answers.slope, (2 / design.rows) * to_second - 2 * learner.penalty * second, loss

    duals, to_second, losses = jax.vmap(one, in_axes=(1, 0, 0, 0), out_axes=(1, 0, 0))(
        fields, network.second, network.knots, network.signs
    )
    pull, batch = design.backward(batch, duals)
    to_weights = (2 / design.rows) * pull
    if learner.step_size is None:
        to_weights = to_weights - jnp.sum(to_weights * network.weights, axis=1, keepdims=True) * network.weights
    return Slope(learner.direction_speed * to_weights, to_second), losses, batch


def moved(network: TiedWeights, slope: Slope, stride: Array, training: Array) -> TiedWeights:
    """The networks after this time along a slope, theta set back to the sphere; c only while it is trained."""
    weights = rescale(network.weights + stride * slope.weights, 1.0)
    return replace(network, weights=weights, second=network.second + training * stride * slope.second)


def _difference(network: TiedWeights, here: Slope, there: Slope, training: Array) -> Array:
    """Half the largest difference of two slopes, over the starts: in theta, and in c relative to 1 + |c|."""
    of_weights = jnp.linalg.norm(there.weights - here.weights, axis=1)
    size = 1 + jnp.linalg.norm(network.second, axis=1)
    of_second = training * jnp.linalg.norm(there.second - here.second, axis=1) / size
    return jnp.max(jnp.maximum(of_weights, of_second)) / 2


def chosen(state: State) -> TiedWeights:
    """The start with the lowest training loss, alone."""
    best = jnp.argmin(jnp.where(jnp.isfinite(state.losses), state.losses, jnp.inf))
    return jax.tree.map(lambda part: part[best][None], state.network)


def excess_risk(problem: Problem, state: State, key: Array) -> tuple[Array, Array]:
    """E[(f* - f)^2] of the chosen start on fresh samples without label noise, and its standard error."""
    network: Any = chosen(state)
    samples = fresh_samples(problem, network, named(key, "risk"), RISK_SAMPLES, additive_noise=False)

    def squares(index: Array) -> Array:
        fields, clean = samples.visit(index)
        answers = respond(fields[:, 0], network.second[0], network.knots[0], network.signs[0])
        return (clean - answers.output) ** 2

    found = lax.map(squares, jnp.arange(samples.chunks)).reshape(-1)[: samples.total]
    return jnp.mean(found), jnp.std(found) / samples.total**0.5


def tied_flow(problem: Problem[TiedFlow, TiedNetwork]) -> Algorithm:
    """The algorithm for a problem whose learner is a `TiedFlow`."""
    fit = partial(_fit, problem) if problem.learner.tuning_samples is not None else None
    begin, go = partial(init, problem), partial(step, problem)
    return Algorithm(
        begin,
        partial(draw, problem),
        go,
        outcomes=OUTCOMES,
        measures=_measures(problem),
        absent=("second_layer", "biases"),
        on_request=("restart_second_layer", "restart_knots", "restart_signs"),
        fit=fit,
    )


def _measures(problem: Problem) -> dict[str, Callable[[State, Array], Any]]:
    """What is told of the chosen start under the usual names, and of all starts under their own."""
    rank = problem.target.rank

    def risk(state: State, key: Array) -> tuple[Array, Array]:
        excess, error = excess_risk(problem, state, key)
        return excess + problem.target.noise, error

    return {
        "overlap": lambda state, key: chosen(state).weights[:, :rank],
        "gram": lambda state, key: jnp.ones((1, 1), problem.design.dtype),
        "norm": lambda state, key: jnp.ones(1, problem.design.dtype),
        "cosine": lambda state, key: chosen(state).weights[:, :rank],
        "subspace": lambda state, key: jnp.linalg.norm(chosen(state).weights[:, :rank], axis=1),
        "weights": lambda state, key: chosen(state).weights,
        "risk": risk,
        "excess_risk": lambda state, key: excess_risk(problem, state, key)[0],
        "restart_loss": lambda state, key: state.losses,
        "restart_cosine": lambda state, key: state.network.weights[:, :rank],
        "restart_second_layer": lambda state, key: state.network.second,
        "restart_knots": lambda state, key: state.network.knots,
        "restart_signs": lambda state, key: state.network.signs,
    }


def _fit(problem: Problem, state: State, key: Array) -> dict[str, Array]:
    return tune(problem, chosen(state), key)


def tied_demand(learner: TiedFlow, student: TiedNetwork, target: Target, sizes: Sizes) -> Demand:
    """One batch, read twice by every step, one row of weights for each start; besides the design the fields of the
    samples, their pieces and sums, and the memory of a second fit."""
    number = np.dtype(sizes.dtype).itemsize
    per_seed = 16 * sizes.batch * learner.restarts * number
    besides = tuning_bytes(learner, student, sizes)
    rows, width = sizes.batch, learner.restarts
    demand = Demand(sizes.dim, sizes.known, width, rows, uses=learner.uses, dtype=sizes.dtype)
    return replace(demand, per_seed=per_seed, besides=besides)


def check_tied(learner: TiedFlow, student: TiedNetwork, target: Target) -> None:
    """Refuse a guided start for which the target gives no sign."""
    if student.start == "guided":
        if target.rank != 1:
            expected = f"'sphere' for a target of {target.rank} directions: which one should theta start near?"
            raise InvalidParameter("start", student.start, expected)
        lowest_coefficient(target)


SIMULATOR = Simulator(tied_flow, tied_demand, check_tied)
