"""One-pass SGD and extragradient as d -> infinity: the adapter from a question to the equations.

The step sizes are taken at the given dimension: c = gamma d and rho d are the numbers that the equations hold for,
time is steps / d. For a law gamma = c d^-1 they do not depend on d. For gamma d -> 0 the noise of single samples fades
and what is predicted tends to gradient flow in the time c t; for a gamma d that grows with d there is no limit, and the
prediction is only good while gamma d is moderate.
"""

from __future__ import annotations

import numpy as np

from featlab.gaussian.activations import activation
from featlab.gaussian.hermite import Floats
from featlab.learners.online import Extragradient, OnlineSgd
from featlab.learners.steps import step_at
from featlab.targets.inputs import Isotropic
from featlab.theory.online.averages import AveragesOf, Descent
from featlab.theory.online.committee import erf_committee
from featlab.theory.online.equations import Motion, Trajectory, integrate
from featlab.theory.online.rules import Accuracy, averages
from featlab.theory.question import NoPrediction, Prediction, Question, Start


def predict_online(question: Question, start: Start) -> Prediction:
    """The overlaps, the Gram matrix and the risk of a student of `OnlineSgd` or `Extragradient`."""
    descent, motion = describe(question, start)
    accuracy = accurate_averages(question, descent)
    times = question.steps / question.dim
    begin, tolerance = (start.overlap, start.gram, times), accuracy.tolerance
    best = integrate(motion, accuracy.best, *begin, tolerance)
    values = _values(best, accuracy.best)
    errors: dict[str, Floats] = {}
    if accuracy.other is not None:
        other = _values(integrate(motion, accuracy.other, *begin, tolerance), accuracy.other)
        errors = {name: np.abs(values[name] - other[name]) for name in values}
    words = (
        f"Closed equations for the order parameters of {type(question.learner).__name__} as d -> infinity at fixed "
        f"steps / d and gamma d = {motion.scale:.6g}; fluctuations of order 1/sqrt(d) are neglected. "
        f"Gaussian averages: {accuracy.words}."
    )
    return Prediction(values, words, errors, best.outcome, best.remedy)


def describe(question: Question, start: Start) -> tuple[Descent, Motion]:
    """The learner and its student in the terms of the equations."""
    learner = question.learner
    if not isinstance(learner, OnlineSgd | Extragradient):
        raise NoPrediction(f"got {learner!r}; these equations are for OnlineSgd and Extragradient")
    if not isinstance(question.target.inputs, Isotropic):
        raise NoPrediction(f"got inputs {question.target.inputs!r}; the equations hold for isotropic inputs only")
    reach = step_at(learner.inner_step, question.dim) * question.dim if isinstance(learner, Extragradient) else 0.0
    descent = Descent(activation(question.student.activation), start.second, start.biases, learner.loss, reach)
    motion = Motion(
        step_at(learner.step_size, question.dim) * question.dim, learner.batch, learner.constraint != "none"
    )
    return descent, motion


def accurate_averages(question: Question, descent: Descent) -> Accuracy:
    """The closed form of an erf committee, or the best rule there is."""
    closed = erf_committee(question.target, descent)
    if closed is not None:
        return Accuracy(closed, None, "closed form (erf committee)")
    return averages(question.target, descent)


def _values(trajectory: Trajectory, averages_of: AveragesOf) -> dict[str, Floats]:
    sound = np.all(np.isfinite(trajectory.gram), axis=(1, 2))
    risk = np.full(len(sound), np.nan)
    for index in np.flatnonzero(sound):
        risk[index] = averages_of(trajectory.overlap[index], trajectory.gram[index]).risk
    return {"overlap": trajectory.overlap, "gram": trajectory.gram, "risk": risk}
