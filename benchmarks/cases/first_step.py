"""One step on labels without their linear part: against the products that it must do, and against NumPy."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.measuring import Row, Timing, problem, time_best, time_run
from featlab.learners import PreprocessedStep

# d, n, p.
_SIZES = ((64, 4096, 1024), (256, 65536, 64))
_SMALL = ((8, 32, 4),)


def rows(small: bool) -> list[Row]:
    """For each size, the step on a stored X: its speed, its share of a plain product's, and NumPy's."""
    found: list[Row] = []
    goal = None if small else 0.3
    for dim, samples, width in _SMALL if small else _SIZES:
        setting, repeats = f"d={dim} n={samples} p={width}", 1 if small else 5
        task = problem(PreprocessedStep(), dim=dim, width=width, kind="dense", samples=samples)
        step = time_run(task, 1, 1, repeats, from_start=False)
        product, numpy = _product(dim, samples, width, repeats), _numpy_step(dim, samples, width, repeats)
        operations = 4 * samples * dim * width
        found += [
            Row("first step", setting, operations / step.seconds / 1e9, "GFLOP/s", step),
            Row("first step, of a product's speed", setting, 2 * product / step.seconds, "", step, at_least=goal),
            Row("first step, NumPy", setting, numpy.seconds / step.seconds, "times faster", step),
        ]
    return found


def _product(dim: int, samples: int, width: int, repeats: int) -> float:
    """Seconds of the plain product X W^T of the same sizes; a step must do two."""
    inputs, weights = jnp.ones((samples, dim), jnp.float32), jnp.ones((width, dim), jnp.float32)
    multiply = jax.jit(lambda x, w: jnp.matmul(x, w.T, precision=lax.Precision.HIGHEST))
    jax.block_until_ready(multiply(inputs, weights))
    return time_best(lambda: jax.block_until_ready(multiply(inputs, weights)), 4 * repeats).seconds


def _numpy_step(dim: int, samples: int, width: int, repeats: int) -> Timing:
    """The same step by whole-array NumPy in float32; as above, alpha and beta are known before."""
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((samples, dim), dtype=np.float32)
    labels = inputs[:, 0] ** 3 - 3 * inputs[:, 0]
    weights = rng.standard_normal((width, dim), dtype=np.float32) / np.float32(dim**0.5)
    alpha, beta = labels.mean(), labels @ inputs / samples

    def once() -> None:
        residuals = labels - alpha - inputs @ beta
        duals = residuals[:, None] * (inputs @ weights.T > 0)
        gradient = duals.T @ inputs / samples
        gradient *= 1.5 / np.sqrt(np.mean(np.sum(gradient**2, axis=1)))

    return time_best(once, repeats)
