"""Three-layer students and their layerwise training: what is refused, and what they say of themselves."""

from __future__ import annotations

from typing import Any

import pytest

from featlab.errors import InvalidParameter
from featlab.experiments import learner_from_text
from featlab.learners import Layerwise, ReusedBatch, StepLaw, ThreeLayer, TwoLayer


@pytest.mark.parametrize(
    "bad",
    [
        {"trained": "third"},
        {"trained": ("first",)},
        {"steps": 0},
        {"step_size": 0.0},
        {"step_size": "0.1/d"},
        {"steps_per_batch": 0},
        {"first_activation": "He2+He3"},
        {"second_steps": 0},
        {"second_step": -1.0},
        {"second_ridge": 0.0},
        {"second_ridge": "best"},
        {"preconditioned": 1},
        {"second_samples": 1},
        {"readout_samples": 0},
        {"readout_ridge": -1.0},
        {"test_samples": 1},
    ],
)
def test_bad_training_is_refused(bad: dict[str, Any]) -> None:
    (name,) = bad
    with pytest.raises(InvalidParameter, match="activation" if "activation" in name else name):
        Layerwise(**bad)


@pytest.mark.parametrize(
    "bad",
    [
        {"width": 0},
        {"second_width": 5},
        {"activation": "nothing"},
        {"second_activation": "nothing"},
        {"biases": "many"},
        {"second_biases": float("nan")},
        {"bias_scale": 0.0},
        {"second_bias_scale": -1.0},
        {"start": "planted"},
    ],
)
def test_bad_students_are_refused(bad: dict[str, Any]) -> None:
    (name,) = bad
    with pytest.raises(InvalidParameter, match="activation" if "activation" in name else name):
        ThreeLayer(**bad)


def test_what_is_trained_sets_the_clock() -> None:
    assert {word: Layerwise(word).clock for word in ("none", "first", "second", "both")} == {
        "none": "once",
        "first": "steps",
        "second": "once",
        "both": "steps",
    }
    learner = Layerwise(steps=3, step_size=StepLaw(2.0, -0.25), steps_per_batch=None)
    assert learner.first == ReusedBatch(3, StepLaw(2.0, -0.25), None, loss="correlation", constraint="spherical")
    assert learner.first_student(ThreeLayer(7, activation="erf")) == TwoLayer(7, "He2")
    assert Layerwise(first_activation=None).first_student(ThreeLayer(7, activation="erf")) == TwoLayer(7, "erf")


def test_in_words() -> None:
    assert learner_from_text("layerwise", {"trained": "first", "step_size": "20*d^0.25"})[0] == Layerwise(
        "first", step_size=StepLaw(20.0, -0.25)
    )
    assert learner_from_text("layerwise", {"width": 8, "second_width": 4})[1] == ThreeLayer(8, 4)
    with pytest.raises(InvalidParameter, match="paired"):
        learner_from_text("layerwise", {"paired": True})
