"""How close the passes of a question to a reused batch come to the speed of a copy, one by one, and whole runs.

    python -m benchmarks.passes                      # for one large GPU; benchmarks/results/passes-<machine>.json
    python -m benchmarks.passes 1e4 --largest 1e5    # for a CPU
    python -m benchmarks.passes --machine H200       # another name for the machine

Tables as one neuron has them after ten questions, U (10, n) and noise Z (10, n), n = 3 DIM; then ten steps on one
batch, with tables and retraced, the largest by default of n = 3*10^9 samples. A time is a median, of as many as
it takes until the middle half is within 5%; it is measured warm, and compilation apart.
"""

from __future__ import annotations

import argparse
import platform
import statistics
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.measuring import RESULTS, Row, Timing, copy_bandwidth, machine, problem, save, show
from featlab.learners import ReusedBatch
from featlab.simulation.linalg import combined, inner_products, off, product, split
from featlab.simulation.random import fold, normal, root_key
from featlab.simulation.run import advance, start

STEPS, STEP, SHARE, SPREAD = 10, 0.05, 0.8, 0.05
ASKED = STEPS
# Numbers that a step moves for each sample. On a GPU those of `designs/one_neuron.py`, on average; on a CPU products of
# matrices read what was asked six times and coordinates twice, and besides 19.
MOVED = {"gpu": 3 * (ASKED - 1) + 22, "cpu": 6 * ASKED + 2 * (2 + ASKED) + 19}
# Two yardsticks for times, whatever the implementation: what the scheme moved whose goal was set, by reductions over U
# and G; and the least with stored tables: U and Z read once, half of them on average, two coordinates and a label read,
# and two rows written.
BEFORE, LEAST = 3 * ASKED + 2 * (2 + ASKED) + 19, 2 * (ASKED - 1) // 2 + 2 + 1 + 2


def median_of(once: Callable[[], float], most_seconds: float) -> Timing:
    """The median of at least five times, until the middle half of them is within 5%, or it takes too long."""
    taken: list[float] = []
    begin = perf_counter()
    while True:
        taken.append(once())
        late = perf_counter() - begin > most_seconds
        if len(taken) >= (3 if late else 5):
            low, middle, high = statistics.quantiles(taken, n=4)
            if late or high - low < SPREAD * middle:
                return Timing(middle, None, (high - low) / middle, len(taken))


def timed(function: Callable[..., Any], *arguments: Any) -> Timing:
    """A compiled function, warm."""
    compiled = jax.jit(function)

    def once() -> float:
        begin = perf_counter()
        jax.block_until_ready(compiled(*arguments))
        return perf_counter() - begin

    for _ in range(2):
        once()
    return median_of(once, 2.0)


def passes(rows: int, speed: float) -> list[Row]:
    """The share of a copy's speed of every pass, by products of matrices and by one reduction."""
    basis = jax.jit(partial(normal, shape=(ASKED, rows)))(root_key(1)) / rows**0.5
    row, noise = (jax.jit(partial(normal, shape=(1, rows)))(root_key(place))[0] for place in (2, 3))
    numbers, found = jnp.arange(ASKED, dtype=jnp.float32), []

    def measure(words: str, count: float, goal: float | None, function: Callable[..., Any], *arguments: Any) -> None:
        timing = timed(function, *arguments)
        share = 4 * count * rows / timing.seconds / speed
        found.append(Row("pass", f"{words}, n = {rows:.0e}", share, "of a copy", timing, at_least=goal))

    measure("U D^T, product", ASKED + 1, None, lambda u, d: product(u, d[:, None]), basis, row)
    measure("U D^T, reduction", ASKED + 1, SHARE, lambda u, d: inner_products([(u, d)]), basis, row)
    measure("U D^T and U z^T", ASKED + 2, SHARE, lambda u, d, z: inner_products([(u, d), (u, z)]), basis, row, noise)
    measure("D - c U", ASKED + 2, SHARE, lambda c, u, d: d - combined(c, u), numbers, basis, row)
    both, tables = (basis, row, noise), (numbers, basis, basis + 1)
    measure("split and off", 6 * ASKED + 6, None, lambda u, d, z: (split(u, d[None]), off(u, z[None])), *both)
    measure("w U + w Z, fields", 2 * ASKED + 1, SHARE, lambda c, u, z: combined(c, u) + combined(c, z), *tables)
    measure("normal numbers, written", 1, None, partial(normal, shape=(1, rows)), root_key(1))
    return found


def whole_run(dim: int, kind: str) -> tuple[Timing, np.ndarray]:
    """Ten steps on one batch of 3 d samples, and the weight after them."""
    task = problem(ReusedBatch(STEPS, STEP), dim=dim, width=1, kind=kind, samples=3 * dim)
    keys = jax.vmap(lambda seed: fold(root_key(0), seed))(np.arange(1, dtype=np.uint32))
    begin = perf_counter()
    first = start.compile(task, keys)
    onward = advance.compile(task, start.shapes(task, keys), keys, 0, STEPS)
    compiling, seen = perf_counter() - begin, [np.zeros(0)]

    def once() -> float:
        begin = perf_counter()
        carry = jax.block_until_ready(onward(jax.block_until_ready(first(keys)), keys, 0, STEPS))
        seconds = perf_counter() - begin
        seen[0] = np.asarray(carry.state.network.weights[0, 0])
        if not np.all(np.isfinite(seen[0])) or np.any(np.asarray(carry.diverged) >= 0):
            raise RuntimeError("the run diverged, so its time means nothing")
        return seconds

    once()
    return replace(median_of(once, 10.0), compile_seconds=compiling), seen[0]


def runs(dim: int, largest: int, speed: float) -> list[Row]:
    """With tables and retraced; by a retraced weight at d = 10^5 devices can be compared."""
    timing, _ = whole_run(dim, "virtual")
    words, one = f"d = {dim:.0e}, n = 3d, T = {STEPS}, p = 1", 4 * 3 * dim * STEPS / timing.seconds / speed
    moved = MOVED["cpu" if jax.default_backend() == "cpu" else "gpu"]
    found = [
        Row("virtual", words, timing.seconds, "s", timing),
        Row(
            "virtual", f"{BEFORE} numbers, of the scheme before, at the copy's speed", BEFORE * one, "x", at_least=SHARE
        ),
        Row("virtual", f"{LEAST} numbers, the least of any scheme with tables", LEAST * one, "x"),
        Row("virtual", f"{moved} numbers, those that it moves", moved * one, "x"),
    ]
    for size in sorted({10**5, dim, largest}):
        timing, weight = whole_run(size, "retraced")
        found.append(Row("retraced", f"d = {size:.0e}, w1 = {weight[0]:.5f}", timing.seconds, "s", timing))
    return found


def main() -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.passes", description=__doc__.split("\n")[0])
    parser.add_argument("dim", nargs="?", type=float, default=1e8, help="of the passes and the runs that are compared")
    parser.add_argument("--largest", type=float, default=1e9, help="of the largest run, retraced")
    parser.add_argument("--machine", default=platform.node() or "machine", help="the machine's name")
    parser.add_argument(
        "--output", type=Path, help="where to save; benchmarks/results/passes-MACHINE.json unless given"
    )
    options = parser.parse_args()
    megabytes = 4096 if jax.default_backend() != "cpu" else 64
    speed = copy_bandwidth(megabytes)
    rows = [Row("copy", f"{megabytes} MB, read and written", speed / 1e9, "GB/s")]
    rows += passes(3 * int(options.dim), speed) + runs(int(options.dim), int(options.largest), speed)
    print(show(rows))
    path = options.output or RESULTS / f"passes-{options.machine}.json"
    save(path, {"name": options.machine, **machine()}, rows)


if __name__ == "__main__":
    main()
