"""Predictions from many starts: those of one after the other, for less, within the error that is stated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import featlab
from featlab.theory.online import many
from featlab.theory.online.predictor import predict_online
from featlab.theory.question import Question, Start
from featlab.theory.starts import typical_start

DIM = 1000


def asked(text: str, width: int) -> tuple[Question, list[Start]]:
    student, goal = featlab.TwoLayer(width), featlab.target(text)
    learner = featlab.OnlineSgd(featlab.StepLaw(0.5, 1.0))
    question = Question(goal, learner, student, DIM, None, np.array([0, DIM, 2 * DIM]))
    random, starts = np.random.default_rng(0), []
    for _ in range(6):
        rows = random.standard_normal((width, DIM))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        start = typical_start(student, goal.rank, DIM)
        starts.append(replace(start, overlap=rows[:, : goal.rank], gram=rows @ rows.T))
    return question, starts


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often a prediction was made by the best rule."""
    calls: list[int] = []

    def predict(*args: Any, **more: Any) -> Any:
        if len(args) < 3:
            calls.append(1)
        return predict_online(*args, **more)

    monkeypatch.setattr(many, "predict_online", predict)
    return calls


def test_many_starts_are_predicted_as_each_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted(monkeypatch)
    question, starts = asked("tanh(h1)", 2)
    found = list(many.predict_each(question, starts))
    assert len(calls) == 2
    middle = predict_online(question, starts[3])
    for name, value in middle.values.items():
        error = found[3].errors[name] + middle.errors[name]
        missed = np.max(np.abs(found[3].values[name] - value))
        assert missed <= 2 * np.max(error), name
        assert np.max(error) < 5e-3
        assert np.max(np.abs(found[2].values[name] - value)) > missed, "the control: another start is told apart"


def test_where_corrections_differ_each_is_predicted_by_the_best_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counted(monkeypatch)
    monkeypatch.setattr(many, "_LEFT", 0.0)
    question, starts = asked("tanh(h1)", 1)
    found = list(many.predict_each(question, starts))
    assert len(calls) == 2 + 5
    np.testing.assert_array_equal(found[2].values["overlap"], predict_online(question, starts[2]).values["overlap"])
