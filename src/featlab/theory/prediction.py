"""The door: an experiment -> the labelled dataset of order parameters that theory predicts."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

import featlab
from featlab.errors import InvalidParameter, or_meant
from featlab.experiments.experiment import Experiment, as_experiment
from featlab.experiments.labels import with_labels
from featlab.experiments.text import RUN_ONLY
from featlab.gaussian.hermite import Floats
from featlab.learners.protocol import Learner, Student
from featlab.learners.registry import learner_class, learner_name, load_object, load_plugin, own_learners, plugins
from featlab.learners.students import TwoLayer
from featlab.outcome import Outcome
from featlab.progress import progress_bar
from featlab.results import QUANTITIES, attributes
from featlab.targets import Isotropic, Spiked, Target
from featlab.theory.derived import with_derived
from featlab.theory.question import NoPrediction, Prediction, Predictor, Question, Starts
from featlab.theory.starts import estimate_starts, no_starts, student_starts, tied_network_starts, wide_starts

GROUP = "featlab.predictors"
# Beyond these, the powers of numbers that predictions take are no floats any more; d and n are divided by each other.
_SMALLEST, _LARGEST, _LARGEST_COUNT = 1e-30, 1e20, 1e40
_TYPICAL = (
    " It starts from overlaps of size 1/sqrt(d), as a random start has them; here those of the first neuron are "
    "positive, in a run they have any sign."
)
_GAUSSIAN = (Isotropic, Spiked)
# Class of learners -> module and function of this package, where it starts, and for which inputs. Nothing is imported
# until it is asked.
_OWN: dict[str, tuple[str, Starts, tuple[type, ...]]] = {
    "OnlineSgd": ("online.predictor:predict_online", student_starts, (Isotropic,)),
    "Extragradient": ("online.predictor:predict_online", student_starts, (Isotropic,)),
    "ReusedBatch": ("reuse.predictor:predict_reuse", student_starts, (Isotropic,)),
    "GiantSteps": ("giant.overlaps:predict_giant", student_starts, (Isotropic,)),
    "Readout": ("giant.readout:predict_readout", wide_starts, (Isotropic,)),
    "BayesAmp": ("bayes.predictor:predict_amp", estimate_starts, (Isotropic,)),
    "KernelRidge": ("kernels.predictor:predict_kernel_ridge", no_starts, _GAUSSIAN),
    "SphericalFlow": ("flows.predictor:predict_flow", student_starts, _GAUSSIAN),
    "NormalisedFlow": ("flows.predictor:predict_flow", student_starts, _GAUSSIAN),
    "PreprocessedStep": ("preprocessed_step:predict_preprocessed", student_starts, (Isotropic,)),
    "Layerwise": ("depth.predictor:predict_layerwise", no_starts, (Isotropic,)),
    "SlicedInverseRegression": ("reduction.predictor:predict_sir", no_starts, (Isotropic,)),
    "SlicedAverageVariance": ("reduction.predictor:predict_save", no_starts, (Isotropic,)),
    "PrincipalHessian": ("reduction.predictor:predict_phd", no_starts, (Isotropic,)),
    "SpectralEstimator": ("reduction.predictor:predict_spectral", no_starts, (Isotropic,)),
    "TiedFlow": ("tied.predictor:predict_tied", tied_network_starts, (Isotropic,)),
}
# What predicts from many starts for less.
_EACH = {"online.predictor:predict_online": "online.many:predict_each"}

# Class of learners -> why nothing here predicts it, and what could be asked instead.
_UNKNOWN = {
    "SignSgd": "a sign of every coordinate turns with the axes, so that overlaps and norms do not tell what happens "
    "next; simulate it, or ask online-sgd, the same step without the sign",
    "Adam": "a division of every coordinate by its own past turns with the axes, so that overlaps and norms do not "
    "tell what happens next; simulate it, or ask online-sgd",
    "LangevinDynamics": "its mean field is a law on R^(d+2) that the n labels of the batch shape, which closes in no "
    "few order parameters; featlab.theory.parity_bounds says how many samples and steps suffice, or simulate it",
}


def predict(
    target: Experiment | Target | str,
    learner: Learner | None = None,
    *,
    dim: int | None = None,
    samples: int | None = None,
    times: Sequence[float] | None = None,
    student: Student | None = None,
    start: xr.Dataset | None = None,
    observe: str | Iterable[str] | None = None,
    **of_runs: object,
) -> xr.Dataset:
    """Predict the order parameters of a student that learns a target from Gaussian inputs, as d goes to infinity.

    Args:
        target: an `Experiment`; or a `Target` (or its text) with a learner and the other parts of an experiment:
        learner, dim, samples, times, student: as in `featlab.simulate`. The dimension enters through step sizes,
            through samples / d and steps / d, and through the size 1/sqrt(d) of overlaps at a random start.
        start: None, the typical start of the student as described; or a simulation of the same student that observes
            what `Experiment.needs_start` names at time 0: one prediction from the start of each of its seeds.
        observe: which quantities, names of `featlab.results.QUANTITIES`; None, all that the theory tells. What is not
            asked for is not computed where that spares time.
        of_runs: seeds, key, design, dtype, memory or progress, as a simulation takes them: ignored, with a warning.

    Returns:
        A dataset with the names and axes of a simulation: time, neuron, direction, ... and `seed` if the start has
        seeds; `<name>_error` beside a value whose numerical error is worth stating; `outcome`, a value of
        `featlab.Outcome`; attributes `words` (which limit this is), `remedy`, and where it came from.

    Raises:
        NoPrediction: no theory here answers it; the message says which part, and what could be asked instead.
        InvalidParameter: a value out of range.

    Examples:
        >>> import featlab
        >>> learner = featlab.OnlineSgd(step_size=0.01)
        >>> student = featlab.TwoLayer(start="orthogonal")
        >>> prediction = featlab.predict("tanh(h1)", learner, dim=100, times=[0, 1, 2], student=student)
        >>> prediction["overlap"].values[:, 0, 0].round(3).tolist()
        [0.0, 0.238, 0.383]
    """
    _ignore(of_runs)
    given = {"dim": dim, "samples": samples, "times": times, "student": student, "observe": observe}
    return predict_experiment(as_experiment(target, learner, given), start)


def _ignore(of_runs: Mapping[str, object]) -> None:
    """Warn of arguments that only a simulation has; refuse what none has."""
    for name in of_runs:
        if name not in (*RUN_ONLY, "progress"):
            raise TypeError(f"predict() got an unexpected keyword argument {name!r}")
    if of_runs:
        warnings.warn(f"{', '.join(of_runs)} ignored: a prediction has no runs and no data", stacklevel=3)


def predict_experiment(
    experiment: Experiment, start: xr.Dataset | None = None, progress: bool | None = False, draft: bool = False
) -> xr.Dataset:
    """What theory says of an experiment; `progress` as in a simulation.

    A draft is for a picture that moves: by the same equations, to about a hundredth of the picture, with no stated
    errors and the attribute `draft`. Who is quick without gives the whole prediction instead.
    """
    predictor, question = _asked_of(experiment, draft)
    seeds, starts = zip(*predictor.starts(question, start), strict=True)
    show = sys.stderr.isatty() if progress is None else progress
    with progress_bar(show, "predicting", len(starts)) as advance:
        answers = {}
        for seed, answer in zip(seeds, predictor.answers(question, starts), strict=True):
            answers[seed] = answer
            advance(1)
    about = _provenance(question, answers)
    if start is None and isinstance(experiment.student, TwoLayer) and experiment.needs_start:
        about["words"] += _TYPICAL
    return _dataset(question, answers, experiment.plan.unit).assign_attrs(about)


def check_prediction(experiment: Experiment) -> None:
    """Refuse what would be refused without computing anything: learners and inputs without a theory, names that mean
    nothing, a start that is left to chance."""
    for name in experiment.observe or ():
        if name not in QUANTITIES:
            raise InvalidParameter("observe", name, f"names among {', '.join(QUANTITIES)}{or_meant(name, QUANTITIES)}")
    predictor, question = _asked_of(experiment)
    next(iter(predictor.starts(question, None)))


def _asked_of(experiment: Experiment, draft: bool = False) -> tuple[Predictor, Question]:
    """Who predicts an experiment, and what it is asked."""
    for name, value in experiment.numbers():
        largest = _LARGEST_COUNT if isinstance(value, int) else _LARGEST
        if value and not _SMALLEST <= abs(value) <= largest:
            expected = f"0, or in size from {_SMALLEST:.0e} to {largest:.0e}: a prediction takes powers of it"
            raise InvalidParameter(name, value, expected)
    predictor, of = predictor_of(experiment.learner), experiment.concrete
    if not isinstance(of.inputs, predictor.inputs):
        kinds = " or ".join(law.__name__ for law in predictor.inputs)
        raise NoPrediction(f"got {of.inputs!r}; this prediction is for {kinds}; simulate it instead")
    names = None if experiment.observe is None else frozenset(experiment.observe)
    steps = np.array(experiment.plan.steps, dtype=np.int64)
    settings = experiment.student, experiment.dim, experiment.samples
    return predictor, Question(of, experiment.learner, *settings, steps, names, draft)


def predictor_of(learner: Learner) -> Predictor:
    """What predicts a learner: of this package, or of another one by an entry point of the group featlab.predictors.

    The name of the entry point is that of the learner on command lines (`module:Class` for one without a name).
    """
    kind = type(learner)
    if kind.__module__.startswith("featlab.") and kind.__name__ in _OWN:
        reference, starts, inputs = _OWN[kind.__name__]
        each = load_object(f"featlab.theory.{_EACH[reference]}", "learner") if reference in _EACH else None
        return Predictor(load_object(f"featlab.theory.{reference}", "learner"), starts, inputs, each)
    others = plugins(GROUP)
    point = others.get(learner_name(kind))
    if point is None:
        raise NoPrediction(_no_theory(kind, [*map(_named, _OWN), *others]))
    predictor = load_plugin(point)
    if not isinstance(predictor, Predictor):
        raise InvalidParameter(GROUP, point.value, "a Predictor(predict, starts, inputs)")
    return predictor


def _no_theory(kind: type, known: list[str]) -> str:
    """Why a learner is not predicted, by its name on command lines; of one that is not ours, which are."""
    name = learner_name(kind)
    if kind.__module__.startswith("featlab.") and kind.__name__ in _UNKNOWN:
        return f"{name}: no theory known, because {_UNKNOWN[kind.__name__]}"
    where = f"an entry point of {GROUP} with its name would bring one"
    return f"{name}: no theory known here, and {where}; predicted are {', '.join(known)}"


def _named(kind: str) -> str:
    """The name on command lines of a class of ours; its own where it has none."""
    return next((name for name in own_learners() if learner_class(name).__name__ == kind), kind)


def _dataset(question: Question, answers: Mapping[int | None, Prediction], unit: float) -> xr.Dataset:
    """One answer without a seed, or one for each seed, side by side. An error that only some state is 0 for others."""
    seeds = [seed for seed in answers if seed is not None]
    lead: tuple[str, ...] = ("seed",) if seeds else ()
    # As in a simulation, the spectrum of W is told only where it is asked for.
    spectrum = question.names is not None and question.asks("spectrum")
    derived = [with_derived(answer.values, answer.errors, spectrum) for answer in answers.values()]
    labelled = [_asked(question, one) for one in derived]
    data: dict[str, Any] = {}
    for name in dict.fromkeys(name for one in labelled for name in one):
        plain = name.removesuffix("_error")
        axes = QUANTITIES[plain][0]
        told = [one.get(name, np.zeros_like(one[plain])) for one in labelled]
        values = np.stack(told) if seeds else told[0]
        data[name] = ((*lead, "time", *axes), values, attributes(name))
    outcomes = [answer.outcome.value for answer in answers.values()]
    data["outcome"] = (lead, np.array(outcomes if seeds else outcomes[0]))
    coordinates: dict[str, Any] = {"time": question.steps / unit, "step": ("time", question.steps)}
    coordinates |= {"seed": seeds} if seeds else {}
    return with_labels(xr.Dataset(data, coords=coordinates), question.learner.clock)


def _asked(question: Question, values: dict[str, Floats]) -> dict[str, Floats]:
    """Those that were asked for, with their errors."""
    if question.names is None:
        return values
    unknown = sorted(question.names - values.keys())
    if unknown:
        told = [name for name in values if not name.endswith("_error")]
        expected = f"names among {', '.join(told)}, which this prediction tells{or_meant(unknown[0], told)}"
        raise InvalidParameter("observe", unknown[0], expected)
    return {name: value for name, value in values.items() if name.removesuffix("_error") in question.names}


def _provenance(question: Question, answers: Mapping[int | None, Prediction]) -> dict[str, Any]:
    worst = next(
        (answer for answer in answers.values() if answer.outcome is not Outcome.OK), next(iter(answers.values()))
    )
    return {
        "words": worst.words,
        "outcome": worst.outcome.value,
        "remedy": worst.remedy,
        "limit": worst.limit,
        "describes": "end" if any(answer.describes == "end" for answer in answers.values()) else "path",
        "target": question.target.text,
        "noise": question.target.noise,
        "learner": repr(question.learner),
        "student": "none" if question.student is None else repr(question.student),
        "dim": question.dim,
        "samples": -1 if question.samples is None else question.samples,
        "featlab": featlab.__version__,
        **({"draft": True} if any(answer.draft for answer in answers.values()) else {}),
    }
