"""Kernel ridge regression: against the flops that it must do, against NumPy, and n = 10^4 within a minute.

A fit to n samples multiplies their coordinates (n^2 d flops for half of K; n^3/3 for the triangular coordinates of
samples in the frame that they span), factors K (n^3/3), and multiplies m test points by the samples (2 m n d, or m n^2
for triangular ones), in float64. The rate of a plain float64 product, from the same run, is what it is held to.
"""

from __future__ import annotations

from time import perf_counter

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import cho_factor, cho_solve

from benchmarks.measuring import Cubic, Row, Timing, time_best
from featlab.learners import KernelRidge
from featlab.precision import double_precision
from featlab.simulation.algorithms import demand
from featlab.simulation.designs.choose import Sizes, choose
from featlab.simulation.problem import Problem
from featlab.simulation.random import fold, root_key
from featlab.simulation.run import look_fitted, start


def rows(small: bool) -> list[Row]:
    """A fixed ridge on both designs, against NumPy where X fits, and leave-one-out."""
    large, middle, tested = (200, 100, 128) if small else (10_000, 3000, 4096)
    minute, share, path = (None, None, None) if small else (60.0, 0.4, 60.0)
    rate = _product_rate(128 if small else 2048)
    found = []
    for dim, kind in ((10**6, "virtual"), (large // 5, "dense")):
        timing = _time_fit(KernelRidge(ridge=1 / large, test_samples=tested), dim, large, kind)
        setting = f"{kind}, n={large} d={dim} m={tested}"
        flops = _flops(large, tested, None if kind == "virtual" else dim)
        found.append(Row("kernel ridge", setting, timing.seconds, "s", timing, at_most=minute))
        found.append(
            Row("kernel ridge", setting, flops / timing.seconds / rate, "of a product's flops", at_least=share)
        )
    dim = middle // 3
    ours = _time_fit(KernelRidge(ridge=1 / middle, test_samples=tested), dim, middle, "dense", repeats=3)
    plain = time_best(lambda: _numpy_fit(dim, middle, tested), 3)
    setting = f"dense, n={middle} d={dim} m={tested}"
    found.append(Row("kernel ridge", setting, plain.seconds / ours.seconds, "x faster than NumPy", ours))
    timing = _time_fit(KernelRidge(test_samples=tested), dim, middle, "dense")
    found.append(Row("kernel ridge, leave-one-out", setting, timing.seconds, "s", timing, at_most=path))
    return found


def _time_fit(learner: KernelRidge, dim: int, samples: int, kind: str, repeats: int = 1) -> Timing:
    """One seed, the drawing of its samples and the measurement of its risk included; compiled before."""
    wanted = demand(learner, None, Cubic(), Sizes(dim, Cubic.rank, samples, np.dtype(np.float32)))
    task = Problem(Cubic(), None, learner, choose(wanted, True, kind).design)
    keys = jax.vmap(lambda seed: fold(root_key(0), seed))(np.arange(1, dtype=np.uint32))
    carry = start(task, keys)
    with double_precision():
        begin = perf_counter()
        compiled = look_fitted.compile(task, carry, keys)
        compiling = perf_counter() - begin
        seconds = time_best(lambda: jax.block_until_ready(compiled(carry, keys)), repeats).seconds
    return Timing(seconds, compiling)


def _numpy_fit(dim: int, samples: int, tested: int) -> np.ndarray:
    inputs = np.random.default_rng(0).standard_normal((samples + tested, dim))
    train, fresh = inputs[:samples], inputs[samples:]
    labels = train[:, 0] ** 3 - 3 * train[:, 0]
    matrix = np.exp(train @ train.T / dim)
    matrix[np.diag_indices(samples)] += 1.0
    return np.exp(fresh @ train.T / dim) @ cho_solve(cho_factor(matrix, overwrite_a=True), labels)


def _flops(samples: int, tested: int, dim: int | None) -> float:
    """`dim` None: triangular coordinates."""
    if dim is None:
        return 2 * samples**3 / 3 + tested * samples**2
    return samples**2 * dim + samples**3 / 3 + 2 * tested * samples * dim


def _product_rate(side: int) -> float:
    """Flops per second of a float64 product under JAX."""
    with double_precision():
        square = jnp.ones((side, side), jnp.float64)
        multiply = jax.jit(jnp.matmul).lower(square, square).compile()
        seconds = time_best(lambda: multiply(square, square).block_until_ready(), 5).seconds
    return 2 * side**3 / seconds
