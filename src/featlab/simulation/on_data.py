"""Learners on data that are given: the algorithms of `simulate` on a `Stored` design, one run, the state at its end.

Keys are made as in `run`: with the same samples and the same start, the numbers are those of a simulation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from featlab.errors import InvalidParameter
from featlab.learners.protocol import Learner
from featlab.learners.students import TwoLayer
from featlab.precision import double_precision
from featlab.simulation.algorithms import algorithm, check_runnable, simulator_of
from featlab.simulation.designs.stored import Stored
from featlab.simulation.problem import Problem
from featlab.simulation.random import fold, named
from featlab.simulation.run import DIVERGED_NORM, Seen
from featlab.targets import Target


@dataclass(frozen=True)
class NoTarget:
    """What is said of a target where there is none: no direction is known, and labels are stored."""

    rank: int = 0
    hidden: int = 0
    noise: float = 0.0


def key_of(seed: int) -> np.ndarray:
    """The key of a seed, on the host: `fold(root_key(0), seed)`, as `simulate` makes it."""
    return fold(np.zeros(2, np.uint32), seed)


def stored_problem(learner: Any, student: Any, inputs: Any, outcome: Any, target: Any = NoTarget()) -> Problem:
    """A learner on data; one that reads mini-batches draws them from all samples."""
    rows = learner.batch if learner.clock == "one-pass" else len(inputs)
    return Problem(target, student, learner, Stored(inputs, outcome, min(rows, len(inputs))))


def trained(
    learner: Learner, student: TwoLayer, inputs: np.ndarray, outcome: np.ndarray, seed: int, steps: int | None = None
) -> tuple[Any, Any]:
    """The state at the end of its training in float64, with arrays of NumPy, and the last Info of its learner; of one
    that has to be compiled the network alone.

    Without `steps`, the learner's own; of one that reads mini-batches, as many as they have samples once over.
    """
    _check_trainable(learner, student)
    if steps is None:
        steps = max(1, len(inputs) // learner.batch) if learner.clock == "one-pass" else learner.steps  # type: ignore[attr-defined]
    key = key_of(seed)
    if simulator_of(learner).on_host:
        state, info = _run(stored_problem(learner, student, inputs, outcome), key, steps)
    else:
        with double_precision():
            arrays = (jnp.asarray(inputs), jnp.asarray(outcome), jnp.asarray(key))
            state, info = jax.tree.map(np.asarray, _compiled(learner, student, *arrays, jnp.int32(steps))), None
    if _diverged(state):
        raise InvalidParameter("learner", learner, "a learner with smaller steps: on these data its weights diverged")
    return state, info


class Ended(NamedTuple):
    """An estimate of directions (r, d) when its iteration ended: how, the word of an `Outcome`, and after how many."""

    weights: np.ndarray
    outcome: str
    iterations: int


def estimated(learner: Any, target: Target, inputs: np.ndarray, outcome: np.ndarray, seed: int) -> Ended:
    """What a learner that knows the target makes of these data, in float64."""
    check_runnable(learner, None, target)
    with double_precision():
        arrays = (jnp.asarray(inputs), jnp.asarray(outcome), jnp.asarray(key_of(seed)))
        weights, number, iterations = _iterated(learner, target, *arrays)
        words = algorithm(stored_problem(learner, None, *arrays[:2], target)).outcomes
    return Ended(np.asarray(weights), words[int(number)].value, int(iterations))


@partial(jax.jit, static_argnames=("learner", "target"))
def _iterated(learner: Any, target: Target, inputs: Any, outcome: Any, key: Any) -> tuple[Any, Any, Any]:
    """Steps until the estimate stands still, or there have been enough."""
    rule = algorithm(stored_problem(learner, None, inputs, outcome, target))
    fresh = jnp.int32(0)

    def moving(state: Any) -> Any:
        return (state.outcome == 0) & (state.iterations < learner.steps)

    state = lax.while_loop(moving, lambda old: rule.step(old, fresh, old.iterations)[0], rule.init(named(key, "start")))
    return state.network.weights, state.outcome, state.iterations


def _run(problem: Problem, key: Any, steps: int) -> tuple[Any, Any]:
    """On the host."""
    rule, stream, info = algorithm(problem), named(key, "steps"), None
    state = rule.init(named(key, "start"))
    for number in range(steps):
        fresh = jax.tree.map(lambda part: part[0], rule.draw(fold(stream, number)))
        state, info = rule.step(state, fresh, number)  # type: ignore[arg-type]
        if _diverged(state):
            break
    return state, info


def _diverged(state: Any) -> bool:
    weights = state.network.weights
    return not np.sum(weights**2) <= len(weights) * DIVERGED_NORM**2


@partial(jax.jit, static_argnames=("learner", "student"))
def _compiled(learner: Any, student: Any, inputs: Any, outcome: Any, key: Any, steps: Any) -> Seen:
    """The same, compiled once for each shape."""
    rule = algorithm(stored_problem(learner, student, inputs, outcome))
    stream = named(key, "steps")

    def one_step(number: Any, state: Any) -> Any:
        fresh = jax.tree.map(lambda part: part[0], rule.draw(fold(stream, number)))
        return rule.step(state, fresh, number)[0]

    return Seen(lax.fori_loop(0, steps, one_step, rule.init(named(key, "start"))).network)


def _check_trainable(learner: Any, student: TwoLayer) -> None:
    if student.start in ("orthogonal", "planted"):
        raise InvalidParameter("start", student.start, "'sphere' or 'gaussian': no direction of these data is known")
    unfit = {
        "Readout": "its first learner alone: the second layer is fitted here",
        "NormalisedFlow": "SphericalFlow on inputs that are whitened",
    }
    expected = unfit.get(type(learner).__name__, "a learner that trains the first layer of a TwoLayer")
    if (
        learner.student_kind is not TwoLayer
        or type(learner).__name__ in unfit
        or getattr(learner, "positive_start", False)
    ):
        raise InvalidParameter("learner", learner, expected)
