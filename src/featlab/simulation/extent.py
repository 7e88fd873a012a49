"""What a run will take, known before it starts: memory by the sizes of its arrays, time by a count of what it does.

`python -m benchmarks.attack sizes` compares both with what runs of every kind took. Memory is right within a factor of
three beyond what Python and JAX take by themselves; time on CPUs within one of ten: it tells a minute from a day.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np

from featlab.errors import FeatlabError, InvalidParameter
from featlab.experiments.experiment import Experiment
from featlab.experiments.schedules import STEP_SECONDS
from featlab.machine import memory as process_memory
from featlab.results import QUANTITIES
from featlab.simulation.algorithms import demand
from featlab.simulation.designs.choose import Choice, Demand, DoesNotFit, Sizes, choose, device_memory
from featlab.simulation.designs.spiked import known_axes
from featlab.simulation.observe import RISK_SAMPLES
from featlab.simulation.run import group_size

# Results exist three times while they are put together; a seed has a number, an outcome and a step of divergence, too.
_COPIES, _SEED_BYTES = 3, 300
# Seconds on one core: to draw a number, to read one that is stored, for a multiplication of a step, for one of a large
# product of matrices, for a look at all.
_DRAW, _READ, _MULTIPLY, _PRODUCT, _LOOK = 1e-8, 1e-9, 1e-10, 3e-11, 1e-3
_COMPILING = 4.0
_YEAR = 365 * 86400.0
_LONGEST = 100 * _YEAR
_MOST = 2**62  # theory may go beyond it


class TakesTooLong(FeatlabError):
    """A run that would take longer than anybody waits; refused before it starts.

    Attributes:
        seconds: the estimate.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        fewer = f"{seconds / 86400:.0e}".replace("e+", "e")
        super().__init__(
            f"the run would take about {seconds / _YEAR:,.0f} years on this machine; with samples, steps or seeds "
            f"{fewer} times fewer, it would take a day"
        )


class Extent(NamedTuple):
    """What a run takes.

    Attributes:
        together: how many seeds run side by side.
        memory: bytes at most, besides what Python and JAX take by themselves; the results included.
        results: bytes of the results of all seeds, while they are put together.
        seconds: about; None on a GPU, of which nothing is known before it runs.
    """

    together: int
    memory: int
    results: int
    seconds: float | None


def chosen(experiment: Experiment, memory: int | None) -> tuple[Demand, Choice]:
    """What an experiment asks of its design, and the design that it gets in so many bytes (None: the usual share).

    Raises:
        DoesNotFit: with how many samples would fit, or, if none would, how many neurons or dimensions.
        InvalidParameter: for numbers that a machine cannot count to.
    """
    _check_countable(experiment)
    try:
        return _chosen(experiment, memory)
    except DoesNotFit as fault:
        for counted, (count, changed) in _countable(experiment).items():
            most = _most(count, changed, memory)
            if most > 1:
                remedy = f"{fault.remedy}; {_rounded(most):,} {counted} would fit"
                raise DoesNotFit(fault.needed, fault.available, fault.what, remedy, fault.fitting) from None
        raise


def _check_countable(experiment: Experiment) -> None:
    """No whole number of what is run is beyond 64 bits."""
    for name, value in experiment.numbers():
        if isinstance(value, int) and value > _MOST:
            drawn = f"; drawing {value:.3g} takes {_DRAW * value / _YEAR:.1e} years" if "samples" in name else ""
            raise InvalidParameter(name, value, f"at most {_MOST:,}, which 64 bits can count{drawn}")


def _chosen(experiment: Experiment, memory: int | None) -> tuple[Demand, Choice]:
    target, learner = experiment.concrete, experiment.learner
    sizes = Sizes(
        experiment.dim, known_axes(target.inputs, target.rank), experiment.samples, np.dtype(experiment.dtype)
    )
    wanted = demand(learner, experiment.student, target, sizes)
    return wanted, choose(wanted, learner.equivariant, experiment.design, memory)


def _countable(experiment: Experiment) -> dict[str, tuple[int, Callable[[int], Experiment]]]:
    """What there may be less of: how many there are, and the experiment as a function of that; 0, where others decide.

    An odd number of neurons, which a paired start has not, is taken as the next even one.
    """
    student: Any = experiment.student
    odd = 1 if getattr(student, "paired", False) else 0

    def with_neurons(count: int) -> Experiment:
        return replace(experiment, student=replace(student, width=count + count % 2 * odd))

    return {
        "samples": _in_samples(experiment),
        "neurons": (getattr(student, "width", 0), with_neurons),
        "dimensions": (experiment.dim, lambda count: replace(experiment, dim=count)),
    }


def _in_samples(experiment: Experiment) -> tuple[int, Callable[[int], Experiment]]:
    """How many samples there are at a time, and the experiment as a function of that."""
    learner: Any = experiment.learner
    if learner.clock == "one-pass" and hasattr(learner, "batch"):
        return learner.batch, lambda count: replace(experiment, learner=replace(learner, batch=count), samples=None)
    return experiment.samples or 0, lambda count: replace(experiment, samples=count)


def _most(count: int, changed: Callable[[int], Experiment], memory: int | None) -> int:
    """The largest number up to `count` with which an experiment fits; 0 or 1 where none does."""

    def fits(less: int) -> bool:
        try:
            _chosen(changed(count - less), memory)
        except (DoesNotFit, InvalidParameter):
            return False
        return True

    return count - bisect_left(range(count), True, key=fits)


def _rounded(count: int) -> int:
    """Down, to two digits: it is an estimate."""
    return count - count % 10 ** max(0, len(str(count)) - 2)


def extent(experiment: Experiment, wanted: Demand, choice: Choice, names: tuple[str, ...]) -> Extent:
    """What a run takes, if it can be run now.

    Raises:
        DoesNotFit: if it needs more memory than is free at this moment, or its results more than it may use.
        TakesTooLong: if it would take a hundred years.
    """
    results, seeds = _result_bytes(experiment, choice, names), len(experiment.seeds)
    device, host = device_memory(), process_memory()
    allowed = host.size // 2 if experiment.memory is None else experiment.memory
    if results > allowed:
        times = len(experiment.plan.steps)
        what, most = f"the results of {seeds:,} seeds at {times:,} times", max(1, int(seeds * (allowed / results)))
        raise DoesNotFit(results, allowed, what, f"{most:,} seeds fit, or fewer times to look at")
    free = device.available - (0 if _on_gpu() else results)
    if choice.bytes_of(1) > free:
        used = f"one seed on the design {choice.kind!r}, and its results,"
        others = "the rest is in use by other programs; end some, or" if choice.bytes_of(1) < device.size else "so"
        remedy = f"of the {device.size:,} that there are; {others} take fewer samples"
        raise DoesNotFit(choice.bytes_of(1), max(0, free), used, remedy)
    together = choice.group(group_size(seeds), free)
    seconds = None if _on_gpu() else _seconds(experiment, wanted, choice.kind, together, "risk" in names)
    if seconds is not None and seconds > _LONGEST:
        raise TakesTooLong(seconds)
    return Extent(together, choice.bytes_of(together) + results, results, seconds)


def _on_gpu() -> bool:
    return jax.default_backend() != "cpu"


def _result_bytes(experiment: Experiment, choice: Choice, names: tuple[str, ...]) -> int:
    student: Any = experiment.student
    learner: Any = experiment.learner
    rank, width = experiment.concrete.rank, getattr(student, "width", experiment.concrete.rank)
    sizes = {
        "neuron": width,
        "other_neuron": width,
        "unit": width,
        "direction": rank,
        "component": min(width, rank),
        "axis": getattr(choice.design, "frame", experiment.dim),
        "restart": getattr(learner, "restarts", 1),
    }
    numbers = sum(
        int(np.prod([sizes.get(axis, width) for axis in QUANTITIES[name][0]], dtype=object)) for name in names
    )
    item = np.dtype(experiment.dtype).itemsize
    return len(experiment.seeds) * (_COPIES * numbers * item * len(experiment.plan.steps) + _SEED_BYTES)


def running_seconds(experiment: Experiment, wanted: Demand, choice: Choice, names: tuple[str, ...]) -> float:
    """How long a run takes on one core without compiling, whatever memory there is."""
    together = min(group_size(len(experiment.seeds)), choice.seeds_at_once)
    return _seconds(experiment, wanted, choice.kind, together, "risk" in names) - _COMPILING


def _seconds(experiment: Experiment, wanted: Demand, kind: str, together: int, risk: bool) -> float:
    """On one core: steps that read their batch and multiply it by the weights, looks, which may measure the risk, and
    fits."""
    learner, rows, width = experiment.learner, float(wanted.rows), wanted.width
    seeds, looks, steps = len(experiment.seeds), len(experiment.plan.steps), max(1, experiment.plan.steps[-1])
    groups = -(-seeds // together)
    asked = float(wanted.known + width * wanted.uses)
    read = {"virtual": rows * asked, "retraced": rows * asked, "dice": (rows + wanted.dim) * asked}.get(
        kind, rows * wanted.dim
    )
    drawn = read * _DRAW
    each = read * (_READ + 2 * width * _MULTIPLY)
    if wanted.uses == 1 or kind in ("streamed", "retraced"):
        each, drawn = each + (2 if wanted.uses > 1 else 1) * drawn, 0.0
    each += rows * wanted.row_work * _MULTIPLY
    tested = (RISK_SAMPLES if risk else 0) + float(getattr(learner, "test_samples", None) or 0)
    fitted = tested * (wanted.known + width) * (_DRAW + width * _PRODUCT)
    if wanted.compared:
        fitted += 2 * rows**3 * _MULTIPLY
    for name in ("samples", "second_samples", "readout_samples", "tuning_samples"):
        count = float(getattr(learner, name, None) or 0)
        fitted += count * (wanted.known + width) * (_DRAW + 4 * width * _PRODUCT)
    together_seconds = steps * STEP_SECONDS + looks * _LOOK
    return _COMPILING + seeds * (drawn + steps * each + looks * fitted) + groups * together_seconds
