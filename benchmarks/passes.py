"""How close the passes of a question to a reused batch come to the speed of a copy, one by one, and whole runs.

    python -m benchmarks.passes [DIM] [--seconds S]

Tables as `ReusedVirtual` has them after ten questions of one neuron, U (10, n) and G (12, n), n = 3 DIM; then ten steps on
one batch, with tables and retraced, up to n = 3*10^9 on a GPU. Every goal is printed with met or missed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import traceback
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.measuring import copy_bandwidth, problem
from featlab.learners import ReusedBatch
from featlab.simulation import linalg
from featlab.simulation.designs import retraced, virtual
from featlab.simulation.linalg import combined, extended, inner_products, off, product, split
from featlab.simulation.random import fold, normal, root_key
from featlab.simulation.run import advance, start

STEPS, STEP, SHARE = 10, 0.05, 0.8
BEGIN = perf_counter()
RETRACED = (
    ("together", False, 2**24),
    ("together", True, 2**24),
    ("matmul", True, 2**24),
    ("separate", True, 2**24),
    ("together", False, 2**26),
)


def say(*words: Any) -> None:
    """A line, with the seconds since the beginning."""
    print(f"[{perf_counter() - BEGIN:6.1f} s]", *words, flush=True)


def median_of(once: Callable[[], float], most_seconds: float = 4.0) -> tuple[float, float, int]:
    """The median of at least five times, until the middle half of them is within 5%; its spread, and how many."""
    taken: list[float] = []
    begin = perf_counter()
    while True:
        taken.append(once())
        late = perf_counter() - begin > most_seconds
        if len(taken) >= 5 or (late and len(taken) >= 3):
            low, middle, high = statistics.quantiles(taken, n=4)
            spread = (high - low) / middle
            if spread < 0.05 or late:
                return middle, spread, len(taken)


def seconds_of(function: Callable[..., Any], *arguments: Any) -> tuple[float, float, int]:
    """Of a compiled function, warm."""
    compiled = jax.jit(function)
    for _ in range(2):
        jax.block_until_ready(compiled(*arguments))

    def once() -> float:
        begin = perf_counter()
        jax.block_until_ready(compiled(*arguments))
        return perf_counter() - begin

    return median_of(once, 2.0)


def tried(words: str, action: Callable[[], Any]) -> Any:
    """What an action gives; None, with the reason, where it fails."""
    try:
        return action()
    except Exception as fault:
        say(f"{words}: FAILED {type(fault).__name__}: {str(fault)[:300]}")
        traceback.print_exc(limit=2, file=sys.stderr)
        return None


def passes(rows: int, speed: float) -> None:
    """The share of a copy's speed of every pass, each way to take inner products."""
    basis = jax.jit(partial(normal, shape=(10, rows)))(root_key(1)) / rows**0.5
    row, noise = (jax.jit(partial(normal, shape=(1, rows)))(root_key(place))[0] for place in (2, 3))
    numbers = jnp.arange(10, dtype=jnp.float32)

    def show(words: str, count: float, function: Callable[..., Any], *arguments: Any) -> None:
        def measure() -> None:
            taken, spread, runs = seconds_of(function, *arguments)
            share = 4 * count * rows / taken / speed
            verdict = "met" if share >= SHARE else "MISSED"
            say(f"{words:46s} {taken * 1e3:8.3f} ms ({spread:.1%} of {runs})  {share:5.2f} of a copy, {verdict}")

        tried(words, measure)

    show("today: U D^T", 11, lambda u, d: product(u, d[:, None]), basis, row)
    show("today: D - c U", 12, lambda c, u, d: d - product(c[None], u)[0], numbers, basis, row)
    show("today: split and off (6 U)", 66, lambda u, d, z: (split(u, d[None]), off(u, z[None])), basis, row, noise)
    show("n normal numbers", 1, partial(normal, shape=(1, rows)), root_key(1))
    for way in ("together", "separate", "matmul"):
        linalg.DOTS = way
        show(f"{way}: U D^T", 11, lambda u, d: inner_products([(u, d)]), basis, row)
        show(f"{way}: U D^T and U z^T", 12, lambda u, d, z: inner_products([(u, d), (u, z)]), basis, row, noise)
        show(f"{way}: D - c U", 12, lambda c, u, d: d - combined(c, u), numbers, basis, row)
        show(f"{way}: extended (3 U)", 38, lambda u, d, z: extended(u, d, z, jnp.float32(2)), basis, row, noise)
    linalg.DOTS = "auto"


def whole_run(dim: int, kind: str, most_seconds: float) -> tuple[float, float, int, float, np.ndarray]:
    """Ten steps on one batch of 3 d samples: median seconds, spread, how often, seconds to compile, the weight."""
    task = problem(ReusedBatch(STEPS, STEP), dim=dim, width=1, kind=kind, samples=3 * dim)
    keys = jax.vmap(lambda seed: fold(root_key(0), seed))(np.arange(1, dtype=np.uint32))
    begin = perf_counter()
    first = start.compile(task, keys)
    onward = advance.compile(task, jax.eval_shape(partial(start, task), keys), keys, 0, STEPS)
    compiling, seen = perf_counter() - begin, [np.zeros(0)]

    def once() -> float:
        begin = perf_counter()
        carry = jax.block_until_ready(onward(jax.block_until_ready(first(keys)), keys, 0, STEPS))
        seconds = perf_counter() - begin
        seen[0] = np.asarray(carry.state.network.weights[0, 0])
        assert np.all(np.isfinite(seen[0])) and np.all(np.asarray(carry.diverged) < 0)
        return seconds

    once()
    return *median_of(once, most_seconds), compiling, seen[0]


def show_run(words: str, dim: int, kind: str, numbers: float, speed: float, most_seconds: float = 4.0) -> float:
    """One whole run, as a line; `numbers` are read for each sample, 0 where none are. The seconds; infinite, if failed."""

    def measure() -> float:
        taken, spread, runs, compiling, weight = whole_run(dim, kind, most_seconds)
        share = 4 * numbers * 3 * dim * STEPS / taken / speed
        said = f", {share:.2f} of a copy, {'met' if share >= SHARE else 'MISSED'}" if numbers else ""
        timing = f"{taken * 1e3:9.2f} ms ({spread:.1%} of {runs}), compiled in {compiling:.1f} s"
        say(f"d = {dim:.0e} {words:34s} {timing}{said}; w {np.round(weight[:4], 6).tolist()}")
        return taken

    found = tried(words, measure)
    return float("inf") if found is None else found


def runs(dim: int, largest: int, speed: float, limit: float) -> None:
    """Whole runs: with tables as today, with tables in fewer passes, and retraced."""
    asked, coordinates = STEPS, 2 + STEPS

    def late() -> bool:
        return perf_counter() - BEGIN > limit

    show_run("virtual, today", dim, "virtual", 2 * coordinates + 6 * asked, speed)
    virtual.ONE = True
    for way in ("together", "separate", "matmul"):
        linalg.DOTS = way
        jax.clear_caches()
        if not late():
            show_run(f"virtual, three passes, {way}", dim, "virtual", 2 * coordinates + 3 * asked, speed)
    virtual.ONE = False
    found = {}
    for way, keep, chunk in RETRACED:
        words = f"retraced, {way}, {'kept' if keep else 'fused'}, {chunk:,}"
        _set_retraced(way, keep, chunk)
        if not late():
            found[way, keep, chunk] = show_run(words, dim // 10, "retraced", 0, speed, 2.0)
    fastest = min(found, key=lambda place: found[place])
    if not np.isfinite(found[fastest]):
        say(f"d = {largest:.0e}: MISSED, no way to retrace runs")
        return
    _set_retraced(*fastest)
    say(f"the fastest is {fastest}")
    taken = show_run("retraced", largest, "retraced", 0, speed, 10.0)
    say(f"d = {largest:.0e} on one device: {'met' if np.isfinite(taken) else 'MISSED'}, {taken:.2f} s")
    show_run("retraced", dim, "retraced", 0, speed)
    show_run("retraced", 10**5, "retraced", 0, speed)  # the same weight as on a CPU


def _set_retraced(way: str, keep: bool, chunk: int) -> None:
    linalg.DOTS, retraced.KEEP, retraced._GPU_CHUNK = way, keep, chunk
    jax.clear_caches()


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.passes", description=__doc__.split("\n")[0])
    parser.add_argument("dim", nargs="?", type=float, default=1e8, help="of the passes and of the runs that are compared")
    parser.add_argument("--largest", type=float, default=1e9, help="of the largest run, retraced")
    parser.add_argument("--seconds", type=float, default=300.0, help="after so many, no other way is tried")
    options = parser.parse_args()
    speed = copy_bandwidth(4096 if jax.devices()[0].platform == "gpu" else 64)
    say(f"{jax.devices()[0].device_kind}, JAX {jax.__version__}: copy {speed / 1e9:.0f} GB/s, goal {SHARE} of it")
    dim = int(options.dim)
    tried("passes", lambda: passes(3 * dim, speed))
    runs(dim, int(options.largest), speed, options.seconds)


if __name__ == "__main__":
    main()
