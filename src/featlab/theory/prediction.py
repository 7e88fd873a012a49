"""The door: a target, a learner, a dimension -> the labelled dataset of order parameters that theory predicts."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

import featlab
from featlab.errors import InvalidParameter
from featlab.gaussian.hermite import Floats
from featlab.learners.amp import BayesAmp
from featlab.learners.checks import positive_integer
from featlab.learners.readout import Readout
from featlab.learners.schedule import schedule
from featlab.learners.tied import TiedFlow
from featlab.results import ESTIMATE_START, QUANTITIES
from featlab.targets import Isotropic, Target
from featlab.targets import target as make_target
from featlab.theory.bayes.predictor import amp_start
from featlab.theory.question import NoPrediction, Prediction, Question, Start
from featlab.theory.starts import lawful_start, simulated_starts, typical_start
from featlab.theory.tied.starts import TiedStart, tied_starts

Predictor = Callable[[Question, Any], Prediction]

# Learner -> (module of this package, function). Nothing is imported until it is asked.
_PREDICTORS: dict[str, tuple[str, str]] = {
    "OnlineSgd": ("online.predictor", "predict_online"),
    "Extragradient": ("online.predictor", "predict_online"),
    "ReusedBatch": ("reuse.predictor", "predict_reuse"),
    "GiantSteps": ("giant.overlaps", "predict_giant"),
    "Readout": ("giant.readout", "predict_readout"),
    "BayesAmp": ("bayes.predictor", "predict_amp"),
    "KernelRidge": ("kernels.predictor", "predict_kernel_ridge"),
    "SphericalFlow": ("flows.predictor", "predict_flow"),
    "NormalisedFlow": ("flows.predictor", "predict_flow"),
    "TiedFlow": ("tied.predictor", "predict_tied"),
}
# Those that say themselves which inputs they are for; the others are for isotropic ones.
_OTHER_INPUTS: tuple[str, ...] = ("KernelRidge", "SphericalFlow", "NormalisedFlow")


def predict(
    target: Target | str,
    learner: Any,
    *,
    dim: int,
    samples: int | None = None,
    times: Sequence[float] | None = None,
    student: Any = None,
    start: xr.Dataset | None = None,
    observe: Iterable[str] | None = None,
) -> xr.Dataset:
    """Predict the order parameters of a student that learns a target from Gaussian inputs, as d goes to infinity.

    Args:
        target, learner, dim, samples, times, student: as in `featlab.simulate`. The dimension enters through step
            sizes, through samples / d and steps / d, and through the size 1/sqrt(d) of overlaps at a random start.
        start: None, the typical start of the student as described; or a simulation of the same student that observes
            overlap, gram, second_layer and biases at time 0: one prediction from the start of each of its seeds.
        observe: which quantities, names of `featlab.results.QUANTITIES`; None, all that the theory tells. What is not
            asked for is not computed where that spares time.

    Returns:
        A dataset with the names and axes of a simulation: time, neuron, direction, ... and `seed` if the start has
        seeds; `<name>_error` beside a value whose numerical error is worth stating; `outcome` ("ok", or in a word what
        went wrong); attributes `words` (which limit this is), `remedy`, and where it came from.

    Raises:
        NoPrediction: no theory here answers it; the message says which part, and what could be asked instead.
        InvalidParameter: a value out of range.
    """
    of = (target if isinstance(target, Target) else make_target(target)).at(positive_integer("dim", dim))
    predictor = _predictor(learner)
    kind, name = learner.student_kind, type(learner).__name__
    if student is not None and (kind is None or not isinstance(student, kind)):
        expected = f"None: {name} has none" if kind is None else f"a {kind.__name__}, which is what {name} trains"
        raise InvalidParameter("student", student, expected)
    network = kind() if student is None and kind is not None else student
    if not isinstance(of.inputs, Isotropic) and name not in _OTHER_INPUTS:
        raise NoPrediction(f"inputs {of.inputs!r}: predictions are for isotropic inputs; simulate it instead")
    if dim < of.rank:
        raise InvalidParameter("dim", dim, f"at least {of.rank}, the number of the target's directions")
    plan = schedule(learner, int(dim), samples, times)
    names = None if observe is None else frozenset([observe] if isinstance(observe, str) else observe)
    question = Question(of, learner, network, int(dim), samples, np.array(plan.steps, dtype=np.int64), names)
    starts = dict(_starts(question, start))
    answers = {seed: predictor(question, one) for seed, one in starts.items()}
    return _dataset(question, answers, plan.unit).assign_attrs(_provenance(question, answers))


def _starts(question: Question, start: xr.Dataset | None) -> Iterator[tuple[int | None, Start | TiedStart]]:
    """(None, the described start), or (seed, its start) for every simulated seed."""
    student, rank = question.student, question.target.rank
    if isinstance(question.learner, BayesAmp):
        if start is None:
            yield None, amp_start(question.learner, rank, question.dim)
        else:
            yield from simulated_starts(start, rank, rank, ESTIMATE_START)
    elif isinstance(question.learner, TiedFlow):
        yield from tied_starts(start)
    elif student is None:
        if start is not None:
            raise InvalidParameter("start", "a dataset", f"None: {type(question.learner).__name__} starts from nothing")
        yield None, Start(np.zeros((0, rank)), np.zeros((0, 0)), np.zeros(0), np.zeros(0))
    elif start is not None:
        yield from simulated_starts(start, student.width, rank)
    elif isinstance(question.learner, Readout):
        yield None, lawful_start(student, rank, question.dim)
    else:
        yield None, typical_start(student, rank, question.dim)


def _predictor(learner: Any) -> Predictor:
    kind = type(learner).__name__
    if kind not in _PREDICTORS:
        raise NoPrediction(f"no theory here predicts {kind}; it does for {', '.join(_PREDICTORS)}")
    module, function = _PREDICTORS[kind]
    return getattr(importlib.import_module(f"featlab.theory.{module}"), function)


def _dataset(question: Question, answers: Mapping[int | None, Prediction], unit: float) -> xr.Dataset:
    """One answer without a seed, or one for each seed, side by side."""
    seeds = [seed for seed in answers if seed is not None]
    lead: tuple[str, ...] = ("seed",) if seeds else ()
    labelled = [_asked(question, _with_derived(answer)) for answer in answers.values()]
    data: dict[str, Any] = {}
    for name in labelled[0]:
        plain = name.removesuffix("_error")
        axes, meaning = QUANTITIES[plain]
        words = meaning if plain == name else f"numerical error of {plain}"
        values = np.stack([one[name] for one in labelled]) if seeds else labelled[0][name]
        data[name] = ((*lead, "time", *axes), values, {"meaning": words})
    outcomes = [answer.outcome for answer in answers.values()]
    data["outcome"] = (lead, np.array(outcomes if seeds else outcomes[0]))
    coordinates: dict[str, Any] = {"time": question.steps / unit, "step": ("time", question.steps)}
    return xr.Dataset(data, coords=coordinates | ({"seed": seeds} if seeds else {}))


def _asked(question: Question, values: dict[str, Floats]) -> dict[str, Floats]:
    """Those that were asked for, with their errors."""
    if question.names is None:
        return values
    unknown = sorted(question.names - values.keys())
    if unknown:
        told = ", ".join(name for name in values if not name.endswith("_error"))
        raise InvalidParameter("observe", unknown[0], f"names among {told}, which this prediction tells")
    return {name: value for name, value in values.items() if name.removesuffix("_error") in question.names}


def _with_derived(answer: Prediction) -> dict[str, Floats]:
    """What was predicted, its errors, and what follows from overlaps and norms."""
    values = dict(answer.values)
    if "overlap" in values and "gram" in values:
        overlap, norm = values["overlap"], np.sqrt(np.diagonal(values["gram"], axis1=1, axis2=2))
        cosine = overlap / norm[:, :, None]
        values.setdefault("norm", norm)
        values.setdefault("cosine", cosine)
        if "subspace" not in values:
            values["subspace"] = _singular_values(cosine)
    errors = {f"{name}_error": error for name, error in answer.errors.items()}
    return values | errors


def _singular_values(cosine: Floats) -> Floats:
    """Those of the matrix of cosines over sqrt(p), at each time; NaN where it is not finite."""
    steps, width, rank = cosine.shape
    values = np.full((steps, min(width, rank)), np.nan)
    sound = np.all(np.isfinite(cosine), axis=(1, 2))
    values[sound] = np.linalg.svd(cosine[sound] / np.sqrt(width), compute_uv=False)
    return values


def _provenance(question: Question, answers: Mapping[int | None, Prediction]) -> dict[str, Any]:
    worst = next((answer for answer in answers.values() if answer.outcome != "ok"), next(iter(answers.values())))
    return {
        "words": worst.words,
        "outcome": worst.outcome,
        "remedy": worst.remedy,
        "target": question.target.text,
        "noise": question.target.noise,
        "learner": repr(question.learner),
        "student": "none" if question.student is None else repr(question.student),
        "dim": question.dim,
        "samples": -1 if question.samples is None else question.samples,
        "featlab": featlab.__version__,
    }
