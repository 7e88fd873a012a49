"""Running a problem: seeds side by side, steps in compiled loops, a look at the asked times, and a bar while it lasts.

Three functions are compiled, once per program (`programs`) and shape: start, advance, look; and one for the risk, which
more problems share. Randomness is keyed by the seed and the number of the step alone, so the numbers do not depend on
how seeds are grouped, on when the run is looked at, or on the device.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from featlab.experiments.schedules import Schedule
from featlab.interruption import check, saving
from featlab.outcome import DIVERGED_NORM, Outcome
from featlab.precision import double_precision
from featlab.simulation.algorithms import algorithm
from featlab.simulation.designs.retraced import Retraced
from featlab.simulation.designs.spiked import SpikedDesign
from featlab.simulation.designs.virtual import ReusedVirtual
from featlab.simulation.devices import devices_for, grouped, on_all, sample_devices, spread
from featlab.simulation.observe import by_fields, observe, risk, risk_problem
from featlab.simulation.problem import Algorithm, Problem
from featlab.simulation.programs import shared, with_inner
from featlab.simulation.progress import reporting
from featlab.simulation.random import fold, named

_CALL_SECONDS = 0.5
_MOST_GROWTH = 1024.0


class Carry(NamedTuple):
    """All seeds of a group: their states, their last Info (or None), and the step at which each diverged (or -1)."""

    state: Any
    info: Any
    diverged: Array


class Seen(NamedTuple):
    """What of a state is looked at, unless its learner measures more."""

    network: Any


class Runs(NamedTuple):
    """What came out: arrays (seed, time, ...) by name, the step of divergence (-1: none), and whether it finished.

    For a learner that stops by itself also `ends`, by seed: the word for its `outcome`, and its `iterations`.
    """

    values: dict[str, np.ndarray]
    diverged: np.ndarray
    finished: np.ndarray
    ends: dict[str, np.ndarray]


def run(
    problem: Problem, plan: Schedule, names: tuple[str, ...], keys: np.ndarray, at_once: int, progress: bool | None
) -> Runs:
    """Run every seed (one key each), at most `at_once` side by side on a device. Ctrl-C ends it with what there is.

    Where there are several devices the seeds of a group are spread over them, or the samples of one (`devices`).
    """
    count, devices = len(keys), devices_for(len(keys), at_once)
    problem, together = _over_samples(problem) if at_once == 1 else (problem, 1)
    if devices[0].platform != "cpu":  # the devices of a CPU, which only tests have, share its memory
        at_once *= len(devices)
    size = min(group_size(-(-count // -(-count // at_once))), at_once)
    groups, size = grouped(count, at_once, len(devices), size)
    parts: list[Runs] = []
    with reporting(progress, groups * plan.steps[-1]) as advance_bar:
        try:
            for group in range(groups):
                chosen = np.minimum(np.arange(group * size, (group + 1) * size), count - 1)
                with saving(bool(parts)):
                    placed = on_all(keys[chosen], together) if together > 1 else spread(keys[chosen], devices)
                    parts.append(_run_group(problem, plan, names, placed, advance_bar))
                if not parts[-1].finished.all():
                    break
        except KeyboardInterrupt:
            if not parts:
                raise
    return _joined(parts, count)


def _over_samples(problem: Problem) -> tuple[Problem, int]:
    """The problem with the samples of its batches spread over devices, where its design does that; and how many."""
    design = problem.design.inner if isinstance(problem.design, SpikedDesign) else problem.design
    if not isinstance(design, ReusedVirtual | Retraced):
        return problem, 1
    count = sample_devices(design.rows)
    return with_inner(problem, over=count), count


def group_size(count: int) -> int:
    """So many seeds are run side by side, the last of them repeated, where `count` are asked for: programs are compiled
    for few numbers of seeds, 1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, ..., at most a quarter more."""
    step = max(2, 2 ** (count - 1).bit_length() // 8)
    return 1 if count == 1 else -(-count // step) * step


def _run_group(problem: Problem, plan: Schedule, names: tuple[str, ...], keys: Array, advance_bar: Any) -> Runs:
    looks: list[dict[str, np.ndarray]] = []
    diverged, ends = np.full(len(keys), -1), {}
    try:
        carry, done, pace = jax.block_until_ready(start(problem, keys)), 0, _Pace()
        for stop in plan.steps:
            with saving(bool(looks)):
                while done < stop:
                    check()
                    upto = min(stop, done + pace.steps)
                    with pace.timing(upto - done):
                        carry = jax.block_until_ready(advance(problem, carry, keys, done, upto))
                    upto = stop if _all_ended(problem, carry) else upto
                    advance_bar(upto - done)
                    done = upto
                check()
                looks.append({name: np.array(value) for name, value in _seen(problem, names, carry, keys).items()})
                diverged, ends = np.array(carry.diverged), _ends(problem, carry)
    except KeyboardInterrupt:
        if not looks:
            raise
    times = len(plan.steps)
    finished = np.full(len(keys), len(looks) == times)
    values = {}
    for name, first in looks[0].items():
        values[name] = np.full((len(keys), times, *first.shape[1:]), np.nan, first.dtype)
        for index, seen in enumerate(looks):
            values[name][:, index] = seen[name]
    return Runs(values, diverged, finished, ends)


def _all_ended(problem: Problem, carry: Carry) -> bool:
    """Whether every seed has stopped by itself, so that further steps would change nothing."""
    outcomes = algorithm(problem).outcomes
    return outcomes[:1] == (Outcome.NOT_CONVERGED,) and bool(np.all(np.asarray(carry.state.outcome) != 0))


def _ends(problem: Problem, carry: Carry) -> dict[str, np.ndarray]:
    words = [outcome.value for outcome in algorithm(problem).outcomes]
    if not words:
        return {}
    return {"outcome": np.array(words)[carry.state.outcome], "iterations": np.array(carry.state.iterations)}


@shared()
def start(problem: Problem, keys: Array) -> Carry:
    """Every seed at its start."""
    steps = algorithm(problem)

    def begin(key: Array) -> Carry:
        state, info = steps.init(named(key, "start")), None
        if steps.informs:
            shapes = jax.eval_shape(partial(_first_info, steps), state, key)
            info = jax.tree.map(lambda shape: jnp.full(shape.shape, jnp.nan, shape.dtype), shapes)
        return Carry(state, info, jnp.int32(-1))

    return _grouped(begin(keys[0])) if len(keys) == 1 else jax.vmap(begin)(keys)


@shared(donate=(1,), often=True)
def advance(problem: Problem, carry: Carry, keys: Array, begin: int | Array, stop: int | Array) -> Carry:
    """Every seed from step `begin` to step `stop`; `block` steps' worth of random numbers are drawn at a time."""
    begin = jnp.asarray(begin, jnp.int32)
    if len(keys) > 1:
        return _advance(problem, jax.vmap, carry, keys, begin, stop)
    # A single seed is not mapped over: under `vmap` an update of a table in place becomes a copy of the table.
    alone = jax.tree.map(lambda part: part[0], carry)
    return _grouped(_advance(problem, lambda function, out_axes=0: function, alone, keys[0], begin, stop))


def _advance(problem: Problem, over_seeds: Any, carry: Carry, keys: Array, begin: Array, stop: int | Array) -> Carry:
    steps = algorithm(problem)
    stream = over_seeds(lambda key: named(key, "steps"))(keys)

    def one_block(at: tuple[Array, Carry]) -> tuple[Array, Carry]:
        number, carry = at
        index = number // steps.block
        fresh = over_seeds(lambda key: steps.draw(fold(key, index)), out_axes=1)(stream)

        def one_step(number: Array, carry: Carry) -> Carry:
            now = jax.tree.map(lambda part: part[number - index * steps.block], fresh)
            return over_seeds(lambda carry, now: _guarded(steps, carry, now, number))(carry, now)

        if steps.block == 1:  # a loop within the loop would cost a GPU one more round trip for each step
            return number + 1, one_step(number, carry)
        # The end of a block may lie beyond the largest 32-bit number; what is left of it never does.
        end = number + jnp.minimum(stop - number, steps.block - number % steps.block)
        return end, lax.fori_loop(number, end, one_step, carry)

    return lax.while_loop(lambda at: at[0] < stop, one_block, (begin, carry))[1]


def _grouped(seed: Any) -> Any:
    """A group of one seed."""
    return jax.tree.map(lambda part: part[None], seed)


def _seen(problem: Problem, names: tuple[str, ...], carry: Carry, keys: Array) -> dict[str, Array]:
    """The asked quantities; those of a fitted second layer, if there is one, are computed in float64."""
    steps, apart = algorithm(problem), {}
    if steps.fit is not None and set(names) & {"risk", *steps.fitted}:
        with double_precision():
            apart = look_fitted(problem, carry, keys)
    elif "risk" in names and "risk" not in steps.measures:
        apart = look_risk(risk_problem(problem), look_fields(problem, carry), keys)
    others = tuple(name for name in names if name not in apart)
    return look(problem, others, carry, keys) | apart if others else apart


@shared()
def look_fitted(problem: Problem, carry: Carry, keys: Array) -> dict[str, Array]:
    """What is known of a second layer fitted to every seed; NaN for those that have diverged. One seed at a time."""
    fit = algorithm(problem).fit
    assert fit is not None

    def one_seed(seed: tuple[Any, Array, Array]) -> dict[str, Array]:
        state, diverged, key = seed
        values = fit(state, named(key, "observe"))
        return jax.tree.map(lambda value: jnp.where(diverged < 0, value, jnp.nan), values)

    return lax.map(one_seed, (carry.state, carry.diverged, keys))


@shared()
def look_fields(problem: Problem, carry: Carry) -> Any:
    """Every seed's network `by_fields`; NaN for those that have diverged."""

    def one_seed(seed: tuple[Any, Array]) -> Any:
        network, diverged = seed
        return jax.tree.map(lambda value: jnp.where(diverged < 0, value, jnp.nan), by_fields(problem, network))

    return lax.map(one_seed, (carry.state.network, carry.diverged))


@partial(jax.jit, static_argnames=("problem",))
def look_risk(problem: Problem, networks: Any, keys: Array) -> dict[str, Array]:
    """The risk of every seed's network `by_fields`, and its error; the problem is a `risk_problem`. One at a time."""

    def one_seed(seed: tuple[Any, Array]) -> dict[str, Array]:
        network, key = seed
        return dict(zip(("risk", "risk_error"), risk(problem, network, named(key, "observe")), strict=True))

    return lax.map(one_seed, (networks, keys))


@shared(static=(1,))
def look(problem: Problem, names: tuple[str, ...], carry: Carry, keys: Array) -> dict[str, Array]:
    """The asked quantities of every seed; NaN for those that have diverged. One seed at a time, to bound memory."""
    measures = {name: measure for name, measure in algorithm(problem).measures.items() if name in names}

    def one_seed(seed: tuple[Any, Any, Array, Array]) -> dict[str, Array]:
        state, info, diverged, key = seed
        values = observe(problem, names, measures, state, info, named(key, "observe"))
        return jax.tree.map(lambda value: jnp.where(diverged < 0, value, jnp.nan), values)

    # The batch of a state stays out of the loop, which would copy it, unless a measure may ask for it.
    state = carry.state if measures else Seen(carry.state.network)
    return lax.map(one_seed, (state, carry.info, carry.diverged, keys))


def _guarded(steps: Algorithm, carry: Carry, fresh: Any, number: Array) -> Carry:
    """One step of one seed. When its weights blow up they stay as they were, and the step is noted."""
    old = carry.state.network
    state, info = steps.step(carry.state, fresh, number)
    weights = state.network.weights
    sound = (carry.diverged < 0) & (jnp.sum(weights**2) <= weights.shape[0] * DIVERGED_NORM**2)
    network = jax.tree.map(lambda new, before: jnp.where(sound, new, before), state.network, old)
    diverged = jnp.where(sound | (carry.diverged >= 0), carry.diverged, number + 1)
    return Carry(state._replace(network=network), info if steps.informs else None, diverged)


def _first_info(steps: Algorithm, state: Any, key: Array) -> Any:
    fresh = jax.tree.map(lambda part: part[0], steps.draw(key))
    return steps.step(state, fresh, jnp.int32(0))[1]


def _joined(parts: list[Runs], count: int) -> Runs:
    """The groups one after the other, without the repeated seeds that filled the last; missing seeds are NaN."""
    missing = max(0, count - sum(len(part.diverged) for part in parts))

    def join(pieces: list[np.ndarray], fill: Any) -> np.ndarray:
        whole = np.concatenate(pieces)[:count]
        return np.concatenate([whole, np.full((missing, *whole.shape[1:]), fill, whole.dtype)])

    values = {name: join([part.values[name] for part in parts], np.nan) for name in parts[0].values}
    diverged = join([part.diverged for part in parts], -1)
    fills = {"outcome": "", "iterations": -1}
    ends = {name: join([part.ends[name] for part in parts], fills[name]) for name in parts[0].ends}
    return Runs(values, diverged, join([part.finished for part in parts], False), ends)


class _Pace:
    """How many steps to take per call, so that a call lasts about half a second: for the bar and for Ctrl-C."""

    def __init__(self) -> None:
        self.steps, self._warm = 1, False

    @contextmanager
    def timing(self, steps: int) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        seconds = time.perf_counter() - begin
        if not self._warm:  # the first call includes compilation and says nothing about the pace
            self._warm = True
        elif steps == self.steps:
            growth = _CALL_SECONDS / max(seconds, 1e-4)
            self.steps = max(1, int(self.steps * min(growth, _MOST_GROWTH)))
