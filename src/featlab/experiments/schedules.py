"""When to look at a learner at work: the same for a prediction and for a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from featlab.errors import InvalidParameter, MissingParameter
from featlab.learners.checks import positive_integer
from featlab.learners.protocol import Learner
from featlab.learners.registry import called

_DEFAULT_TIMES = 40
_CURVE = 40  # points of a curve
_MOST_STEPS = 2**31 - 1
_MOST_LOOKS = 10**6
# What a step of a simulation takes, whatever it does; and what a look does: its step among the numbers of Python, and
# its step and its time as labels.
STEP_SECONDS = 5e-6
_LOOK_BYTES = 40 + 8 + 8


@dataclass(frozen=True)
class Schedule:
    """When to look: numbers of steps, ascending, and how many steps one unit of the `time` axis is."""

    steps: tuple[int, ...]
    unit: float


def schedule(learner: Learner, dim: int, samples: int | None, times: Sequence[float] | None) -> Schedule:
    """When to look at a run, by the `clock` of its learner.

    "one-pass": time is steps/d; `times` says when to look, or `samples` in all, at 40 log-spaced times.
    "steps": time is the number of steps, a whole one; all of the learner's `steps` unless `times` names some.
    "iterations": the same, 40 log-spaced ones unless `times` names some.
    "flow": time is that of the flow, all multiples of the learner's `interval` unless `times` names some.
    "once": there is nothing but a result, at time 0.
    Readouts have the clock of their first layer.
    """
    if learner.clock == "once":
        return _once(learner, samples, times)
    paced: Any = getattr(learner, "paced_by", learner)
    if learner.clock == "flow":
        return _flow(paced, times)
    if learner.clock in ("steps", "iterations"):
        if times is None:
            named = "iterations" if hasattr(paced, "iterations") else "steps"
            times = _log_spaced(named, paced.steps) if learner.clock == "iterations" else _every(paced.steps)
        steps = _step_numbers(times, 1.0)
        if not np.array_equal(np.unique(np.asarray(times, dtype=np.float64)), steps):
            raise InvalidParameter("times", times, "whole numbers: they are numbers of steps")
        if steps[-1] > paced.steps:
            raise InvalidParameter("times", times, f"step numbers from 0 to {paced.steps}")
        return Schedule(steps, 1.0)
    last = None if samples is None else positive_integer("samples", samples) // paced.batch
    if last == 0:
        raise InvalidParameter("samples", samples, f"at least one batch of {paced.batch}")
    if times is None:
        if last is None:
            what = "how many samples in all, or times= in units of d steps in its place"
            raise MissingParameter("samples", what, called(learner))
        return Schedule(_log_spaced("samples", last), float(dim))
    steps = _step_numbers(times, float(dim))
    if last is not None and steps[-1] > last:
        raise InvalidParameter("times", times, f"times up to {last / dim}, for which there are samples")
    return Schedule(steps, float(dim))


def finer(plan: Schedule) -> tuple[float, ...]:
    """Its times, and others between each two of them, about `_CURVE` in all, as far as there are steps there."""
    asked = np.array(plan.steps, dtype=np.float64)
    between = np.interp(np.linspace(0, len(asked) - 1, _CURVE), np.arange(len(asked)), asked)
    steps = asked if len(asked) >= _CURVE else np.union1d(np.rint(between), asked)
    return tuple(map(float, steps / plan.unit))


def _flow(learner: Any, times: Sequence[float] | None) -> Schedule:
    unit = 1 / learner.interval
    steps = tuple(_every(learner.steps)) if times is None else _step_numbers(times, unit)
    if steps[-1] > learner.steps:
        raise InvalidParameter("times", times, f"times of the flow from 0 to {learner.time}")
    return Schedule(steps, unit)


def _once(learner: Learner, samples: int | None, times: Sequence[float] | None) -> Schedule:
    if getattr(learner, "fits_readout", False):
        if samples is not None:
            raise InvalidParameter(
                "samples",
                samples,
                "None: random-features is fitted to as many as readout= says",
            )
    elif samples is None:
        raise MissingParameter("samples", "how many samples it learns from", called(learner))
    else:
        positive_integer("samples", samples)
    if times is not None and _step_numbers(times, 1.0) != (0,):
        raise InvalidParameter("times", times, "None, or 0: this learner takes no steps, it has a result")
    return Schedule((0,), 1.0)


def _every(last: int) -> range:
    """All steps, if so many can be looked at."""
    if last >= _MOST_LOOKS:
        raise InvalidParameter("times", None, f"times to look at, such as 0,1,10,100: {_too_many_looks(last + 1)}")
    return range(last + 1)


def _step_numbers(times: Sequence[float], unit: float) -> tuple[int, ...]:
    try:
        values = np.atleast_1d(np.asarray(times, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter("times", times, "a sequence of finite numbers, none negative") from None
    if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values)) or np.any(values < 0):
        raise InvalidParameter("times", times, "a sequence of finite numbers, none negative")
    with np.errstate(over="ignore"):  # what is too large is refused, infinity, too
        steps = np.unique(np.rint(values * unit))
    if steps[-1] > _MOST_STEPS:
        raise InvalidParameter("times", times, _too_many_steps(steps[-1], f", time {_MOST_STEPS / unit:.3g}"))
    if len(steps) > _MOST_LOOKS:
        raise InvalidParameter("times", f"{len(steps):,} times", _too_many_looks(len(steps)))
    return tuple(int(step) for step in steps)


def _too_many_steps(count: float, time: str = "") -> str:
    years = STEP_SECONDS * count / (365 * 86400)
    return f"at most {_MOST_STEPS:,} steps{time}: a simulation of {count:.3g} takes {years:.1e} years or more"


def _too_many_looks(count: int) -> str:
    return f"at most {_MOST_LOOKS:,} looks; the names alone of {count:,} take {_LOOK_BYTES * count:,} bytes"


def _log_spaced(named: str, last: int) -> tuple[int, ...]:
    """So many steps at most, `named` by what is too large if they are too many."""
    if last > _MOST_STEPS:
        raise InvalidParameter(named, last, _too_many_steps(last))
    return tuple(int(s) for s in np.unique(np.rint(np.geomspace(1, last + 1, _DEFAULT_TIMES) - 1)))
