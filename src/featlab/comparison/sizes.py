"""The sizes at which a run is measured to find its limit: by default d, 4d and 16d, all else in proportion.

What a prediction holds fixed is held fixed: samples / d (samples / d^l for giant steps of leap l), the number of steps
over d and gamma d of one-pass learners, the step of full-batch ones, n : p : d of a fitted second layer. Of a
prediction for n -> infinity at a given d the samples grow instead. Where the larger sizes would take too much work or
memory, smaller ones than asked for are taken; where those would be too small, too, there is one size. What is too much
follows from the sizes and not from a clock, so that the same question is answered the same way everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from featlab.errors import InvalidParameter
from featlab.experiments.experiment import Experiment
from featlab.learners.amp import BayesAmp
from featlab.learners.flows import SphericalFlow
from featlab.learners.giant import GiantSteps
from featlab.learners.kernels import KernelRidge
from featlab.learners.online import Extragradient, OnlineSgd
from featlab.learners.readout import Readout
from featlab.learners.reuse import ReusedBatch
from featlab.learners.spectral_methods import (
    PrincipalHessian,
    SlicedAverageVariance,
    SlicedInverseRegression,
    SpectralEstimator,
)
from featlab.learners.steps import StepLaw, step_at
from featlab.learners.tied import TiedFlow
from featlab.simulation.algorithms import demand
from featlab.simulation.designs.choose import Demand, DoesNotFit, Sizes, choose
from featlab.simulation.designs.spiked import known_axes
from featlab.theory.bayes.channels import closed_form

MOST_SIZES = 3
# The other sizes over the one asked for, in the order of preference.
_FACTORS = {3: ((4.0, 16.0), (0.25, 4.0), (0.25, 0.0625), (4.0,), (0.25,)), 2: ((4.0,), (0.25,)), 1: ()}
# Learners of which it is known what else grows with the dimension.
_REDUCTIONS = (SlicedInverseRegression, SlicedAverageVariance, PrincipalHessian, SpectralEstimator)
_KNOWN = (OnlineSgd, Extragradient, ReusedBatch, GiantSteps, BayesAmp, KernelRidge, Readout, *_REDUCTIONS)
_KNOWN_IN_SAMPLES = (SphericalFlow, TiedFlow)
# A dimension, and samples over dimension, that are no longer large.
_LEAST_DIM, _LEAST_RATIO = 50, 4
# Multiplications that take some ten seconds on two cores; a step of all seeds costs at least so many, and so much an
# iteration of message passing for each sample, with a closed form or a table of its denoiser, and without.
_MOST_WORK, _LEAST_STEP, _DENOISER, _MIXTURE = 3e10, 1e4, 4e3, 5e4
# Seeds of other sizes have other numbers, so that their random numbers are independent.
_SEED_SHIFT, _ALL_SEEDS = 2**24, 2**32


def ladder(experiment: Experiment, limit: str, most: int = MOST_SIZES) -> tuple[Experiment, ...]:
    """The experiment, and the same at other sizes; it alone where there are none.

    Args:
        limit: that of its prediction, one of `featlab.theory.question.LIMITS`.
        most: how many sizes, 1 to 3.
    """
    if most not in _FACTORS:
        raise InvalidParameter("sizes", most, f"1, 2 or {MOST_SIZES}")
    known = _KNOWN_IN_SAMPLES if limit == "samples" else _KNOWN
    if not isinstance(experiment.learner, known):
        return (experiment,)
    for factors in _FACTORS[most]:
        rungs = list(_scaled(experiment, limit, factors))
        if len(rungs) == len(factors) and all(_affordable(rung) for rung in rungs):
            return (experiment, *rungs)
    return (experiment,)


def _scaled(experiment: Experiment, limit: str, factors: tuple[float, ...]) -> Iterator[Experiment]:
    """The experiment at so many times its size; nothing for sizes that are too small."""
    asked = _as_proportions(experiment)
    for place, factor in enumerate(factors, start=1):
        samples = asked.samples
        if limit == "samples":
            if samples is None or factor * samples < _LEAST_RATIO * asked.dim:
                return
            changed: dict[str, Any] = {"samples": round(factor * samples)}
        else:
            dim = round(factor * asked.dim)
            if dim < max(_LEAST_DIM, 4 * asked.target.rank):
                return
            grown = None if samples is None else round(samples * factor ** _power(asked.learner))
            changed = {"dim": dim, "samples": grown, **_of_readout(asked, factor)}
        seeds = tuple((seed + place * _SEED_SHIFT) % _ALL_SEEDS for seed in asked.seeds)
        yield replace(asked, seeds=seeds, **changed)


def _as_proportions(experiment: Experiment) -> Experiment:
    """The same experiment, said so that its ratios stay when the dimension changes: steps and times."""
    learner: Any = experiment.learner
    plan, dim = experiment.plan, experiment.dim
    times = experiment.times
    if learner.clock == "one-pass":
        times = tuple(step / plan.unit for step in plan.steps)
        for name in ("step_size", "inner_step"):
            if hasattr(learner, name):
                learner = replace(learner, **{name: StepLaw(step_at(getattr(learner, name), dim) * dim, 1.0)})
    elif isinstance(learner, ReusedBatch):
        learner = replace(learner, step_size=step_at(learner.step_size, dim))
    return replace(experiment, learner=learner, times=times)


def _power(learner: Any) -> int:
    """samples ~ d^l."""
    inner = learner.first if isinstance(learner, Readout) else learner
    return inner.leap if isinstance(inner, GiantSteps) else 1


def _of_readout(experiment: Experiment, factor: float) -> dict[str, Any]:
    """The samples and the neurons of a fitted second layer."""
    learner: Any = experiment.learner
    if not isinstance(learner, Readout):
        return {}
    student: Any = experiment.student
    fitted = None if learner.samples is None else round(factor * learner.samples)
    return {
        "learner": replace(learner, samples=fitted),
        "student": replace(student, width=round(factor * student.distinct) * (2 if student.paired else 1)),
    }


def _affordable(experiment: Experiment) -> bool:
    """Whether it fits in memory and takes seconds."""
    target, learner, student = experiment.concrete, experiment.learner, experiment.student
    sizes = Sizes(
        experiment.dim, known_axes(target.inputs, target.rank), experiment.samples, np.dtype(experiment.dtype)
    )
    wanted = demand(learner, student, target, sizes)
    try:
        kind = choose(wanted, learner.equivariant, experiment.design, experiment.memory).kind
    except DoesNotFit:
        return False
    return _work(experiment, wanted, kind) <= _MOST_WORK


def _work(experiment: Experiment, wanted: Demand, kind: str) -> float:
    """Multiplications, roughly: every step reads its rows in the coordinates that the design keeps of them."""
    learner, student, seeds = experiment.learner, experiment.student, len(experiment.seeds)
    if wanted.compared:  # a kernel, factorised
        return float(seeds) * wanted.rows**3
    columns = float(wanted.known + wanted.width * wanted.uses if kind == "virtual" else wanted.dim)
    if isinstance(learner, BayesAmp):
        cheap = experiment.target.rank == 1 or closed_form(experiment.target) is not None
        columns += _DENOISER if cheap else _MIXTURE
    steps = experiment.plan.steps[-1] if learner.clock == "one-pass" else wanted.uses
    work = steps * max(_LEAST_STEP, seeds * wanted.rows * columns)
    if isinstance(learner, Readout) and student is not None:
        work += seeds * float(learner.samples or wanted.rows) * student.width**2
    return work
