"""The prediction and the simulation of one question, at the size asked for and at others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from featlab.comparison.sizes import ladder
from featlab.experiments.experiment import Experiment
from featlab.outcome import Outcome
from featlab.simulation.observe import DEFAULT
from featlab.simulation.simulator import simulate
from featlab.theory.prediction import predict_experiment, predictor_of

Pair = tuple[xr.Dataset, xr.Dataset]


def at_sizes(experiment: Experiment, known: xr.Dataset | None, sizes: int, progress: bool | None) -> list[Pair]:
    """(prediction, simulation) of the experiment, and at other sizes where those tell more.

    Args:
        known: what theory says of it, where that is known.
        sizes: at most so many.
    """
    if known is None and sizes > 1 and experiment.needs_start and predictor_of(experiment.learner).each is not None:
        return _from_all_starts(experiment, sizes, progress)
    first = _both(experiment, known, progress)
    return [first, *at_other_sizes(experiment, first, sizes, progress)]


def at_other_sizes(experiment: Experiment, first: Pair, sizes: int, progress: bool | None) -> list[Pair]:
    """(prediction, simulation) at each; what theory has answered is not asked again, and what is the same question but
    for the starts is asked once for the starts of all these sizes."""
    prediction, run = first
    if is_interrupted(run) or prediction.attrs["outcome"] == Outcome.DIVERGED:
        return []
    rungs = ladder(experiment, prediction.attrs["limit"], sizes)[1:]
    same = _same_questions(experiment, rungs, prediction)
    if experiment.needs_start and same:
        return _predicted_together(experiment, _runs_from_starts(rungs, progress), progress)
    pairs: list[Pair] = []
    for rung in rungs:
        pairs.append(_both(rung, prediction if same else None, progress))
        if is_interrupted(pairs[-1][1]):
            break
    return pairs


def _from_all_starts(experiment: Experiment, sizes: int, progress: bool | None) -> list[Pair]:
    """Those of a predictor that answers many starts for less: it is asked once, for the starts of all sizes.

    Which limit it is, and whether it diverges, is told before by a draft from the first of them.
    """
    run = simulate(observing_starts(experiment), progress=progress)
    if not is_interrupted(run):
        draft = predict_experiment(experiment, run.isel(seed=[0]), draft=True)
        rungs = ladder(experiment, draft.attrs["limit"], sizes)[1:]
        if draft.attrs["outcome"] != Outcome.DIVERGED and _same_questions(experiment, rungs, draft):
            return _predicted_together(experiment, [run, *_runs_from_starts(rungs, progress)], progress)
    first = predict_experiment(experiment, run, progress), run
    return [first, *at_other_sizes(experiment, first, sizes, progress)]


def _both(experiment: Experiment, known: xr.Dataset | None, progress: bool | None) -> Pair:
    """Prediction and simulation; what cannot be predicted is refused before anything is simulated, where it can be."""
    if experiment.needs_start:
        run = simulate(observing_starts(experiment), progress=progress)
        return predict_experiment(experiment, run, progress), run
    prediction = predict_experiment(experiment, None, progress) if known is None else known
    # A kernel, or layers trained one after the other, has other quantities than the usual.
    usual = DEFAULT if experiment.student is not None and any(name in prediction for name in DEFAULT) else None
    return prediction, simulate(replace(experiment, observe=experiment.observe or usual), progress=progress)


def _runs_from_starts(rungs: Sequence[Experiment], progress: bool | None) -> list[xr.Dataset]:
    """The simulation of each, up to one that was interrupted."""
    runs: list[xr.Dataset] = []
    for rung in rungs:
        runs.append(simulate(observing_starts(rung), progress=progress))
        if is_interrupted(runs[-1]):
            break
    return runs


def _predicted_together(experiment: Experiment, runs: Sequence[xr.Dataset], progress: bool | None) -> list[Pair]:
    """Each run with what theory says from its starts; the seeds of different sizes have different numbers."""
    starts = xr.concat([run[[*experiment.needs_start]].isel(time=[0]) for run in runs], "seed")
    predictions = predict_experiment(experiment, starts, progress)
    return [(predictions.sel(seed=run["seed"]), run) for run in runs]


def is_interrupted(run: xr.Dataset) -> bool:
    """Whether a seed of it was."""
    return Outcome.INTERRUPTED in run["outcome"].values


def seen_from_the_start(experiment: Experiment) -> Experiment:
    """The experiment, looked at at its start, too, where a prediction has to know that."""
    if not experiment.needs_start or experiment.times is None:
        return experiment
    return replace(experiment, times=tuple(sorted({0.0, *map(float, experiment.times)})))


def observing_starts(experiment: Experiment) -> Experiment:
    """With what a prediction must know of the start among what is measured."""
    observe = tuple(dict.fromkeys((*(experiment.observe or DEFAULT), *experiment.needs_start)))
    return replace(experiment, observe=observe)


def _same_questions(asked: Experiment, rungs: Sequence[Experiment], prediction: xr.Dataset) -> bool:
    """Whether there are any, and theory has answered them already: all ratios on which a limit depends are the same."""
    if prediction.attrs["limit"] != "dimension":
        return False
    return bool(rungs) and all(_ratios(asked) == _ratios(rung) for rung in rungs)


def _ratios(experiment: Experiment) -> tuple[float | None, tuple[float, ...]]:
    """Samples over d, and the times."""
    plan, samples = experiment.plan, experiment.samples
    return None if samples is None else samples / experiment.dim, tuple(np.array(plan.steps) / plan.unit)
