"""A few giant steps as d -> infinity: overlaps, Gram matrix and risk after each step on a fresh batch of n samples.

One step moves neuron i by gamma (1/n) sum_j D_i x_j, D_i = r a_i sigma'(lambda_i + b_i), r = y - f or y. Its mean is a
combination G_i of the target's directions and of the neurons, its fluctuation is spread over all d dimensions, so that

    M <- M + gamma E[D h^T],
    Q <- Q + gamma (E[D lambda^T] + E[lambda D^T]) + gamma^2 ((1 - 1/n) <G_i, G_j> + (d/n) E[D_i D_j]),

up to fluctuations of M of order gamma/sqrt(n) (Dandi et al. 2023, arXiv:2305.18270, who state it for one step to
leading order). A fresh batch makes every step depend on M and Q alone. It holds for every leap l: with gamma ~
d^{(l-1)/2} and n ~ d^l all terms are of order one, provided that M, of order 1/sqrt(d) at the start, is given and not
neglected.

The drift that comes from the label must be right even when it is as small as M^{l-1}: it is integrated exactly over
each neuron's field given h. What comes from the student's own output f is a function of the fields lambda alone, and
E[f sigma' h] = E[f sigma' lambda] Q^{-1} M. Averages over all fields are taken on two scramblings of a Sobol sequence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev

from featlab.errors import MissingParameter
from featlab.gaussian.activations import activation
from featlab.gaussian.activations_integrals import field_moments
from featlab.gaussian.hermite import Floats
from featlab.gaussian.matrices import symmetric_root
from featlab.gaussian.sobol import balanced_normals
from featlab.interruption import check
from featlab.learners.giant import GiantSteps
from featlab.outcome import DIVERGED_NORM, Outcome
from featlab.targets import Target
from featlab.theory.online.averages import Averages, Descent, Path, Student
from featlab.theory.question import NoPrediction, Prediction, Question, Start
from featlab.theory.spikes import label_grid

MOST_NEURONS = 512
_LOG2_POINTS, _DRAFT_LOG2_POINTS = 14, 12
# What may be neglected, as a share: of E[|y| (1 + |h|)], points far out, which are many; of a series, its end.
_NEGLECTED, _DRAFT_NEGLECTED = 1e-14, 1e-6
_DEGREE = 64
_MOST_DEGREE = 2048


def predict_giant(question: Question, start: Start) -> Prediction:
    """The overlaps, the Gram matrix and the risk of a student of `GiantSteps`, from the given start."""
    learner, width = question.learner, start.second.size
    if not isinstance(learner, GiantSteps):
        raise NoPrediction(f"got {learner!r}; this is the prediction of GiantSteps")
    if question.samples is None:
        raise MissingParameter("samples", "the number of samples in a batch")
    if width > MOST_NEURONS:
        raise NoPrediction(f"{width} neurons; giant steps are predicted for at most {MOST_NEURONS}")
    student = Descent(activation(question.student.activation), start.second, start.biases, learner.loss)
    runs = _trajectories(question, student, start)
    middle = Path(*(np.mean(values, axis=0) for values in zip(*runs, strict=True)))
    errors = {} if question.draft else middle.distance(runs[0])._asdict()
    diverged = not all(np.all(np.isfinite(value)) for value in middle)
    words = (
        "Mean and Gram matrix of the neurons after giant steps on fresh batches, as d -> infinity; fluctuations of "
        f"the overlaps, of order {learner.steps_at(question.dim)[-1] / question.samples**0.5:.2g}, are neglected."
    )
    remedy = "the norm of a neuron exceeds 1e6: take a smaller scale, or more samples" if diverged else ""
    outcome = Outcome.DIVERGED if diverged else Outcome.OK
    return Prediction(middle._asdict(), words, errors, outcome, remedy, limit="sizes", draft=question.draft)


def _trajectories(question: Question, student: Student, start: Start) -> list[Path]:
    """One for each scrambling of the fields; a draft has one of fewer points. The label's first drift is the same."""
    rates = question.learner.steps_at(question.dim)[: int(question.steps[-1])]
    neglected = _DRAFT_NEGLECTED if question.draft else _NEGLECTED
    first = label_drift(question.target, student, start.overlap, start.gram, neglected) if len(rates) else None
    runs = []
    for key in (1,) if question.draft else (1, 2):
        overlap, gram, drift, found = start.overlap, start.gram, first, []
        for number in range(int(question.steps[-1]) + 1):
            sound = bool(np.max(np.diag(gram)) < DIVERGED_NORM**2)  # NaN is not sound either
            fields = _fields(question.target, overlap, gram, key, question.draft) if sound else None
            if number in question.steps:
                risk = np.array(fields.risk(student) if fields else np.nan)
                here = (overlap, gram, risk)
                found.append(here if fields else [np.full_like(value, np.nan) for value in here])
            if fields and number < len(rates):
                drift = drift or label_drift(question.target, student, overlap, gram, neglected)
                averages, drift = fields.averages(student, *drift), None
                overlap, gram = step(overlap, gram, averages, rates[number], question.samples or 0, question.dim)
        runs.append(Path(*(np.array(column) for column in zip(*found, strict=True))))
    return runs


def step(
    overlap: Floats, gram: Floats, averages: Averages, rate: float, samples: int, dim: int
) -> tuple[Floats, Floats]:
    """M and Q after one step of size gamma per neuron: the statement of this module."""
    rank = overlap.shape[1]
    basis = np.block([[np.eye(rank), overlap.T], [overlap, gram]])
    projections = np.column_stack([averages.drive, averages.pull])
    means = projections @ np.linalg.pinv(basis, hermitian=True) @ projections.T
    fluctuation = (1 - 1 / samples) * means + dim / samples * averages.noise
    after = gram + rate * (averages.pull + averages.pull.T) + rate**2 * fluctuation
    return overlap + rate * averages.drive, 0.5 * (after + after.T)


@dataclass(frozen=True, eq=False)
class _Fields:
    """Points that stand for labels and fields: y (n,) and its noise, lambda (n, p), weights (n,); M and Q."""

    labels: Floats
    noise: float
    fields: Floats
    weights: Floats
    overlap: Floats
    gram: Floats

    def risk(self, student: Student) -> float:
        """E[(y - f)^2], label noise included."""
        return float(self.weights @ (self.labels - student.output(self.fields)) ** 2) + self.noise

    def averages(self, student: Student, drive: Floats, pull: Floats) -> Averages:
        """Those of one step, of which the label's share of drive and pull is given."""
        output, slopes = student.output(self.fields), student.slopes(self.fields)
        residual = self.labels - output if student.loss == "squared" else self.labels
        noise = (slopes.T * (self.weights * (residual**2 + self.noise))) @ slopes
        if student.loss == "squared":
            own = (slopes.T * (self.weights * output)) @ self.fields
            drive = drive - own @ np.linalg.pinv(self.gram, hermitian=True) @ self.overlap
            pull = pull - own
        risk = float(self.weights @ (self.labels - output) ** 2) + self.noise
        return Averages(drive, pull, noise, risk)


def _fields(target: Target, overlap: Floats, gram: Floats, key: int, draft: bool = False) -> _Fields:
    """On one scrambling of a Sobol sequence."""
    width, rank = overlap.shape
    free = rank + target.hidden
    points, weights = balanced_normals(free + width, _DRAFT_LOG2_POINTS if draft else _LOG2_POINTS, key, free)
    fields = points[:, :rank] @ overlap.T + points[:, free:] @ symmetric_root(gram - overlap @ overlap.T)
    return _Fields(target.link(points[:, :free]), target.noise, fields, weights, overlap, gram)


def step_averages(target: Target, student: Student, overlap: Floats, gram: Floats, key: int) -> Averages:
    """The averages of one step: the label's share of the drift by quadrature, the rest on Sobol points."""
    return _fields(target, overlap, gram, key).averages(student, *label_drift(target, student, overlap, gram))


@lru_cache(maxsize=16)
def _weighted_points(target: Target, neglected: float) -> tuple[Floats, Floats]:
    """Points h (n, r) of a rule for the label, and weight times label (n,), without those that carry next to nothing.

    The lightest are left out as long as together they carry at most that share of E[|y| (1 + |h|)].
    """
    grid = label_grid(target)
    weighted = grid.weights * grid.labels
    carried = np.abs(weighted) * (1 + np.linalg.norm(grid.directions, axis=1))
    lightest = np.argsort(carried, kind="stable")
    sums = np.cumsum(carried[lightest])  # the smallest first, so that rounding is no larger than they are
    kept = np.sort(lightest[np.searchsorted(sums, neglected * sums[-1], side="right") :])
    return np.ascontiguousarray(grid.directions[kept]), weighted[kept]


def label_drift(
    target: Target, student: Student, overlap: Floats, gram: Floats, neglected: float = _NEGLECTED
) -> tuple[Floats, Floats]:
    """a_i E[y sigma'_i h] (p, r) and a_i E[y sigma'_i lambda_j] (p, p), exactly integrated over lambda_i given h.

    Given h, lambda_i = M_i h + s_i z with s_i^2 = Q_ii - |M_i|^2; the others follow by regression on h and lambda_i.
    """
    directions, weighted = _weighted_points(target, neglected)
    spread = np.sqrt(np.maximum(np.diag(gram) - np.sum(overlap**2, axis=1), 0.0))
    drive = np.empty_like(overlap)
    across = np.empty(len(overlap))
    for index, row in enumerate(overlap):
        check()
        mean, tilt = _smoothed_slope(student, index, directions @ row, float(spread[index]), neglected)
        drive[index] = student.second[index] * (weighted * mean) @ directions
        across[index] = student.second[index] * float(weighted @ tilt)  # a E[y sigma' z]
    others = (gram - overlap @ overlap.T) / np.where(spread > 0, spread, 1.0)[:, None]
    return drive, drive @ overlap.T + across[:, None] * others


def _smoothed_slope(
    student: Student, index: int, fields: Floats, spread: float, neglected: float
) -> tuple[Floats, Floats]:
    """E[sigma'] and E[sigma' z] at fields + bias + spread z, z ~ N(0, 1).

    On Chebyshev nodes over the range of the fields: smoothing has made both entire functions of the scale `spread`.
    """
    reach, spread = max(float(np.max(np.abs(fields))), 1e-12), max(spread, 1e-12)
    degree = min(_MOST_DEGREE, _DEGREE + int(16 * reach / spread))
    nodes = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    shifts = reach * nodes + student.biases[index]
    table = field_moments(student.activation.derivative, student.activation.kinks, shifts, np.full(degree + 1, spread))
    coefficients = chebyshev.chebvander(nodes, degree).T @ table[:2].T * (2 / (degree + 1))
    coefficients[0] /= 2
    sizes = np.max(np.abs(coefficients), axis=1)
    kept = 1 + int(
        np.max(np.flatnonzero(sizes > neglected * sizes.max()), initial=0)
    )  # a short range needs a low degree
    mean, tilt = chebyshev.chebval(fields / reach, coefficients[:kept])
    return mean, tilt
