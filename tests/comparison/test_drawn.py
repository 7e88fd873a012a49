"""Theory is drawn between the times that were asked for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from featlab.comparison import ComparedRun
from featlab.experiments.experiment import Experiment
from featlab.learners.online import OnlineSgd
from featlab.learners.steps import StepLaw
from featlab.learners.students import TwoLayer
from featlab.theory.prediction import predict_experiment


def test_a_picture_shows_theory_at_more_times_and_the_same_at_those_asked_for() -> None:
    student = TwoLayer(activation="tanh", start="orthogonal")
    asked = Experiment.of("tanh(h1)", OnlineSgd(StepLaw(0.5, 1)), dim=1000, times=(0, 1, 4), student=student)
    prediction = predict_experiment(asked)
    compared: Any = SimpleNamespace(quantities={"overlap": None})
    drawn = ComparedRun(prediction, prediction, compared, experiment=asked).drawn()
    assert drawn.sizes["time"] >= 40
    assert "risk" not in drawn
    np.testing.assert_allclose(drawn["overlap"].sel(time=[0, 1, 4]), prediction["overlap"], rtol=1e-5, atol=1e-8)
    assert ComparedRun(prediction, prediction, compared).drawn() is prediction
