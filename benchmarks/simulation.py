"""How fast the simulations run, as ratios measured in one run on one machine.

    python -m benchmarks.simulation                      # every case; benchmarks/results/<machine>.json
    python -m benchmarks.simulation reuse online         # some of them
    python -m benchmarks.simulation --machine H200       # another name for the machine
    python -m benchmarks.simulation --small              # all of them in seconds, at sizes that mean nothing

Compilation is excluded and reported beside; a time is measured until the three best are within 5%, and how far they are
apart is in the table. Only NumPy, SciPy and JAX are needed, and featlab (installed, or `src` on
PYTHONPATH); it runs on whatever device JAX finds.
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.baselines import full_batch_steps, gaussian_batch, one_pass_steps
from benchmarks.measuring import RESULTS, Row, copy_bandwidth, machine, problem, save, show, time_best, time_run
from featlab.learners import BayesAmp, Extragradient, GiantSteps, OnlineSgd, ReusedBatch, StepLaw
from featlab.simulation.algorithms import demand
from featlab.simulation.designs.choose import DoesNotFit, choose
from featlab.simulation.designs.choose import Sizes as RunSizes
from featlab.simulation.problem import Problem

STEP = 0.05
LOOP_STEPS = 256
# The goals, and the seconds of a prototype of Dice on one H200 by dimension.
RATIO, LARGE_SECONDS, MICROSECONDS, GROWTH, GIANT_SECONDS = 100.0, 1.5, 0.3, 1.2, 3.0
AMP_RATIOS, AMP_SEEDS, AMP_SECONDS = (4, 7), 72, 60.0
GPU_SECONDS = {10**5: 2.3e-3, 10**6: 13e-3, 10**7: 0.11, 10**8: 1.2}
LEARNERS = {
    "one-pass SGD": OnlineSgd(StepLaw(STEP, 1), constraint="spherical"),
    "extragradient": Extragradient(StepLaw(STEP, 1), StepLaw(0.1, 1), loss="correlation", constraint="spherical"),
}


@dataclass(frozen=True)
class Parity:
    """sign(h1*h2), with what message passing asks of a target."""

    text: str = "sign(h1*h2)"
    rank: int = 2
    hidden: int = 0
    noise: float = 0.0

    @staticmethod
    def link_jax(fields: jax.Array) -> jax.Array:
        """The sign of h1 h2."""
        return jnp.sign(fields[..., 0] * fields[..., 1])


class Reuse(NamedTuple):
    """T full-batch steps of p neurons on one batch of `ratio` d samples."""

    dim: int
    ratio: int
    steps: int
    width: int

    @property
    def rows(self) -> int:
        """The number n of samples."""
        return self.ratio * self.dim

    @property
    def words(self) -> str:
        """As it reads in the table."""
        return f"d = {self.dim:,}, n = {self.ratio}d, T = {self.steps}, p = {self.width}"

    def problem(self, kind: str) -> Problem:
        """The same on the design of that kind."""
        learner = ReusedBatch(self.steps, STEP)
        return problem(learner, dim=self.dim, width=self.width, kind=kind, samples=self.rows)


@dataclass(frozen=True)
class Sizes:
    """How large everything is."""

    against_dense: Reuse
    large: Reuse
    online_dims: tuple[int, int] = (2048, 10**6)
    online_seeds: tuple[int, ...] = (64, 1024)
    online_steps: int = 4096
    giant_dim: int = 10**4
    giant_width: int = 8
    dice_dims: tuple[int, ...] = (10**5, 10**6, 10**7, 10**8)
    amp_dims: tuple[int, int] = (500, 10**5)
    amp_iterations: tuple[int, int] = (100, 40)
    copy_megabytes: int = 512
    repeats: int = 5  # at least
    quick_repeats: int = 25  # of what takes milliseconds: on a shared machine the best of five still varies by 40%


FULL = Sizes(against_dense=Reuse(5000, 5, 7, 2), large=Reuse(10**6, 3, 10, 1))
SMALL = Sizes(
    against_dense=Reuse(400, 3, 3, 2),
    large=Reuse(2000, 3, 3, 1),
    online_dims=(256, 10**5),
    online_seeds=(4,),
    online_steps=64,
    giant_dim=200,
    giant_width=2,
    dice_dims=(1000,),
    amp_dims=(50, 200),
    amp_iterations=(3, 3),
    copy_megabytes=8,
    repeats=2,
    quick_repeats=2,
)


def reuse(sizes: Sizes) -> list[Row]:
    """Dice and Virtual against the same steps on a stored X, by NumPy and its BLAS, in float32."""
    size = sizes.against_dense
    steps = (size.width, size.steps, STEP)
    whole = time_best(lambda: full_batch_steps(gaussian_batch(size.rows, size.dim), *steps), sizes.repeats)
    given = time_best(partial(full_batch_steps, gaussian_batch(size.rows, size.dim), *steps), sizes.repeats)
    rows = [
        Row("reuse, NumPy", f"{size.words}, drawing X included", whole.seconds, "s", whole),
        Row("reuse, NumPy", f"{size.words}, X given", given.seconds, "s", given),
    ]
    for kind in ("dice", "virtual"):
        timing = time_run(size.problem(kind), size.steps, 1, sizes.quick_repeats)
        ratio, steps_ratio = whole.seconds / timing.seconds, given.seconds / timing.seconds
        name = f"reuse, {kind}"
        rows.append(Row(name, "against NumPy, drawing X included", ratio, "x", timing, at_least=RATIO))
        rows.append(Row(name, "against NumPy, X given", steps_ratio, "x", timing))
    return rows


def large(sizes: Sizes) -> list[Row]:
    """One large batch: seconds, and the bytes read through its tables over the speed of a plain copy."""
    size, bandwidth = sizes.large, copy_bandwidth(sizes.copy_megabytes)
    rows = [Row("copy", f"{sizes.copy_megabytes} MB, read and written", bandwidth / 1e9, "GB/s")]
    for kind, numbers in (("dice", _dice_numbers(size)), ("virtual", _virtual_numbers(size))):
        timing = time_run(size.problem(kind), size.steps, 1, min(3, sizes.repeats))
        name, moved = f"large reuse, {kind}", 4 * numbers
        rows.append(Row(name, size.words, timing.seconds, "s", timing, at_most=LARGE_SECONDS))
        share = moved / timing.seconds / bandwidth
        rows.append(Row(name, f"{moved / 1e9:.3g} GB at the copy's speed, over its time", share, "x"))
    return rows


def online(sizes: Sizes) -> list[Row]:
    """One-pass SGD and extragradient, one neuron: microseconds per step and seed, which must not grow with d."""
    low, high = sizes.online_dims
    loop = time_best(lambda: one_pass_steps(low, LOOP_STEPS, STEP), 3)
    slow = loop.seconds / LOOP_STEPS * 1e6
    rows = [Row("one-pass SGD, NumPy loop", f"d = {low:,}, one seed, per step", slow, "us", loop)]
    for name, learner in LEARNERS.items():
        for seeds in sizes.online_seeds:
            pace = {}
            for dim in (low, high):
                task = problem(learner, dim=dim, width=1, kind="virtual")
                timing = time_run(task, sizes.online_steps, seeds, sizes.quick_repeats, from_start=False)
                pace[dim] = timing.seconds / sizes.online_steps / seeds * 1e6
                goal = MICROSECONDS if seeds >= 1024 else None
                setting = f"d = {dim:,}, {seeds} seeds, per step and seed"
                rows.append(Row(name, setting, pace[dim], "us", timing, at_most=goal))
            setting = f"d = {high:,} over d = {low:,}, {seeds} seeds"
            rows.append(Row(name, setting, pace[high] / pace[low], "x", at_most=GROWTH))
            rows.append(Row(name, f"NumPy loop over {seeds} seeds, d = {low:,}", slow / pace[low], "x"))
    return rows


def giant(sizes: Sizes) -> list[Row]:
    """One giant step on n = d^2 samples, in bounded memory."""
    dim, width = sizes.giant_dim, sizes.giant_width
    task = problem(GiantSteps(1, leap=2), dim=dim, width=width, kind="virtual", samples=dim**2)
    timing = time_run(task, 1, 1, min(3, sizes.repeats))
    setting = f"d = {dim:,}, n = d^2, p = {width}"
    return [
        Row("giant step, virtual", setting, timing.seconds, "s", timing, at_most=GIANT_SECONDS),
        Row("giant step, virtual", "per sample", timing.seconds / dim**2 * 1e9, "ns"),
    ]


def dice(sizes: Sizes) -> list[Row]:
    """Dice and Virtual at the sizes of a GPU; what does not fit is left out, with the reason on stderr."""
    rows = []
    on_gpu = jax.devices()[0].platform == "gpu"
    for dim in sizes.dice_dims:
        size = Reuse(dim, 3, 10, 1)
        for kind in ("dice", "virtual"):
            try:
                task = size.problem(kind)
            except DoesNotFit as fault:
                print(f"left out, {size.words}: {fault}", file=sys.stderr)
                continue
            timing = time_run(task, size.steps, 1, sizes.repeats)
            goal = GPU_SECONDS.get(dim) if on_gpu and kind == "dice" else None
            goal_ms = None if goal is None else goal * 1e3
            rows.append(Row(f"sizes, {kind}", size.words, timing.seconds * 1e3, "ms", timing, at_most=goal_ms))
    return rows


def amp(sizes: Sizes) -> list[Row]:
    """Bayes-AMP on sign(h1*h2): the 72 seeds of a figure one after the other, and one seed at a large dimension."""
    rows = []
    (small, large), (iterations, fewer) = sizes.amp_dims, sizes.amp_iterations
    for ratio in AMP_RATIOS:
        timing = time_run(_amp_problem(small, ratio, iterations), iterations, 1, sizes.repeats)
        seconds = AMP_SEEDS * timing.seconds + (timing.compile_seconds or 0)
        setting = f"d = {small:,}, n = {ratio}d, {AMP_SEEDS} seeds, {iterations} iterations, with compilation"
        rows.append(Row("Bayes-AMP", setting, seconds, "s", timing, at_most=AMP_SECONDS))
    timing = time_run(_amp_problem(large, AMP_RATIOS[0], fewer), fewer, 1, 1)
    setting = f"d = {large:,}, n = {AMP_RATIOS[0]}d, {fewer} iterations"
    return [*rows, Row("Bayes-AMP", setting, timing.seconds, "s", timing, at_most=AMP_SECONDS)]


def _amp_problem(dim: int, ratio: int, iterations: int) -> Problem:
    learner, target = BayesAmp(iterations, tolerance=1e-12), Parity()
    wanted = demand(learner, None, target, RunSizes(dim, target.rank, ratio * dim, np.dtype(np.float32)))
    return Problem(target, None, learner, choose(wanted, True).design)  # type: ignore[arg-type]


def _dice_numbers(size: Reuse) -> int:
    """Numbers read from the tables of Dice: with capacities of R right and L left vectors, a forward reads V four
    times (orthogonalising twice), X V once, U twice and U^T X once; a backward is its mirror image."""
    left = size.steps * size.width
    right = left + 1
    forward = (4 * right + left) * size.dim + (right + 2 * left) * size.rows
    backward = (4 * left + right) * size.rows + (left + 2 * right) * size.dim
    return size.steps * (forward + backward)


def _virtual_numbers(size: Reuse) -> int:
    """Numbers read from the tables of Virtual: coordinates twice, what was asked six times; three, on a GPU by one
    neuron."""
    asked = size.steps * size.width
    coordinates = 1 + size.width + asked
    passes = 3 if size.width == 1 and jax.default_backend() != "cpu" else 6
    return size.steps * size.rows * (2 * coordinates + passes * asked)


CASES: dict[str, Callable[[Sizes], list[Row]]] = {
    "reuse": reuse,
    "large": large,
    "online": online,
    "giant": giant,
    "dice": dice,
    "amp": amp,
}


def main(arguments: list[str] | None = None) -> None:
    """Run the cases asked for, print their table, save it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulation", description=__doc__.split("\n")[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"which, of {', '.join(CASES)}; all unless given")
    parser.add_argument("--machine", default=platform.node() or "machine", help="the machine's name")
    parser.add_argument("--output", type=Path, help="where to save; benchmarks/results/MACHINE.json unless given")
    parser.add_argument(
        "--small", action="store_true", help="tiny sizes, for which no goal is set; saved only with --output"
    )
    options = parser.parse_args(arguments)
    unknown = set(options.cases) - set(CASES)
    if unknown:
        parser.error(f"unknown case {min(unknown)!r}; one of {', '.join(CASES)}")
    sizes = SMALL if options.small else FULL
    where, rows = {"name": options.machine, **machine()}, []
    for name in options.cases or CASES:
        measured = CASES[name](sizes)
        rows += [replace(row, at_least=None, at_most=None) for row in measured] if options.small else measured
        print(f"{name}: done", file=sys.stderr)
    print(show(rows))
    path = options.output or (None if options.small else RESULTS / f"{options.machine}.json")
    if path is not None:
        save(path, where, rows)
        print(f"saved in {path}", file=sys.stderr)


if __name__ == "__main__":
    main()
