"""What full-batch steps on a reused batch do in the limit d -> infinity at n = alpha d (Dandi et al. 2024).

The recursion is in `dmft`. Its averages are taken by quadrature where few dimensions allow it (one neuron's first
two or three steps, fresh batches), by randomised Sobol points beyond; either way with a stated error.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from featlab.errors import InvalidParameter
from featlab.gaussian.activations import activation
from featlab.gaussian.hermite import Floats
from featlab.learners.reuse import ReusedBatch
from featlab.learners.steps import step_at
from featlab.outcome import Outcome
from featlab.targets.inputs import Isotropic
from featlab.theory.question import NoPrediction, Prediction, Question, Start
from featlab.theory.reuse.dmft import Descent, Path, frame, walk
from featlab.theory.reuse.points import Quadrature, SobolPoints

_PANELS = (-2.5, -1.0, 0.0, 1.0, 2.5)
# From fine to coarse: nodes on an axis of the link, of the label's noise, of a new axis; cuts of a new axis. Each is
# coarser than the one before on every axis, or their difference would not see the error of that axis.
_RESOLUTIONS = (
    ((24, 12, 12), _PANELS),
    ((16, 9, 8), _PANELS),
    ((12, 7, 6), _PANELS),
    ((9, 5, 5), (-1.5, 0.0, 1.5)),
)
_MOST_POINTS = 1_200_000
_MOST_AXES = 600
# Quadrature that is worse than this in an overlap is weighed against sampling.
_GOOD_ENOUGH = 2e-4
SAMPLES = 2**14
REPEATS = 16


@dataclass(frozen=True, eq=False)
class Estimate:
    """Order parameters, their numerical errors, and how they were computed."""

    path: Path
    errors: Path
    method: str

    @property
    def worst(self) -> float:
        """The largest error of an overlap (NaN if the descent diverged)."""
        return float(np.max(self.errors.overlap))


def by_quadrature(descent: Descent, overlap: Floats, gram: Floats, steps: Iterable[int], uses: int) -> Estimate | None:
    """The order parameters after `steps`, each batch used `uses` times, by quadrature; None where it is not affordable.

    The error is the difference between the rule and a coarser one.
    """
    steps = sorted(set(steps))
    _, axes = frame(overlap, gram)
    axes += (min(uses, max(steps[-1], 1)) - 1) * len(overlap)
    rules = [_rule(descent, *resolution) for resolution in _RESOLUTIONS]
    for fine, coarse in pairwise(rules):
        if fine.points(axes) <= _MOST_POINTS:
            path, rough = (walk(descent, rule, overlap, gram, steps, uses) for rule in (fine, coarse))
            return Estimate(path, _distance(path, rough), "by quadrature")
    return None


def by_sampling(
    descent: Descent,
    overlap: Floats,
    gram: Floats,
    steps: Iterable[int],
    uses: int,
    *,
    samples: int = SAMPLES,
    repeats: int = REPEATS,
) -> Estimate:
    """The same by `repeats` independent scramblings of `samples` Sobol points, the whole recursion run on each: their
    mean, and its standard error. The random numbers are always the same. `samples` must be a power of 2."""
    steps = sorted(set(steps))
    paths = []
    for repeat in range(repeats):
        generator = np.random.default_rng([*b"reused batch", repeat])
        paths.append(walk(descent, SobolPoints(descent.target, samples, generator), overlap, gram, steps, uses))
    parts = [np.array([getattr(path, name) for path in paths]) for name in ("overlap", "gram", "risk")]
    mean = Path(*(part.mean(axis=0) for part in parts))
    error = Path(*(part.std(axis=0, ddof=1) / np.sqrt(repeats) for part in parts))
    return Estimate(mean, error, f"by {repeats} x {samples:,} Sobol points")


def estimate(descent: Descent, overlap: Floats, gram: Floats, steps: Iterable[int], uses: int) -> Estimate:
    """The order parameters by the more accurate of the two methods."""
    steps = sorted(set(steps))
    exact = by_quadrature(descent, overlap, gram, steps, uses)
    if exact is not None and not exact.worst > _GOOD_ENOUGH:
        return exact
    sampled = by_sampling(descent, overlap, gram, steps, uses)
    return sampled if exact is None or sampled.worst < exact.worst else exact


def predict_reuse(question: Question, start: Start) -> Prediction:
    """The order parameters of a `ReusedBatch` learner as d -> infinity at n/d = samples/dim.

    Raises:
        InvalidParameter: without a number of samples in a batch.
        NoPrediction: for inputs that are not isotropic, and for students too wide for so many steps on one batch.
    """
    learner = question.learner
    descent = describe(question, start)
    axes = len(start.overlap) * min(learner.uses, int(question.steps[-1]))
    if axes > _MOST_AXES:
        raise NoPrediction(
            f"{len(start.overlap)} neurons and {learner.uses} steps on one batch make {axes} directions, and the "
            f"recursion takes {_MOST_AXES} at most; ask for earlier times, fewer neurons, or a smaller steps_per_batch"
        )
    found = estimate(descent, start.overlap, start.gram, question.steps.tolist(), learner.uses)
    parts = ("overlap", "gram", "risk")
    diverged = bool(np.any(np.isnan(found.path.risk)))
    return Prediction(
        values={name: getattr(found.path, name) for name in parts},
        errors={name: getattr(found.errors, name) for name in parts},
        words=(
            f"Dynamical mean field of full-batch steps at n/d = {descent.ratio:g}, {found.method}; it neglects the "
            "fluctuations of a finite d, of order 1/sqrt(d) in a single run."
        ),
        outcome=Outcome.DIVERGED if diverged else Outcome.OK,
        remedy="the norm of a neuron exceeds 1e6: take a smaller step_size or a constraint" if diverged else "",
    )


def describe(question: Question, start: Start) -> Descent:
    """The descent that a question is about."""
    target, learner = question.target, question.learner
    if not isinstance(learner, ReusedBatch):
        raise NoPrediction(f"the recursion of a reused batch is for ReusedBatch, not for {learner!r}")
    if not isinstance(target.inputs, Isotropic):
        raise NoPrediction(f"batch reuse is solved for isotropic inputs only, not for {target.inputs!r}; simulate it")
    if question.samples is None:
        raise InvalidParameter("samples", None, "the number n of samples in a batch")
    return Descent(
        target=target,
        activation=activation(question.student.activation),
        second=start.second,
        biases=start.biases,
        step=step_at(learner.step_size, question.dim),
        ratio=question.samples / question.dim,
        loss=learner.loss,
        constraint=learner.constraint,
        norm=question.student.norm,
    )


def _rule(descent: Descent, nodes: tuple[int, int, int], panels: tuple[float, ...]) -> Quadrature:
    kinks = np.array(descent.activation.kinks)[None, :] - descent.biases[:, None]
    return Quadrature(descent.target, kinks, nodes, panels)


def _distance(one: Path, other: Path) -> Path:
    return Path(*(np.abs(getattr(one, name) - getattr(other, name)) for name in ("overlap", "gram", "risk")))
