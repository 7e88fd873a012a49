"""Theory and simulation of one question, each computed without the other, and compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import xarray as xr

from featlab.comparison.agreement import Comparison, compare
from featlab.comparison.quantity import FiniteSize
from featlab.experiments.experiment import Experiment, as_experiment
from featlab.learners.protocol import Learner, Student
from featlab.simulation.observe import DEFAULT
from featlab.simulation.simulator import simulate
from featlab.targets import Target
from featlab.theory.prediction import predict


@dataclass(frozen=True)
class ComparedRun:
    """A prediction, the simulation of the same, and how they compare."""

    prediction: xr.Dataset
    simulation: xr.Dataset
    comparison: Comparison


def predict_and_simulate(
    target: Experiment | Target | str,
    learner: Learner | None = None,
    *,
    dim: int | None = None,
    samples: int | None = None,
    times: Sequence[float] | None = None,
    student: Student | None = None,
    seeds: int | Iterable[int] = 10,
    key: int = 0,
    design: str = "auto",
    names: Sequence[str] | None = None,
    allowance: FiniteSize | float | None = None,
    signless: bool = False,
    progress: bool | None = None,
) -> ComparedRun:
    """Predict, simulate and compare.

    A student whose start leaves something to chance is predicted from the start of each simulated seed, and the seeds
    are paired; otherwise there is one prediction for all.

    Args: as for `featlab.predict`, `featlab.simulate` and `featlab.compare`.
    """
    given = {"dim": dim, "samples": samples, "times": times, "student": student}
    experiment = as_experiment(target, learner, {**given, "seeds": seeds, "key": key, "design": design})
    needed = experiment.needs_start
    if needed:
        if experiment.times is not None:
            experiment = replace(experiment, times=tuple(sorted({0.0, *map(float, experiment.times)})))
        observe = (*DEFAULT, *(name for name in needed if name not in DEFAULT))
        run = simulate(replace(experiment, observe=observe), progress=progress)
        prediction = predict(experiment, start=run)
    else:  # what cannot be predicted is refused before anything is simulated
        prediction = predict(experiment)
        # A kernel, or layers trained one after the other, has other quantities than the usual.
        usual = DEFAULT if experiment.student is not None and any(name in prediction for name in DEFAULT) else None
        run = simulate(replace(experiment, observe=usual), progress=progress)
    return ComparedRun(prediction, run, compare(prediction, run, names=names, allowance=allowance, signless=signless))
