"""A step of mean-field Langevin dynamics: against the two products that it must do, and against NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.measuring import Row, Timing, time_best, time_run
from featlab.learners import LangevinDynamics, MeanFieldTanh
from featlab.simulation.algorithms import demand
from featlab.simulation.designs.choose import Sizes, choose
from featlab.simulation.designs.spiked import with_inputs
from featlab.simulation.problem import Problem
from featlab.targets.inputs import Hypercube

# d, n, N, steps timed.
_SIZES = ((48, 400, 256, 200), (96, 1000, 256, 60), (400, 4000, 1024, 4))
_SMALL = ((6, 20, 8, 2),)


@dataclass(frozen=True)
class Xor:
    """sign(h1*h2) on the hypercube, with what a simulation asks of a target."""

    rank: int = 2
    hidden: int = 0
    noise: float = 0.0

    @staticmethod
    def link_jax(fields: jax.Array) -> jax.Array:
        """The product of the signs."""
        return fields[..., 0] * fields[..., 1]


def rows(small: bool) -> list[Row]:
    """For each size: steps per second, and the share of a plain matrix product's speed."""
    found: list[Row] = []
    for dim, samples, width, steps in _SMALL if small else _SIZES:
        setting = f"d={dim} n={samples} N={width}"
        repeats = 1 if small else 3
        ours = time_run(_problem(dim, samples, width, steps), steps, 1, repeats, from_start=False)
        each = Timing(ours.seconds / steps, ours.compile_seconds)
        product, numpy = _product(dim, samples, width, repeats), _numpy_step(dim, samples, width, steps, repeats)
        operations = 4 * samples * dim * width
        found += [
            Row("langevin step", setting, operations / each.seconds / 1e9, "GFLOP/s", each),
            Row("langevin, of a product's speed", setting, 2 * product / each.seconds, "", each, at_least=0.3),
            Row("langevin, NumPy", setting, numpy / each.seconds, "times faster", each),
        ]
    return found


def _problem(dim: int, samples: int, width: int, steps: int) -> Problem:
    student, learner = MeanFieldTanh(width), LangevinDynamics(steps)
    wanted = demand(learner, student, Xor(), Sizes(dim, Xor.rank, samples, np.dtype(np.float32)))
    return Problem(Xor(), student, learner, with_inputs(choose(wanted, True).design, Hypercube()))  # type: ignore[arg-type]


def _product(dim: int, samples: int, width: int, repeats: int) -> float:
    """Seconds of the plain product X W^T of the same sizes; a step must do two."""
    inputs, weights = jnp.ones((samples, dim), jnp.float32), jnp.ones((width, dim), jnp.float32)
    multiply = jax.jit(lambda x, w: jnp.matmul(x, w.T, precision=lax.Precision.HIGHEST))
    jax.block_until_ready(multiply(inputs, weights))
    return time_best(lambda: jax.block_until_ready(multiply(inputs, weights)), 10 * repeats).seconds


def _numpy_step(dim: int, samples: int, width: int, steps: int, repeats: int) -> float:
    """Seconds of the same step by whole-array NumPy in float32."""
    rng = np.random.default_rng(0)
    inputs = (rng.integers(0, 2, (samples, dim)) * 2 - 1).astype(np.float32) / np.float32(dim**0.5)
    labels = np.sign(inputs[:, 0] * inputs[:, 1])
    neurons = [rng.standard_normal(shape, dtype=np.float32) for shape in ((width, dim), width, width)]
    rate, heat = np.float32(0.2), np.float32(0.1 / dim)
    best = float("inf")
    for _ in range(repeats):
        begin = perf_counter()
        for _ in range(steps):
            responses, constants = np.tanh(inputs @ neurons[0].T + neurons[1]), np.tanh(neurons[2])
            margins = labels * 5 * (responses.mean(axis=1) + 2 * constants.mean())
            pushes = -5 * labels / (1 + np.exp(margins)) / samples
            duals = pushes[:, None] * (1 - responses**2)
            slopes = (duals.T @ inputs, duals.sum(axis=0), 2 * (1 - constants**2) * pushes.sum())
            for part, slope in zip(neurons, slopes, strict=True):
                noise = rng.standard_normal(part.shape, dtype=np.float32)
                part += np.sqrt(2 * heat * rate) * noise - rate * (slope + 2 * heat * np.float32(0.1) * part)
        best = min(best, (perf_counter() - begin) / steps)
    return best
