"""Batch reuse through the door of predictions: what is answered, what is an outcome, what is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import featlab
from featlab.errors import InvalidParameter
from featlab.learners import OnlineSgd, ReusedBatch, StepLaw, TwoLayer
from featlab.outcome import Outcome
from featlab.targets import target
from featlab.theory.online.rare import rare_share
from featlab.theory.question import NoPrediction, Question, Start
from featlab.theory.reuse.predictor import _RESOLUTIONS, Quadrature, predict_reuse


def question(target="He3(h1)", learner=None, **changes):
    asked = Question(
        featlab.target(target) if isinstance(target, str) else target,
        learner or ReusedBatch(2, 0.2),
        TwoLayer(),
        dim=1000,
        samples=3000,
        steps=np.arange(3),
    )
    return replace(asked, **changes)


def start(width=1, rank=1):
    return Start(np.zeros((width, rank)), np.eye(width), np.ones(width), np.zeros(width))


def test_prediction_of_a_question():
    answer = predict_reuse(question(), start())
    assert answer.outcome == "ok"
    assert answer.values["overlap"].shape == answer.errors["overlap"].shape == (3, 1, 1)
    assert answer.values["gram"].shape == (3, 1, 1)
    assert answer.values["risk"] == pytest.approx([6.5, 6.42833, 6.39963], abs=1e-4)  # E[y^2] + E[relu^2] at first
    assert answer.values["overlap"][2, 0, 0] == pytest.approx(-0.01782, abs=1e-5)
    assert "n/d = 3" in answer.words
    by_law = predict_reuse(question(learner=ReusedBatch(2, StepLaw(0.2 * 1000**0.5, 0.5))), start())
    assert by_law.values["overlap"] == pytest.approx(answer.values["overlap"], abs=1e-12)
    again = predict_reuse(question(learner=ReusedBatch(1000, 0.2), steps=np.array([2])), start())
    assert again.values["overlap"][0] == pytest.approx(answer.values["overlap"][2], abs=1e-12)


def test_the_same_question_has_the_same_answer():
    asked = question("tanh(h1+He3(h2))", ReusedBatch(2, 0.6))
    one, two = (predict_reuse(asked, start(rank=2)).values["overlap"] for _ in range(2))
    assert np.array_equal(one, two)


def test_divergence_is_an_outcome():
    answer = predict_reuse(question(learner=ReusedBatch(5, 300.0), student=TwoLayer(), steps=np.arange(6)), start())
    assert answer.outcome == "diverged"
    assert "step_size" in answer.remedy
    assert np.all(np.isfinite(answer.values["overlap"][:2]))
    assert np.all(np.isnan(answer.values["overlap"][-1]))


def test_forces_that_rest_on_rare_samples_are_told_as_such():
    """A student He2, of two steps on one batch: for tanh(h1) + He2(h1)/2, n = 3d, simulated squared norms after the
    second one are 276 +- 21 at d = 20,000 and 874 +- 470 at d = 300, where the mean over all samples is 399. Small
    steps are safe."""
    student = TwoLayer(activation="He2", start="orthogonal")
    steep, small = (
        predict_reuse(question("He2(h1)", ReusedBatch(2, size), student=student), start()) for size in (0.3, 0.02)
    )
    assert steep.outcome is Outcome.RARE_INPUTS
    assert np.all(np.isfinite(steep.values["gram"][:2]))
    assert np.all(np.isnan(steep.values["gram"][2]))
    assert "rests on samples that 10 batches" in steep.words
    assert "bounded" in steep.remedy
    assert small.outcome is Outcome.OK
    assert np.all(np.isfinite(small.values["gram"]))


def test_the_rare_share_counts_the_largest_forces():
    weights, forces = np.array([0.5, 0.4, 0.09, 0.01]), np.array([[1.0], [2.0], [3.0], [-10.0]])
    added = 0.5 + 0.4 * 4 + 0.09 * 9 + 1.0
    for scale in (1.0, 0.1):
        total = 2 + scale * added
        share = partial(rare_share, weights, forces, np.array([2.0]), scale)
        assert share(0.05) == pytest.approx(scale * 1.0 / total)
        assert share(0.2) == pytest.approx(scale * (1.0 + 0.09 * 9) / total)
        assert share(0.0) == 0.0


def test_what_is_not_known_is_refused():
    with pytest.raises(InvalidParameter, match="samples"):
        predict_reuse(question(samples=None), start())
    with pytest.raises(NoPrediction, match="isotropic"):
        predict_reuse(question(featlab.target("h1", inputs=featlab.Spiked(1.0, 0.5))), start())
    with pytest.raises(NoPrediction, match="steps_per_batch"):
        predict_reuse(question(learner=ReusedBatch(10, 0.1), steps=np.arange(11)), start(width=64))
    with pytest.raises(NoPrediction, match="OnlineSgd"):
        predict_reuse(question(learner=OnlineSgd(0.1)), start())


def test_the_size_of_a_rule_is_known_where_no_float_holds_it():
    rule = Quadrature(target("h1"), np.zeros((1, 1)), *_RESOLUTIONS[0])
    assert rule.points(2) == rule.points(1) * (rule.points(1) // rule.points(0))
    assert rule.points(600) > 10**400  # 180 steps of one neuron were an OverflowError


def test_five_directions_are_sampled_and_no_rule_is_laid_out_for_them(monkeypatch):
    """A product rule of 48 nodes on each of five axes takes 12 GB, and was made to be counted. With He2 and the
    correlation loss a step adds 2 gamma E[Y h_i h_j] m_j to m_i: here 2 gamma m_2 to m_1 and 2 gamma m_1 to m_2."""
    laid_out = []
    monkeypatch.setattr(
        "featlab.theory.reuse.predictor.nested_rule", lambda *arguments, **_: laid_out.append(arguments[1])
    )
    learner, student = ReusedBatch(1, 0.1, loss="correlation"), TwoLayer(activation="He2")
    asked = question("h1*h2 + h3*h4*h5", learner, student=student, steps=np.array([0, 1]))
    before, step = np.array([[0.1, 0.2, 0.3, -0.1, 0.2]]), np.array([[0.04, 0.02, 0, 0, 0]])
    answer = predict_reuse(asked, Start(before, np.eye(1), np.ones(1), np.zeros(1)))
    assert laid_out == []
    off = np.abs(answer.values["overlap"][1] - before - step)
    assert np.all(off < 4 * answer.errors["overlap"][1])
    assert np.all(answer.errors["overlap"][1] < 1e-3), "an error that says nothing"
    assert Quadrature(target("h1*h2 + h3*h4*h5"), np.zeros((1, 0)), *_RESOLUTIONS[0]).points(0) >= 48**5
