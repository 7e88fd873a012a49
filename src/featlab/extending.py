"""What a learner, a predictor or an exhibit of another package is made of: public names, kept stable.

docs/adding-a-learner.md shows them at work; `featlab.testing.check_learner` says whether what came out is right. Unlike
the rest of featlab this module loads JAX when it is imported.
"""

from __future__ import annotations

from featlab.learners.fields import (
    ACTIVATION,
    BATCH,
    BIASES,
    CONSTRAINT,
    COUNT,
    FLAG,
    LOSS,
    NUMBER,
    POSITIVE,
    RIDGE,
    STEP,
    STEP_SIZE,
    STEPS,
    Description,
    Kind,
    choice,
    option,
    or_none,
    or_word,
    within,
)
from featlab.learners.protocol import Grown, Learner, LearnerDescription, Student
from featlab.learners.steps import StepLaw, step_at, with_steps_over
from featlab.learners.students import TwoLayer
from featlab.simulation.designs.choose import Demand, Sizes
from featlab.simulation.losses import downhill, loss
from featlab.simulation.networks import Network, moved, start_network
from featlab.simulation.problem import DIM, Algorithm, Problem, Simulator, label_noise, labels
from featlab.simulation.random import named, normal, uniform
from featlab.theory.question import NoPrediction, Prediction, Predictor, Question, Start
from featlab.theory.starts import student_starts

__all__ = [
    "ACTIVATION",
    "BATCH",
    "BIASES",
    "CONSTRAINT",
    "COUNT",
    "DIM",
    "FLAG",
    "LOSS",
    "NUMBER",
    "POSITIVE",
    "RIDGE",
    "STEP",
    "STEPS",
    "STEP_SIZE",
    "Algorithm",
    "Demand",
    "Description",
    "Grown",
    "Kind",
    "Learner",
    "LearnerDescription",
    "Network",
    "NoPrediction",
    "Prediction",
    "Predictor",
    "Problem",
    "Question",
    "Simulator",
    "Sizes",
    "Start",
    "StepLaw",
    "Student",
    "TwoLayer",
    "choice",
    "downhill",
    "label_noise",
    "labels",
    "loss",
    "moved",
    "named",
    "normal",
    "option",
    "or_none",
    "or_word",
    "start_network",
    "step_at",
    "student_starts",
    "uniform",
    "with_steps_over",
    "within",
]
