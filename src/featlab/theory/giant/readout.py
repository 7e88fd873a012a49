"""A fitted second layer, on random features or after one giant step: the adapter from a question to `giant.ridge`.

One theory covers all sizes of the step: for gamma ~ 1/sqrt(p) it is the Gaussian equivalent of Ba et al. 2022
(`ridge`), for gamma of order one the conditional one of Cui et al. 2024, and for gamma = 0 random features.
"""

from __future__ import annotations

import numpy as np

from featlab.errors import MissingParameter
from featlab.gaussian.activations import activation
from featlab.gaussian.hermite import Floats
from featlab.gaussian.quadrature import gauss_pieces, legendre
from featlab.learners.giant import GiantSteps
from featlab.learners.readout import LEAVE_ONE_OUT_GRID, Readout
from featlab.learners.students import TwoLayer
from featlab.outcome import Outcome
from featlab.theory.giant.features import (
    NODES,
    Features,
    FirstStep,
    Neurons,
    row_profile,
    spike_rule,
    trained_features,
    untrained_features,
)
from featlab.theory.giant.labels import LabelsGivenSpike, conditional_labels
from featlab.theory.giant.ridge import Sizes, ridge_risk
from featlab.theory.question import NoPrediction, Prediction, Question, Start
from featlab.theory.spikes import GradientSpike, gradient_spike, label_moments, slope_moments

_BIAS_NODES = 16
# A change of the neurons' energy below this share is no reason to refuse: it is below the error of a finite d.
_NEGLECTED = 0.01


def predict_readout(question: Question, start: Start) -> Prediction:
    """The risk of a `Readout` of `GiantSteps(1)` or of random features, with n, p and d in proportion."""
    sizes = _checked(question)
    answers = [_at_step(question, start, sizes, int(number)) for number in question.steps]
    risks, ridges = (np.array(column) for column in zip(*answers, strict=True))
    solved = bool(np.all(np.isfinite(risks)))
    ratios = f"n/d = {sizes.samples / sizes.dim:.4g}, p/d = {sizes.width / sizes.dim:.4g}"
    words = (
        f"Gaussian equivalent of the features as d -> infinity at {ratios}, given the coordinate along the first "
        "gradient where there is one. Across it only the linear part is learned. Differences between seeds, of "
        "relative order sqrt(2/d), are neglected."
    )
    remedy = "" if solved else "the equations for this ridge were not solved: raise it"
    outcome = Outcome.OK if solved else Outcome.NOT_CONVERGED
    return Prediction({"risk": risks, "ridge": ridges}, words, {}, outcome, remedy, limit="sizes")


def giant_step_features(
    question: Question, start: Start, neurons: Neurons, gradient: GradientSpike | None = None
) -> tuple[Features, LabelsGivenSpike]:
    """The features and labels after the first step of a question's `GiantSteps`.

    Args:
        gradient: the spike of its batch; None, that of the limit.
    """
    first, student, of = question.learner.first, question.student, activation(question.student.activation)
    if question.samples is None:
        raise MissingParameter("samples", "the number of samples in the batch of the first step")
    bias, size = float(student.biases), first.steps_at(question.dim)[0]
    moments = slope_moments(of, student.norm, bias)
    offset = float(np.mean(start.second)) * moments.mean if first.loss == "squared" else 0.0
    seen, ratio = label_moments(question.target).shifted(offset), question.samples / question.dim
    gradient = gradient_spike(seen, ratio) if gradient is None else gradient
    energy = seen.second / ratio + seen.mean**2
    turned = (size * moments.tilt) ** 2 * float(np.mean(start.second**2)) * energy
    if turned > _NEGLECTED * student.norm**2:
        raise NoPrediction(
            f"the step turns the first layer by (1/n) sum y x x^T because E[sigma' z] = {moments.tilt:.3g} is not 0 "
            f"for {of.name} (it changes the neurons' energy by {turned / student.norm**2:.2g}), and no theory here "
            "covers that: take an odd activation without biases, or a scale of order 1/sqrt(width)"
        )
    labels = conditional_labels(question.target, seen.direction, gradient.cosine, spike_rule()[0])
    residual_square = labels.square - 2 * offset * labels.mean + offset**2
    step = FirstStep(size, gradient, row_profile(question.target, offset, ratio), bias)
    features = trained_features(
        of, neurons, student.norm, step, varying_norm=student.start == "gaussian", label_square=residual_square
    )
    return features, labels


def neuron_law(student: TwoLayer, learner: Readout, second: Floats) -> Neurons:
    """The law of (a, b): that of the description, with a scaled to the realised mean square of `second`."""
    if student.second_layer == "gaussian":
        values, shares = gauss_pieces((), NODES)
    elif student.second_layer == "ones":
        values, shares = np.ones(1), np.ones(1)
    else:
        values, shares = np.array([1.0, -1.0]), np.full(2, 0.5)
    values = values * np.sqrt(np.mean(second**2)) * np.sign(student.second_scale)
    biases, bias_shares = _bias_law(student, learner)
    return Neurons(np.repeat(values, biases.size), np.tile(biases, values.size), np.outer(shares, bias_shares).ravel())


def _at_step(question: Question, start: Start, sizes: Sizes, number: int) -> tuple[float, float]:
    """The risk after so many steps, and the ridge: the given one, or the best on the grid that leave-one-out chooses
    from, since its errors tend to the risks (both NaN if one of these was not solved)."""
    learner, student = question.learner, question.student
    if number == 0:
        biases, shares = _bias_law(student, learner)
        neurons = Neurons(np.zeros(biases.size), biases, shares)
        of = activation(student.activation)
        features = untrained_features(of, neurons, student.norm, varying_norm=student.start == "gaussian")
        labels = conditional_labels(question.target, np.eye(question.target.rank)[0], 0.0, features.nodes)
    else:
        features, labels = giant_step_features(question, start, neuron_law(student, learner, start.second))
    if not isinstance(learner.ridge, str):
        return ridge_risk(features, labels, sizes, learner.ridge).risk, float(learner.ridge)
    ridges = [share * features.mean_square for share in LEAVE_ONE_OUT_GRID]
    risks = [ridge_risk(features, labels, sizes, ridge).risk for ridge in ridges]
    best = int(np.argmin(risks))  # a NaN, if there is one
    return risks[best], ridges[best] if np.isfinite(risks[best]) else np.nan


def _bias_law(student: TwoLayer, learner: Readout) -> tuple[Floats, Floats]:
    law = student.biases if learner.biases is None else learner.biases
    scale = student.bias_scale if learner.biases is None else float(learner.bias_scale)
    if law == "gaussian":
        values, shares = gauss_pieces((), _BIAS_NODES)
        return scale * values, shares
    if law == "uniform":
        values, shares = legendre(_BIAS_NODES)
        return scale * values, shares / 2
    return np.array([float(law)]), np.ones(1)


def _checked(question: Question) -> Sizes:
    """The numbers of samples, neurons and inputs of a question that is answered here."""
    learner, student = question.learner, question.student
    if not isinstance(learner, Readout):
        raise NoPrediction(f"got {learner!r}; this is the prediction of Readout and RandomFeatures")
    first, sizes = learner.first, Sizes(int(learner.samples or 0), student.distinct, question.dim)
    known = isinstance(first, GiantSteps) and first.steps == 1 and first.leap == 1
    refusals = {
        "a readout fitted to the batch of the first layer: no theory here; take data='fresh'": learner.data != "fresh",
        f"a readout after {first!r}; it is predicted after GiantSteps(1) with leap=1": first is not None and not known,
        f"a start {student.start!r}; readouts are predicted from start='sphere' or 'gaussian'": (
            student.start not in ("sphere", "gaussian")
        ),
        "a paired student: its two halves move oppositely, which is not covered; take paired=False": (
            first is not None and student.paired
        ),
        "random biases while the first layer is trained; give them to the Readout (biases=...)": (
            first is not None and isinstance(student.biases, str)
        ),
        "biases as wide as the fields of a run: no theory here; give bias_scale a number": (
            learner.biases is not None and isinstance(learner.bias_scale, str)
        ),
        f"{sizes.samples} samples and {sizes.width} neurons at d = {sizes.dim}: beyond d^1.5 of both, parts of the "
        "target of degree two are learned; `analyse(target).regimes` says what remains then": (
            min(sizes.samples, sizes.width) > sizes.dim**1.5
        ),
    }
    for refusal, applies in refusals.items():
        if applies:
            raise NoPrediction(refusal)
    return sizes
