"""The sizes at which a run is measured to find its limit: by default d, 4d and 16d, all else in proportion.

What a prediction holds fixed is held fixed, as each learner says of itself by `grown`: samples / d (samples / d^l for
giant steps of leap l), gamma d of one-pass learners, the step of full-batch ones, n : p : d of a fitted second layer.
Of a prediction for n -> infinity at a given d the samples grow instead. Where the larger sizes would take too much work
or memory, smaller ones than asked for are taken; where those would be too small, too, there is one size. What is too
much follows from the sizes and not from a clock, so that the same question is answered the same way everywhere.
"""

from __future__ import annotations

from dataclasses import replace

from featlab.errors import InvalidParameter
from featlab.experiments.experiment import Experiment
from featlab.simulation.designs.choose import Demand, DoesNotFit
from featlab.simulation.extent import chosen

MOST_SIZES = 3
# The other sizes over the one asked for, in the order of preference.
_FACTORS = {3: ((4.0, 16.0), (0.25, 4.0), (0.25, 0.0625), (4.0,), (0.25,)), 2: ((4.0,), (0.25,)), 1: ()}
# A dimension, and samples over dimension, that are no longer large.
_LEAST_DIM, _LEAST_RATIO = 50, 4
# Multiplications that take some ten seconds on two cores; a step of all seeds costs at least so many.
_MOST_WORK, _LEAST_STEP = 3e10, 1e4
# Seeds of other sizes have other numbers, so that their random numbers are independent.
_SEED_SHIFT, ALL_SEEDS = 2**24, 2**32


def ladder(experiment: Experiment, limit: str, most: int = MOST_SIZES) -> tuple[Experiment, ...]:
    """The experiment, and the same at other sizes; it alone where there are none.

    Args:
        limit: that of its prediction, one of `featlab.results.LIMITS`.
        most: how many sizes, 1 to 3.
    """
    for factors in _FACTORS[check_sizes(most)]:
        rungs = [rung for place, factor in enumerate(factors, 1) if (rung := _scaled(experiment, limit, factor, place))]
        if len(rungs) == len(factors) and all(affordable(rung) for rung in rungs):
            return (experiment, *rungs)
    return (experiment,)


def check_sizes(most: int) -> int:
    """That number of sizes, if there are so many."""
    if not isinstance(most, int) or most not in _FACTORS:
        raise InvalidParameter("sizes", most, f"1, 2 or {MOST_SIZES}")
    return most


def _scaled(experiment: Experiment, limit: str, factor: float, place: int) -> Experiment | None:
    """The experiment at so many times its size, the `place`-th other one; None: too small, or not known."""
    grown = experiment.learner.grown(experiment.student, experiment.dim, factor, limit)
    if grown is None:
        return None
    plan, samples = experiment.plan, experiment.samples
    samples = None if samples is None else round(grown.samples * samples)
    dim = experiment.dim if limit == "samples" else round(factor * experiment.dim)
    if limit == "samples":
        if samples is None or samples < _LEAST_RATIO * dim:
            return None
    elif dim < max(_LEAST_DIM, 4 * experiment.target.rank):
        return None
    one_pass = experiment.learner.clock == "one-pass"
    return replace(
        experiment,
        learner=grown.learner,
        student=grown.student,
        dim=dim,
        samples=samples,
        times=tuple(step / plan.unit for step in plan.steps) if one_pass else experiment.times,
        seeds=tuple((seed + place * _SEED_SHIFT) % ALL_SEEDS for seed in experiment.seeds),
    )


def affordable(experiment: Experiment) -> bool:
    """Whether it fits in memory and takes seconds."""
    try:
        wanted, choice = chosen(experiment, experiment.memory)
    except DoesNotFit:
        return False
    return _work(experiment, wanted, choice.kind) <= _MOST_WORK


def _work(experiment: Experiment, wanted: Demand, kind: str) -> float:
    """Multiplications, roughly: every step reads its rows in the coordinates that the design keeps of them."""
    seeds = len(experiment.seeds)
    if wanted.compared:  # a kernel, factorised
        return float(seeds) * wanted.rows**3
    columns = float(wanted.known + wanted.width * wanted.uses if kind == "virtual" else wanted.dim) + wanted.row_work
    steps = experiment.plan.steps[-1] if experiment.learner.clock == "one-pass" else wanted.uses
    return steps * max(_LEAST_STEP, seeds * wanted.rows * columns) + seeds * wanted.fit_work
