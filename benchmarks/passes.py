"""How close the passes of a question to a reused batch come to the speed of a copy, one by one.

    python -m benchmarks.passes [ROWS]

Tables as `ReusedVirtual` has them after ten questions of one neuron: U (10, n) and G (12, n).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from benchmarks.measuring import copy_bandwidth
from featlab.simulation.linalg import off, product, split
from featlab.simulation.random import normal, root_key

ROWS = 3 * 10**7


def seconds_of(function: Callable[..., Any], *arguments: Any) -> float:
    """The best of five calls of a compiled function."""
    compiled = jax.jit(function)
    jax.block_until_ready(compiled(*arguments))
    taken = []
    for _ in range(5):
        begin = perf_counter()
        jax.block_until_ready(compiled(*arguments))
        taken.append(perf_counter() - begin)
    return min(taken)


def summed(left: Array, right: Array) -> Array:
    """The product of matrices by multiplication and sums, which a compiler may fuse with what is around it."""
    return jnp.sum(left[:, :, None] * right[None, :, :], axis=1)


def main() -> None:
    """Print the share of a copy's speed of every pass."""
    rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else ROWS
    speed = copy_bandwidth(2048 if jax.devices()[0].platform == "gpu" else 64)
    print(f"copy {speed / 1e9:.0f} GB/s, n = {rows:,}, {jax.devices()[0].device_kind}")

    def show(name: str, numbers: float, function: Callable[..., Any], *arguments: Any) -> None:
        taken = seconds_of(function, *arguments)
        print(f"{name:44s} {taken * 1e3:9.3f} ms  {4 * numbers * rows / taken / speed:6.2f} of a copy", flush=True)

    key = root_key(1)
    draw = partial(normal, shape=(1, rows))
    basis = jax.jit(partial(normal, shape=(10, rows)))(key) / rows**0.5
    for width in (1, 2):
        block = jax.jit(partial(normal, shape=(width, rows)))(root_key(2))
        small = jax.jit(partial(normal, shape=(width, 10)))(root_key(3))
        words = f"p = {width}"
        show(f"{words}: U D^T, product", 10 + width, lambda u, d: product(u, d.T), basis, block)
        show(f"{words}: U D^T, sums", 10 + width, lambda u, d: summed(u, d.T), basis, block)
        show(f"{words}: c U, product", 10 + width, product, small, basis)
        show(f"{words}: c U, sums", 10 + width, summed, small, basis)
        show(f"{words}: D - c U, product", 10 + 2 * width, lambda c, u, d: d - product(c, u), small, basis, block)
        show(f"{words}: D - c U, sums", 10 + 2 * width, lambda c, u, d: d - summed(c, u), small, basis, block)
        show(f"{words}: split (4 U)", 40 + 8 * width, split, basis, block)
        show(f"{words}: off (2 U)", 20 + 3 * width, off, basis, block)
    show("n normal numbers", 1, draw, key)
    show("10 n normal numbers", 10, partial(normal, shape=(10, rows)), key)


if __name__ == "__main__":
    main()
