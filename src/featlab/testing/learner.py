"""Is a learner what it says it is? One call, a check for each promise of the contract, a reason for each failure.

    featlab.testing.check_learner(MyLearner(step_size=0.1), times=[0, 2])

Statistical checks compare order parameters of many seeds by two-sample Kolmogorov-Smirnov tests at a level of 1e-5,
shared among the numbers of a comparison (keys are fixed: a result does not change from run to run), and they have a
negative control: a run that is different must be told apart by the same test, or the check says that it cannot tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.stats
import xarray as xr

from featlab.errors import FeatlabError, InvalidParameter
from featlab.experiments.experiment import DESIGNS, Experiment
from featlab.experiments.text import experiment_from_text, experiment_to_text
from featlab.learners.fields import options_of
from featlab.learners.protocol import Grown, Learner, Student, check_contract
from featlab.learners.steps import StepLaw, step_at
from featlab.outcome import Outcome
from featlab.precision import double_precision
from featlab.results import LIMITS
from featlab.simulation.algorithms import algorithm, check_runnable, demand
from featlab.simulation.designs.choose import DoesNotFit, Sizes, choose
from featlab.simulation.designs.spiked import known_axes, with_inputs
from featlab.simulation.observe import check_names
from featlab.simulation.problem import Problem
from featlab.simulation.random import seed_keys
from featlab.simulation.run import run
from featlab.simulation.simulator import simulate
from featlab.targets import Hypercube, Target, target
from featlab.testing.turned import rotation, turned

LEVEL = 1e-5
_FEW = 4  # seeds of checks that are exact
_SAME = 2e-4  # of the largest number: what another grouping may change by rounding, in float32
_EXACT = 1e-6  # the same in float64, after a few steps
_COMPARED = ("overlap", "norm", "subspace", "gram", "risk", "accuracy")


class CheckFailed(FeatlabError, AssertionError):
    """A learner breaks its contract; the message says how, check by check."""


@dataclass(frozen=True)
class Checked:
    """One check of a learner: its name, and why it failed; empty, it passed.

    Attributes:
        name: of the check.
        reason: why it failed; empty, it passed.
    """

    name: str
    reason: str = ""


def check_learner(
    learner: Learner,
    *,
    target: Target | str | None = None,
    student: Student | None = None,
    dim: int = 24,
    samples: int | None = None,
    times: Any = None,
    seeds: int = 300,
) -> list[Checked]:
    """Put a learner to the test, at small sizes: everything that `featlab.learners.protocol.Learner` promises.

    Args:
        learner: an instance, with few steps, so that rounding does not pile up.
        target, student, dim, samples, times: of the experiment that it is tested on; by default a target that its
            inputs allow, its own student, and samples or times as its clock asks for them.
        seeds: how many runs a side in statistical checks.

    Returns:
        The checks that were made, all passed.

    Raises:
        CheckFailed: with the reason of each check that failed.
    """
    try:
        check_contract(learner)
        case = _experiment(learner, target, student, dim, samples, times)
        check_runnable(learner, case.student, case.concrete)
    except FeatlabError as fault:
        raise CheckFailed(f"{learner!r} fails its first check:\n- contract: {fault}") from fault
    many = replace(case, seeds=tuple(range(seeds)), design="dense", observe=_looked_at(case))
    checked = [Checked("contract"), *(Checked(name, "; ".join(check(many))) for name, check in _CHECKS.items())]
    failed = [f"- {one.name}: {one.reason}" for one in checked if one.reason]
    if failed:
        raise CheckFailed(f"{learner!r} fails {len(failed)} of {len(checked)} checks:\n" + "\n".join(failed))
    return checked


def _experiment(
    learner: Learner, given: Target | str | None, student: Student | None, dim: int, samples: int | None, times: Any
) -> Experiment:
    if given is None:
        cube = Hypercube in learner.inputs
        given = target("sign(h1*h2)", inputs=Hypercube()) if cube else target("h1 + 0.5*h1**2")
    states_its_own = learner.clock == "once" and getattr(learner, "fits_readout", False)
    if samples is None and learner.clock != "one-pass" and not states_its_own:
        samples = 2 * dim
    if times is None and learner.clock == "one-pass":
        times = [0, 1]
    return Experiment.of(given, learner, dim=dim, samples=samples, times=times, student=student, seeds=_FEW)


def _looked_at(case: Experiment) -> tuple[str, ...]:
    """The usual names; for a risk that is no learner's own, which compiles longer than most learners, the products of
    weights: with the overlaps they are all that it depends on."""
    steps, student = algorithm(_stored(case, np.dtype(np.float32))), case.student is not None
    names = [name for name in check_names(None, steps, student) if name not in ("risk_error", "ridge")]
    if "risk" in names and "risk" not in steps.measures and steps.fit is None:
        names[names.index("risk")] = "gram"
    return tuple(names)


def _stored(case: Experiment, dtype: np.dtype) -> Problem:
    """The problem of an experiment on stored inputs."""
    target, learner = case.concrete, case.learner
    axes = known_axes(target.inputs, target.rank)
    wanted = demand(learner, case.student, target, Sizes(case.dim, axes, case.samples, dtype))
    design = with_inputs(choose(wanted, learner.equivariant, "dense").design, target.inputs)
    return Problem(target, case.student, learner, design)


def _descriptions(case: Experiment) -> Iterator[str]:
    """A frozen dataclass, equal by value, that comes back from its own text."""
    learner = case.learner
    if not is_dataclass(learner) or not learner.__dataclass_params__.frozen:
        yield "it is no frozen dataclass"
        return
    if learner != replace(learner) or hash(learner) != hash(replace(learner)):
        yield "a copy is not equal to it, or has another hash"
    try:
        few = replace(case, seeds=tuple(range(_FEW)))
        if experiment_from_text(experiment_to_text(few)) != few:
            yield f"it does not come back from its text {experiment_to_text(few)}"
    except FeatlabError as fault:
        yield f"it cannot be said in text: {fault}"


def _bad_fields(case: Experiment) -> Iterator[str]:
    """Every field refuses what is nothing, by a named error that names it."""
    for field, _ in options_of(case.learner):
        for bad in (object(), "no such word", math.nan):
            try:
                replace(case.learner, **{field.name: bad})  # type: ignore[type-var]
            except InvalidParameter as fault:
                if fault.name != field.name:
                    yield f"{field.name}={bad!r} is refused as {fault.name!r}"
            except FeatlabError:
                pass  # a target, say, has an error of its own that quotes it
            except Exception as fault:  # noqa: BLE001  # whatever else it is, it is not kind
                yield f"{field.name}={bad!r} raises {type(fault).__name__}, not InvalidParameter"
            else:
                if not (isinstance(bad, str) and isinstance(getattr(case.learner, field.name), str | None)):
                    yield f"{field.name}={bad!r} is accepted"
    named = [field.name for field, _ in options_of(case.learner)]
    unnamed = [field.name for field in fields(case.learner) if field.name not in (*named, "first")]  # type: ignore[arg-type]
    if unnamed:
        yield f"fields {', '.join(unnamed)} say nothing of themselves: give them metadata=option(kind, meaning)"


def _equivariance(case: Experiment) -> Iterator[str]:
    """With stored inputs turned by R, the span of the weights is turned by R; or "virtual" is refused."""
    if not case.learner.equivariant:
        try:
            _run(replace(case, design="virtual", seeds=(0,)))
        except InvalidParameter:
            return
        yield "it is not equivariant, and the design 'virtual' runs it"
        return
    plain = _in_double(case)
    if "weights" not in plain:
        return  # nothing can turn
    rotated = _turned_weights(case)
    turn = rotation(case.dim, known_axes(case.concrete.inputs, case.concrete.rank))
    for before, after in zip(plain["weights"].isel(time=-1).values, rotated, strict=True):
        expected = turn @ (before.T @ before) @ turn.T
        found = after.T @ after
        if np.max(np.abs(found - expected)) > _EXACT * max(1.0, np.max(np.abs(expected))):
            yield (
                "it says equivariant = True, but turning inputs and start does not turn the weights (W^T W is off by "
                f"{np.max(np.abs(found - expected)):.1e}); say False, and no virtual design is taken"
            )
            return


def _in_double(case: Experiment) -> xr.Dataset:
    """The same runs on stored inputs in float64, by other keys; with their weights where the learner has any."""
    double = replace(case, key=1, dtype="float64")
    try:
        return _run(replace(double, observe=(*_names(_run(case)), "weights")))
    except InvalidParameter:
        return _run(double)


def _turned_weights(case: Experiment) -> np.ndarray:
    """The weights of every seed of `_in_double` after the last step, with inputs and start turned."""
    with double_precision():
        stored = _stored(case, np.dtype(np.float64))
        problem = replace(stored, design=turned(stored.design))
        runs = run(problem, case.plan, ("weights",), seed_keys(1, case.seeds), len(case.seeds), False)
    return runs.values["weights"][:, -1]


def _designs(case: Experiment) -> Iterator[str]:
    """The same law on every design that the learner allows."""
    stored, allowed = _run(case), 0
    for design in DESIGNS[1:]:
        if design == "dense":
            continue
        try:
            other = _run(replace(case, key=1, design=design))
        except (InvalidParameter, DoesNotFit):
            continue  # the declared refusal
        allowed += 1
        yield from _differences(stored, other, f"on {design} and on dense")
    if allowed:
        yield from _control(case, stored)


def _precisions(case: Experiment) -> Iterator[str]:
    """The same law in float32 and in float64."""
    yield from _differences(_run(case), _in_double(case), "in float64 and in float32")


def _randomness(case: Experiment) -> Iterator[str]:
    """A seed has its numbers whoever runs beside it, in whatever order, however often it is looked at."""
    together, seed = _run(case), case.seeds[-1]
    again = {
        "alone": replace(case, seeds=(seed,), observe=_quick_names(together)),
        "in another order": replace(case, seeds=case.seeds[::-1]),
    }
    if together.sizes["time"] > 1:
        again["with fewer looks"] = replace(case, times=(float(together["time"].values[-1]),))
    for words, other in again.items():
        found = _run(other)
        for name in _names(found):
            one, two = (run[name].sel(seed=seed).isel(time=-1).values for run in (together, found))
            if not np.allclose(one, two, rtol=0, atol=_SAME * max(1.0, np.nanmax(np.abs(one))), equal_nan=True):
                yield f"{name} of a seed is another {words}"
    for name in _names(together):
        values = together[name].isel(time=-1).values.reshape(len(case.seeds), -1)
        if name == "overlap" and np.array_equal(values[0], values[1]):
            yield "two seeds have the same overlaps: its randomness does not depend on the key"


def _outcomes(case: Experiment) -> Iterator[str]:
    """What is not a number has an outcome that is not ok; steps that are far too large are seen to diverge."""
    learner: Any = case.learner
    tried = [case]
    if any(field.name == "step_size" for field in fields(learner)) and learner.step_size is not None:
        far = replace(learner, step_size=1e12)
        tried.append(replace(case, learner=far, observe=_quick_names(_run(case))))
    for one in tried:
        found = _run(one)
        for outcome, values in zip(found["outcome"].values, _rows(found), strict=True):
            if str(outcome) not in set(Outcome):
                yield f"the outcome {outcome!r} is none of featlab.Outcome"
                return
            if outcome == Outcome.OK and not np.all(np.isfinite(values)):
                yield f"{one.learner!r} ends as ok with values that are no numbers"
                return


@lru_cache(maxsize=8)
def _run(case: Experiment) -> xr.Dataset:
    """Remembered: several checks look at the same runs, and compiling is what takes time."""
    return simulate(case, progress=False)


def _names(found: xr.Dataset) -> list[str]:
    return [name for name in _COMPARED if name in found]


def _quick_names(found: xr.Dataset) -> tuple[str, ...]:
    """Without the risk, whose average over fresh fields takes longer to compile than the learner, unless it is all."""
    return tuple(name for name in _names(found) if name != "risk") or ("risk",)


def _rows(found: xr.Dataset) -> np.ndarray:
    """All compared numbers at the last time, (seed, number)."""
    parts = [found[name].isel(time=-1).values.reshape(found.sizes["seed"], -1) for name in _names(found)]
    return np.concatenate(parts, axis=1)


def _smallest_level(one: np.ndarray, two: np.ndarray) -> float:
    """The smallest p-value of the columns, times their number; a number that never varies must be the same."""
    levels = [1.0]
    for left, right in zip(one.T, two.T, strict=True):
        left, right = left[np.isfinite(left)], right[np.isfinite(right)]
        if len(left) and len(right):
            unit = _SAME * max(1.0, np.max(np.abs(left)))  # what rounding may change makes no difference
            grid = (np.rint(values / unit) for values in (left, right))
            levels.append(float(scipy.stats.ks_2samp(*grid, method="asymp").pvalue) * one.shape[1])
    return min(levels)


def _differences(one: xr.Dataset, two: xr.Dataset, words: str) -> Iterator[str]:
    level = _smallest_level(_rows(one), _rows(two))
    if level < LEVEL:
        yield f"its law {words} differs (p = {level:.0e})"


def _control(case: Experiment, stored: xr.Dataset) -> Iterator[str]:
    """The same comparison must tell the end from another time, or from other samples."""
    if stored.sizes["time"] > 1:
        other, words = stored.isel(time=[0]), "the start"
    elif case.samples is not None:
        other, words = _run(replace(case, samples=4 * case.samples)), "a run on four times the samples"
    else:
        other, words = _run(replace(case, dim=4 * case.dim)), "a run in four times the dimension"
    if _smallest_level(_rows(stored), _rows(other)) >= LEVEL:
        yield f"its end cannot be told from {words}: take more seeds, steps or samples, or nothing is tested"


def _sizes(case: Experiment) -> Iterator[str]:
    """At its own size it is what it is, and twice twice its size is four times it."""
    for limit in LIMITS:
        own, twice, four = (case.learner.grown(case.student, case.dim, factor, limit) for factor in (1.0, 2.0, 4.0))
        if own is None or twice is None or four is None:
            if not own is twice is four:
                yield f"`grown` knows some sizes and not others, in the limit of {limit}"
            continue
        dim = case.dim if limit == "samples" else 2 * case.dim
        again = twice.learner.grown(twice.student, dim, 2.0, limit)
        if _numbers(own, case.dim) != _numbers(Grown(case.learner, case.student, 1.0), case.dim):
            yield f"`grown` by 1 is {own}, in the limit of {limit}"
        end = 2 * dim if limit != "samples" else dim
        if again is None or _numbers(again._replace(samples=again.samples * twice.samples), end) != _numbers(four, end):
            doubled = f"{again}, after {twice.samples:g} times the samples"
            yield f"`grown` twice by 2 is {doubled}, and by 4 {four}, in the limit of {limit}"


def _numbers(grown: Grown, dim: int) -> str:
    """All of it in words, step laws at that dimension, up to rounding."""
    learner = grown.learner
    laws = [field.name for field, _ in options_of(learner) if isinstance(getattr(learner, field.name), StepLaw)]
    steps = {name: step_at(getattr(learner, name), dim) for name in laws}
    plain = replace(learner, **{name: float(f"{value:.9g}") for name, value in steps.items()}) if laws else learner
    return f"{plain}, {grown.student}, {grown.samples:.9g}"


_CHECKS: dict[str, Callable[[Experiment], Iterator[str]]] = {
    "description": _descriptions,
    "bad fields": _bad_fields,
    "equivariance": _equivariance,
    "designs": _designs,
    "precisions": _precisions,
    "randomness": _randomness,
    "outcomes": _outcomes,
    "sizes": _sizes,
}
