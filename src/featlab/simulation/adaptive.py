"""Steps that look at single coordinates: the sign of the gradient, and Adam.

Weights are rows in the coordinates of the design, whose first axes are the target's directions: a rule that is applied
to these has the directions as coordinate axes. To have them at random, the rule is applied in coordinates that are
turned by a product Q of reflections that takes the first axes to a uniform orthonormal frame. The rest of the inputs
and of the start being isotropic, nothing else of Q matters.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from featlab.learners.adaptive import Adam, SignSgd
from featlab.learners.steps import step_at
from featlab.learners.students import TwoLayer
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.linalg import lower_factor, product
from featlab.simulation.losses import downhill
from featlab.simulation.networks import Network, start_network
from featlab.simulation.online import Fresh
from featlab.simulation.online import draw as fresh_batches
from featlab.simulation.problem import Algorithm, Problem, Simulator, labels
from featlab.simulation.questions import Labelled, labelled_batch
from featlab.simulation.random import named, normal
from featlab.targets import Target


class State(NamedTuple):
    """What the next step needs: the means of the gradient and of its square, the reflections, a kept batch."""

    network: Network
    mean: Array  # (p, d), in the basis of the rule
    square: Array  # (p, d)
    mirrors: Array  # (r, d), unit vectors; zero where nothing is turned
    kept: Labelled | None


class Info(NamedTuple):
    """What a person wants to see: the gradient that the step was made from, downhill."""

    gradient: Array


def init(problem: Problem[SignSgd, TwoLayer], key: Array) -> State:
    """The student at the start, with nothing in its means."""
    network = start_network(key, problem)
    nothing = jnp.zeros_like(network.weights)
    kept = labelled_batch(problem, named(key, "kept")) if problem.learner.steps is not None else None
    return State(network, nothing, nothing, _mirrors(problem, named(key, "directions")), kept)


def draw(problem: Problem[SignSgd, TwoLayer], key: Array) -> Fresh | Array:
    """The batches of the next `block` steps; nothing, where one batch is kept."""
    return fresh_batches(problem, key) if problem.learner.steps is None else key[None]


def step(problem: Problem[SignSgd, TwoLayer], state: State, fresh: Any, number: Array) -> tuple[State, Info]:
    """One step on a fresh batch, or on the kept one."""
    design, kept = problem.design, state.kept
    if kept is None:
        fields_of_target, batch = design.target_fields(fresh.batch)
        outcome = labels(problem, fields_of_target, fresh.noise)
    else:
        batch, outcome = kept
    fields, batch = design.forward(batch, state.network.weights)
    pull, batch = design.backward(batch, downhill(problem, state.network, fields, outcome))
    gradient = pull / design.rows
    mean, square, change = _rule(problem, state, _turned(state.mirrors, gradient), number + 1)
    rate = step_at(problem.learner.step_size, design.dim)
    weights = state.network.weights + rate * _turned_back(state.mirrors, change)
    kept = None if kept is None else Labelled(batch, outcome)
    return State(replace(state.network, weights=weights), mean, square, state.mirrors, kept), Info(gradient)


def adaptive(problem: Problem[SignSgd, TwoLayer]) -> Algorithm:
    """The algorithm for a problem whose learner is a `SignSgd` or an `Adam`."""
    block = problem.design.block if problem.learner.steps is None else 1
    return Algorithm(partial(init, problem), partial(draw, problem), partial(step, problem), block, informs=True)


def adaptive_demand(learner: SignSgd, student: TwoLayer, target: Target, sizes: Sizes) -> Demand:
    """Fresh batches, or one that every step reads; and two means as large as the weights."""
    rows, uses = (learner.batch, 1) if learner.steps is None else (sizes.batch, learner.steps)
    per_seed = 4 * student.width * sizes.dim * sizes.dtype.itemsize
    return Demand(sizes.dim, sizes.known, student.width, rows, uses=uses, dtype=sizes.dtype, per_seed=per_seed)


def _rule(problem: Problem, state: State, gradient: Array, count: Array) -> tuple[Array, Array, Array]:
    """The new means, and the direction of the step, coordinate by coordinate."""
    learner = problem.learner
    if not isinstance(learner, Adam):
        return state.mean, state.square, jnp.sign(gradient)
    mean = learner.beta1 * state.mean + (1 - learner.beta1) * gradient
    square = learner.beta2 * state.square + (1 - learner.beta2) * gradient**2
    steps = count.astype(gradient.dtype)
    unbiased = square / (1 - learner.beta2**steps)
    return mean, square, mean / (1 - learner.beta1**steps) / (jnp.sqrt(unbiased) + learner.epsilon)


def _mirrors(problem: Problem, key: Array) -> Array:
    """Unit vectors v_1..v_r with Q e_k = u_k for Q = H_1 .. H_r, H_k the reflection by v_k, u a uniform frame.

    v_1 = e_1 - u_1 up to its norm; v_2 the same for e_2 and H_1 u_2, which is orthogonal to e_1; and so on.
    """
    design, rank = problem.design, problem.target.rank
    mirrors = jnp.zeros((rank, design.dim), design.dtype)
    if problem.learner.directions == "axes":
        return mirrors
    _, frame = lower_factor(normal(key, (rank, design.dim), design.dtype))
    for k in range(rank):
        apart = jnp.zeros(design.dim, design.dtype).at[k].set(1) - frame[k]
        mirrors = mirrors.at[k].set(apart / jnp.linalg.norm(apart))
        frame = _reflected(mirrors[k], frame)
    return mirrors


def _reflected(mirror: Array, rows: Array) -> Array:
    return rows - 2 * product(rows, mirror[:, None]) * mirror


def _turned(mirrors: Array, rows: Array) -> Array:
    """Rows in the coordinates of the rule, Q w."""
    return reduce(lambda turned, mirror: _reflected(mirror, turned), mirrors[::-1], rows)


def _turned_back(mirrors: Array, rows: Array) -> Array:
    """Rows of the rule in the coordinates of the design, Q^T w."""
    return reduce(lambda turned, mirror: _reflected(mirror, turned), mirrors, rows)


SIMULATOR = Simulator(adaptive, adaptive_demand, arguments=("step_size",))
