"""The mean-field prediction of batch reuse against simulations with ten to two hundred thousand dimensions.

Means over seeds against the limit, within `LEVEL` standard errors in every entry at every step; no allowance for a
finite d is made, because its corrections are of order 1/d and the standard errors above 1e-4. The same assertion
rejects a prediction that is 20% off.
"""

from __future__ import annotations

import numpy as np

import featlab
from featlab.learners import ReusedBatch, TwoLayer
from featlab.simulation import simulate
from featlab.theory.question import Question, Start
from featlab.theory.reuse.predictor import predict_reuse

# With so few seeds the tails are Student's: for one key in about a hundred one of fifty entries exceeds it by chance.
LEVEL = 4.5


def compared(target, learner, student, dim, seeds):
    """Per quantity: predicted values, measured means, and the standard error of their difference."""
    target = featlab.target(target) if isinstance(target, str) else target
    data = simulate(
        target,
        learner,
        dim=dim,
        samples=3 * dim,
        seeds=seeds,
        student=student,
        observe=("overlap", "gram", "risk"),
        progress=False,
    )
    width = student.width
    signs = np.where(np.arange(width) % 2, -1.0, 1.0) if student.second_layer == "alternating" else np.ones(width)
    start = Start(
        np.zeros((width, target.rank)), np.eye(width), student.second_scale * signs, np.full(width, student.biases)
    )
    asked = Question(target, learner, student, dim, 3 * dim, np.arange(learner.steps + 1))
    answer = predict_reuse(asked, start)
    result = {}
    for name in ("overlap", "gram", "risk"):
        measured = data[name].values[:, 1:].astype(float)
        spread = measured.std(axis=0, ddof=1) / np.sqrt(seeds)
        # rounding in float32, and what the fixed norm of a constraint leaves of the scatter
        error = np.sqrt(spread**2 + answer.errors[name][1:] ** 2 + 1e-6**2)
        result[name] = answer.values[name][1:], measured.mean(axis=0), error
    return result


def agree(predicted, measured, error):
    return bool(np.all(np.abs(predicted - measured) <= LEVEL * error))


def check(result):
    for name, (predicted, measured, error) in result.items():
        assert agree(predicted, measured, error), (name, (predicted - measured) / error)
        assert not agree(1.2 * predicted, measured, error), name
        assert not agree(0.8 * predicted, measured, error), name


ORTHOGONAL = TwoLayer(start="orthogonal")


def test_he3_is_seen_by_the_second_step():
    check(compared("He3(h1)", ReusedBatch(3, 0.3), ORTHOGONAL, 200_000, 12))


def test_a_new_batch_after_two_steps_on_the_sphere():
    learner = ReusedBatch(3, 0.3, steps_per_batch=2, constraint="projected")
    check(compared("He3(h1)", learner, ORTHOGONAL, 100_000, 24))


def test_six_steps_of_two_neurons():
    """tanh(h1 + He3(h2)) with the parameters of Dandi et al. (2024): a relu committee with a = +-sqrt(2)."""
    student = TwoLayer(2, "relu", "alternating", second_scale=2**0.5, start="orthogonal")
    result = compared("tanh(h1+He3(h2))", ReusedBatch(6, 0.3), student, 20_000, 24)
    check(result)
    for name, (predicted, measured, error) in result.items():
        late = slice(3, None)
        assert not agree(1.2 * predicted[late], measured[late], error[late]), f"{name} is known at late steps too"


def test_a_smooth_student_with_biases_and_noise():
    student = TwoLayer(2, "erf", "alternating", biases=0.5, start="orthogonal")
    target = featlab.target("He2(h1) + h1*h2 + h2 + xi1/2", noise=0.1)
    check(compared(target, ReusedBatch(4, 0.6), student, 50_000, 16))


def test_tangent_steps_with_the_correlation_loss():
    learner = ReusedBatch(3, 0.8, loss="correlation", constraint="spherical")
    check(compared("sign(h1) + He2(h1)/2", learner, ORTHOGONAL, 50_000, 16))
