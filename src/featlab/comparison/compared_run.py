"""Theory and simulation of one question, each computed without the other, and compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import xarray as xr

from featlab.comparison.agreement import Comparison, compare
from featlab.comparison.quantity import FiniteSize
from featlab.learners.amp import BayesAmp
from featlab.learners.flows import SphericalFlow
from featlab.learners.tied import TiedFlow
from featlab.results import ESTIMATE_START, START, TIED_START
from featlab.simulation.observe import DEFAULT
from featlab.simulation.simulator import simulate
from featlab.targets import Isotropic, Target
from featlab.theory.prediction import predict
from featlab.theory.starts import is_certain


@dataclass(frozen=True)
class ComparedRun:
    """A prediction, the simulation of the same, and how they compare."""

    prediction: xr.Dataset
    simulation: xr.Dataset
    comparison: Comparison


def predict_and_simulate(
    target: Target | str,
    learner: Any,
    *,
    dim: int,
    samples: int | None = None,
    times: Sequence[float] | None = None,
    student: Any = None,
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
    kind = learner.student_kind
    certain = is_certain(learner, kind() if student is None and kind is not None else student)
    beside = _beside(learner, target)
    certain = certain and not beside
    sizes: dict[str, Any] = {"dim": dim, "samples": samples, "times": times, "student": student}
    if certain:  # what cannot be predicted is refused before anything is simulated
        prediction = predict(target, learner, **sizes)
    elif times is not None:
        sizes["times"] = sorted({0.0, *map(float, times)})
    needed = () if certain else (*_needed(learner), *beside)
    # A learner that has no student and starts from nothing, such as a kernel, has other quantities than the usual ones.
    usual = None if certain and kind is None else (*DEFAULT, *(name for name in needed if name not in DEFAULT))
    run = simulate(target, learner, **sizes, seeds=seeds, key=key, design=design, observe=usual, progress=progress)
    if not certain:
        prediction = predict(target, learner, **sizes, start=run)
    return ComparedRun(prediction, run, compare(prediction, run, names=names, allowance=allowance, signless=signless))


def _beside(learner: Any, target: Target | str) -> tuple[str, ...]:
    """What else, for a flow under a spike: where it starts along the spike is left to chance by every description."""
    spiked = isinstance(target, Target) and not isinstance(target.inputs, Isotropic)
    return ("spike_overlap",) if spiked and isinstance(learner, SphericalFlow) else ()


def _needed(learner: Any) -> tuple[str, ...]:
    """What a prediction must know of the start of a simulation."""
    if isinstance(learner, TiedFlow):
        return TIED_START
    return ESTIMATE_START if isinstance(learner, BayesAmp) else START
