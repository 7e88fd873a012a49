"""Networks with one shared direction: prefix sums against plain sums, a gradient step against its products, and theory.

A gradient of R starts on n samples must do two products with X, 4 n d R flops; by plain sums it does n N R more
multiplications three times over, by prefix sums n log N R.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from benchmarks.baselines import gaussian_batch
from benchmarks.measuring import Cubic, Row, Timing, time_best, time_run
from featlab.learners import TiedFlow, TiedNetwork
from featlab.simulation.algorithms import demand
from featlab.simulation.designs.choose import Sizes, choose
from featlab.simulation.problem import Problem
from featlab.simulation.tied_network import feature_products, respond
from featlab.theory.tied.loss import population_loss
from featlab.theory.tied.neurons import Neurons
from featlab.theory.tied.predictor import population_flow

_STARTS = 8


@dataclass(frozen=True)
class Size:
    """Sizes of a measurement."""

    dim: int
    rows: int
    width: int
    descents: int
    repeats: int


FULL, SMALL = Size(100, 10_000, 100, 20, 5), Size(8, 40, 6, 2, 1)


def rows(small: bool) -> list[Row]:
    """The sums of one gradient by three methods; a gradient step; the population flow."""
    size = SMALL if small else FULL
    return [*_sums(size), *_step(size), _flow(size)]


def _sums(size: Size) -> list[Row]:
    setting = f"n={size.rows} N={size.width}, {_STARTS} starts"
    fields, values, second, knots, signs = _numbers(size)
    labels = jnp.asarray(values)

    def fast(fields: Array, second: Array, knots: Array, signs: Array) -> tuple[Array, Array]:
        answers = respond(fields, second, knots, signs)
        missed = labels - answers.output
        return missed * answers.slope, feature_products(missed, fields, answers.piece, knots, signs)

    def plain(fields: Array, second: Array, knots: Array, signs: Array) -> tuple[Array, Array]:
        before = signs * (fields[:, None] - knots)
        features = jnp.maximum(before, 0)
        missed = labels - features @ second
        return missed * ((signs * (before > 0)) @ second), missed @ features

    arrays = fields.T, second, knots, signs
    ours = _timed(jax.jit(jax.vmap(fast)), arrays, size.repeats)
    sums = _timed(jax.jit(lambda *parts: lax.map(lambda one: plain(*one), parts)), arrays, size.repeats)
    numpy = time_best(lambda: [numpy_sums(values, *one) for one in zip(*arrays, strict=True)], size.repeats)
    return [
        Row("tied sums, plain in JAX", setting, sums.seconds / ours.seconds, "times faster", ours),
        Row("tied sums, plain in NumPy", setting, numpy.seconds / ours.seconds, "times faster", ours),
    ]


def _step(size: Size) -> list[Row]:
    setting = f"d={size.dim} n={size.rows} N={size.width}, {_STARTS} starts, a gradient step"
    learner = TiedFlow(
        time=1.0, frozen_time=0.0, interval=1.0, step_size=1.0 / size.descents, restarts=_STARTS, penalty=0.01
    )
    student = TiedNetwork(size.width)
    wanted = demand(learner, student, Cubic(), Sizes(size.dim, 1, size.rows, np.dtype(np.float32)))
    task = Problem(Cubic(), student, learner, choose(wanted, True, "dense").design)
    whole = time_run(task, 1, 1, size.repeats, from_start=False)
    ours = Timing(whole.seconds / size.descents, whole.compile_seconds)
    inputs, (_, labels, second, knots, signs) = gaussian_batch(size.rows, size.dim), _numbers(size)
    weights = gaussian_batch(_STARTS, size.dim)

    def numpy_step() -> None:
        fields = inputs @ weights.T
        pairs = [numpy_sums(labels, *one) for one in zip(fields.T, second, knots, signs, strict=True)]
        np.stack([pair[0] for pair in pairs]) @ inputs

    products = _timed(jax.jit(lambda x, w: (x @ w.T).T @ x), (inputs, weights), size.repeats)
    return [
        Row(
            "tied step, NumPy",
            setting,
            time_best(numpy_step, size.repeats).seconds / ours.seconds,
            "times faster",
            ours,
        ),
        Row("tied step, of its two products' speed", setting, products.seconds / ours.seconds, "", ours),
    ]


def _flow(size: Size) -> Row:
    """The population flow of one network to time 100: what a prediction costs for each start."""
    _, _, second, knots, signs = _numbers(size)
    loss = population_loss("He2(h1)", Neurons(knots[0].astype(float), signs[0].astype(float)), 0.01)
    times = np.linspace(0, 100, 21)
    took = time_best(lambda: population_flow(loss, 0.1, second[0].astype(float), times, 40.0), size.repeats)
    return Row("tied population flow", f"N={size.width}, time 100", took.seconds, "s", took, at_most=1.0)


def numpy_sums(labels: np.ndarray, fields: np.ndarray, second: np.ndarray, knots: np.ndarray, signs: np.ndarray) -> Any:
    """What the gradient of one network needs of its fields, by plain sums in float32."""
    before = signs * (fields[:, None] - knots)
    features = np.maximum(before, 0)
    missed = labels - features @ second
    return missed * ((signs * (before > 0)) @ second), missed @ features


def _numbers(size: Size) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    shape = (_STARTS, size.width)
    fields, labels = gaussian_batch(size.rows, _STARTS), gaussian_batch(size.rows, 1)[:, 0]
    knots = np.sort(1.5 * rng.standard_normal(shape, dtype=np.float32), axis=1)
    signs = rng.choice([-1, 1], shape).astype(np.float32)
    return fields, labels, rng.standard_normal(shape, dtype=np.float32), knots, signs


def _timed(function: Any, arrays: tuple[np.ndarray, ...], repeats: int) -> Timing:
    """Best of several calls on arrays of the device, compiled before."""
    placed = [jnp.asarray(part) for part in arrays]
    jax.block_until_ready(function(*placed))
    return time_best(lambda: jax.block_until_ready(function(*placed)), 4 * repeats)
