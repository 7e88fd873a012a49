"""Three layers, one after the other: a step of each against the flops that it must do, and against NumPy.

A step of the first layer multiplies n x d by d x p1 twice: 4 n d p1 flops, on any design with d coordinates. The second
layer's gradient multiplies n x p1 by p1 x p2 twice, and its Gram matrix n x p1 by its own transpose: 4 n p1 p2 and
2 n p1^2, in float64. The rate of a plain matrix product of the same shape, from the same run, is what they are held to.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.measuring import Row, Timing, time_best
from featlab.learners import Layerwise, ThreeLayer
from featlab.precision import double_precision
from featlab.simulation import layerwise
from featlab.simulation.algorithms import demand
from featlab.simulation.designs.choose import Sizes, choose
from featlab.simulation.linalg import product
from featlab.simulation.problem import Problem
from featlab.simulation.random import named, root_key
from featlab.simulation.readout import fresh_fields
from featlab.targets import tree_target


def rows(small: bool) -> list[Row]:
    """The first layer's step and the second layer's training at d = 256, D = 16."""
    dim, effective, width, second, count = (32, 2, 8, 4, 256) if small else (256, 16, 512, 64, 16_384)
    tree = tree_target("tanh(3*h1)", "He2(h1)/2 + He3(h1)/6", effective=effective)
    student = ThreeLayer(width, second, "h2+h3", "tanh")
    learner = Layerwise(second_ridge=1e-4)
    sizes = Sizes(dim, tree.rank, count, np.dtype(np.float32))
    task = Problem(tree, student, learner, choose(demand(learner, student, tree, sizes), True, "dense").design)
    setting = f"d={dim} p1={width} p2={second} n={count}"
    goal = None if small else 0.5
    return [*_first(task, setting, 2 if small else 5, goal), *_second(task, setting, 2 if small else 5, goal)]


def _first(task: Problem, setting: str, repeats: int, goal: float | None) -> list[Row]:
    state = layerwise.init(task, root_key(0))
    step = jax.jit(lambda state: layerwise.step(task, state, root_key(1), jnp.int32(0))[0])
    ours = _timed(step, repeats, state)
    count, dim, width = task.design.rows, task.design.dim, task.student.width
    inputs, weights = (np.ones(shape, np.float32) for shape in ((count, dim), (width, dim)))
    rate = _rate(jnp.asarray(inputs), jnp.asarray(weights).T, repeats)
    generator = np.random.default_rng(0)

    def plain() -> Any:
        samples = generator.standard_normal((count, dim), dtype=np.float32)
        fields = samples @ weights.T
        return (fields * task.target.link(samples[:, : task.target.rank])[:, None].astype(np.float32)).T @ samples

    by_numpy = time_best(plain, repeats)
    done = 4 * count * dim * width / ours.seconds
    return [
        Row("three layers, first", setting, done / rate, "of a product's flops", ours, at_least=goal),
        Row("three layers, first", setting, by_numpy.seconds / ours.seconds, "x faster than NumPy", by_numpy),
    ]


def _second(task: Problem, setting: str, repeats: int, goal: float | None) -> list[Row]:
    count, width, second = task.design.rows, task.student.width, task.student.second_width
    with double_precision():
        weights = layerwise.init(task, root_key(0)).network.weights

        def train(key: jax.Array) -> Any:
            samples = fresh_fields(task, weights, named(key, "second"), count)
            return layerwise.train_second(task, layerwise.start_upper(task, key), samples)

        ours = _timed(jax.jit(train), repeats, root_key(2))
        table = jnp.ones((count, width), jnp.float64)
        rate = _rate(table.T, table, repeats)
    # Twice the fields of the samples, in float32: once for the Gram matrix, once for the gradient.
    flops = 2 * count * width**2 + 4 * count * width * second + 2 * 2 * count * width * task.design.dim
    share = flops / ours.seconds / rate
    return [Row("three layers, second", setting, share, "of a product's flops", ours, at_least=goal)]


def _rate(left: jax.Array, right: jax.Array, repeats: int) -> float:
    """Flops per second of a matrix product."""
    once = jax.jit(product)
    seconds = _timed(partial(once, left), repeats, right).seconds
    return 2 * left.shape[0] * left.shape[1] * right.shape[1] / seconds


def _timed(function: Callable[[Any], Any], repeats: int, argument: Any) -> Timing:
    """The best of several calls, after one that compiles."""
    compiling = time_best(lambda: jax.block_until_ready(function(argument)), 1)
    best = time_best(lambda: jax.block_until_ready(function(argument)), repeats)
    return Timing(best.seconds, compiling.seconds)
