"""What the benchmarks have in common: problems without a parser, timing apart from compilation, tables, records.

Only NumPy, SciPy and JAX are needed, so that the same script runs on a bare GPU machine.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from featlab.learners import TwoLayer
from featlab.simulation.algorithms import demand
from featlab.simulation.designs.choose import Sizes, choose
from featlab.simulation.problem import Problem
from featlab.simulation.random import fold, root_key
from featlab.simulation.run import advance, start

RESULTS = Path(__file__).parent / "results"
# Times are measured until the best of them are that close to each other, or it has taken too long.
SPREAD, MOST_TIMES, MOST_SECONDS, _BEST = 0.05, 8, 60.0, 3


@dataclass(frozen=True)
class Cubic:
    """He3(h1), with what a simulation asks of a target: the parser and SymPy are not what is measured here."""

    rank: int = 1
    hidden: int = 0
    noise: float = 0.0

    @staticmethod
    def link_jax(fields: jax.Array) -> jax.Array:
        """h1^3 - 3 h1."""
        return fields[..., 0] ** 3 - 3 * fields[..., 0]


@dataclass(frozen=True)
class Timing:
    """Seconds of the best repetition, of compilation (None where nothing is compiled), and how sure they are.

    `spread` is how much longer the third best of `runs` took, as a share; None where there are fewer than three.
    """

    seconds: float
    compile_seconds: float | None = None
    spread: float | None = None
    runs: int = 1


@dataclass(frozen=True)
class Row:
    """One line of the table: what was run, the number that matters, its goal, and how long it took."""

    case: str
    setting: str
    value: float
    unit: str
    timing: Timing | None = None
    at_least: float | None = None
    at_most: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the goal was met; empty without one."""
        if self.at_least is None and self.at_most is None:
            return ""
        low = self.at_least is not None and self.value < self.at_least
        high = self.at_most is not None and self.value > self.at_most
        return "MISSED" if low or high else "met"

    @property
    def cells(self) -> tuple[str, ...]:
        """As text: case, setting, seconds, their spread, compilation, result, goal, verdict."""
        seconds, spread, compiling, goal = "", "", "", ""
        if self.timing is not None:
            seconds = f"{self.timing.seconds:.4g}"
            spread = "" if self.timing.spread is None else f"{self.timing.spread:.1%} of {self.timing.runs}"
            compiling = "" if self.timing.compile_seconds is None else f"{self.timing.compile_seconds:.2f}"
        if self.at_least is not None:
            goal = f">= {self.at_least:g}"
        if self.at_most is not None:
            goal = f"<= {self.at_most:g}"
        found = f"{self.value:.4g} {self.unit}"
        return self.case, self.setting, seconds, spread, compiling, found, goal, self.verdict


def problem(learner: Any, *, dim: int, width: int, kind: str, samples: int | None = None) -> Problem:
    """He3 and a relu student on the design of that kind."""
    student = TwoLayer(width)
    wanted = demand(learner, student, Cubic(), Sizes(dim, Cubic.rank, samples, np.dtype(np.float32)))
    return Problem(Cubic(), student, learner, choose(wanted, True, kind).design)  # type: ignore[arg-type]


def time_run(task: Problem, steps: int, seeds: int, repeats: int, *, from_start: bool = True) -> Timing:
    """A run of `steps` steps, the start included or not, `seeds` side by side; compiled before it is timed."""
    keys = jax.vmap(lambda seed: fold(root_key(0), seed))(np.arange(seeds, dtype=np.uint32))
    begin = perf_counter()
    first = start.compile(task, keys)
    onward = advance.compile(task, start.shapes(task, keys), keys, 0, steps)
    compiling = perf_counter() - begin

    def once() -> float:
        begin = perf_counter()
        carry = jax.block_until_ready(first(keys))
        begin = begin if from_start else perf_counter()
        carry = jax.block_until_ready(onward(carry, keys, 0, steps))
        seconds = perf_counter() - begin
        weights = np.asarray(carry.state.network.weights[0, :, :1])
        if not np.all(np.isfinite(weights)) or np.any(np.asarray(carry.diverged) >= 0):
            raise RuntimeError(f"the run diverged, so its time means nothing: {task}")
        return seconds

    return replace(until_steady(once, repeats), compile_seconds=compiling)


def time_best(action: Callable[[], Any], repeats: int) -> Timing:
    """The best of several calls."""

    def once() -> float:
        begin = perf_counter()
        action()
        return perf_counter() - begin

    return until_steady(once, repeats)


def until_steady(once: Callable[[], float], least: int) -> Timing:
    """The best of at least so many runs, repeated until the three best are within `SPREAD` of each other.

    A busy machine may never get there: there are at most `MOST_TIMES` as many, and no more after `MOST_SECONDS`.
    """
    begin, taken = perf_counter(), list[float]()
    while True:
        taken.append(once())
        late = len(taken) >= MOST_TIMES * least or perf_counter() - begin > MOST_SECONDS
        spread = _spread(taken)
        if len(taken) >= least and (late or spread is None or spread <= SPREAD):
            return Timing(min(taken), None, spread, len(taken))


def _spread(taken: list[float]) -> float | None:
    """How much longer the third best took than the best, as a share."""
    if len(taken) < _BEST:
        return None
    ordered = sorted(taken)
    return ordered[_BEST - 1] / ordered[0] - 1


def copy_bandwidth(megabytes: int, passes: int = 10) -> float:
    """Bytes per second, read and written, of passes over an array in place on the device that JAX uses."""
    count = megabytes * 2**18

    @partial(jax.jit, donate_argnums=0)
    def sweep(numbers: jax.Array) -> jax.Array:
        return lax.fori_loop(0, passes, lambda _, x: x + 1, numbers)

    def once(numbers: jax.Array) -> tuple[float, jax.Array]:
        begin = perf_counter()
        numbers = jax.block_until_ready(sweep(numbers))
        return perf_counter() - begin, numbers

    _, numbers = once(jnp.ones(count, jnp.float32))
    best = float("inf")
    for _ in range(5):
        seconds, numbers = once(numbers)
        best = min(best, seconds)
    return 2 * numbers.nbytes * passes / best


def machine() -> dict[str, Any]:
    """Where the numbers were measured, and how busy it was: another process on the same cores slows everything."""
    return {
        "device": jax.devices()[0].device_kind,
        "platform": jax.devices()[0].platform,
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "python": platform.python_version(),
        "jax": jax.__version__,
        "numpy": np.__version__,
    }


def show(rows: Iterable[Row]) -> str:
    """The rows as an aligned table."""
    header = ("case", "setting", "seconds", "spread", "compile", "result", "goal", "")
    lines = [header, *(row.cells for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    padded = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([padded[0], "-" * max(map(len, padded)), *padded[1:]])


def save(path: Path, where: dict[str, Any], rows: Iterable[Row]) -> None:
    """The rows as JSON, with the machine they were measured on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {"machine": where, "rows": [{**asdict(row), "verdict": row.verdict} for row in rows]}
    path.write_text(json.dumps(record, indent=2, allow_nan=False) + "\n", encoding="utf-8")
