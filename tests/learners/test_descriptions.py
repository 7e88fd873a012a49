"""The descriptions: what they accept, what they refuse, and the step sizes they state."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from featlab.errors import InvalidParameter
from featlab.learners import Extragradient, GiantSteps, OnlineSgd, ReusedBatch, StepLaw, TwoLayer
from featlab.learners.steps import step_at

GOOD = [
    TwoLayer(),
    TwoLayer(width=8, activation="tanh", second_layer="gaussian", paired=True, biases="uniform"),
    TwoLayer(width=4, paired=True, start="planted", planted=((0.3, 0.1), (0.6, 0.8))),
    OnlineSgd(0.1),
    OnlineSgd(StepLaw(1.0, 1.5), batch=4, loss="correlation", constraint="spherical"),
    Extragradient(0.1, inner_step=-0.2),
    GiantSteps(steps=2, scale=(4.0, 2.0), leap=2),
    ReusedBatch(steps=4, step_size=0.2, steps_per_batch=2),
]


@pytest.mark.parametrize("description", GOOD, ids=lambda d: type(d).__name__)
def test_descriptions_are_frozen_hashable_and_equal_by_value(description):
    assert hash(description) == hash(dataclasses.replace(description))
    assert description == dataclasses.replace(description)
    first = dataclasses.fields(description)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(description, first, 1)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: TwoLayer(width=0), "width"),
        (lambda: TwoLayer(width=True), "width"),
        (lambda: TwoLayer(width=3, paired=True), "width"),
        (lambda: TwoLayer(activation="rleu"), "activation"),
        (lambda: TwoLayer(second_layer="gauss"), "second_layer"),
        (lambda: TwoLayer(biases="normal"), "biases"),
        (lambda: TwoLayer(biases=float("nan")), "biases"),
        (lambda: TwoLayer(bias_scale=0.0), "bias_scale"),
        (lambda: TwoLayer(start="zero"), "start"),
        (lambda: TwoLayer(norm=-1.0), "norm"),
        (lambda: TwoLayer(planted=((0.1,),)), "planted"),
        (lambda: TwoLayer(start="planted"), "planted"),
        (lambda: TwoLayer(start="planted", planted=0.1), "planted"),
        (lambda: TwoLayer(start="planted", planted=((0.8, 0.7),)), "planted"),
        (lambda: TwoLayer(2, start="planted", planted=((0.1,),)), "planted"),
        (lambda: OnlineSgd(float("nan")), "step_size"),
        (lambda: OnlineSgd(0.0), "step_size"),
        (lambda: OnlineSgd("fast"), "step_size"),
        (lambda: OnlineSgd(0.1, batch=0), "batch"),
        (lambda: OnlineSgd(0.1, loss="hinge"), "loss"),
        (lambda: OnlineSgd(0.1, constraint="sphere"), "constraint"),
        (lambda: StepLaw(float("inf"), 1.0), "scale"),
        (lambda: StepLaw(1.0, float("nan")), "exponent"),
        (lambda: Extragradient(0.1, inner_step=float("nan")), "inner_step"),
        (lambda: Extragradient(-0.1, inner_step=0.1), "step_size"),
        (lambda: GiantSteps(steps=0), "steps"),
        (lambda: GiantSteps(steps=2, scale=(1.0,)), "scale"),
        (lambda: GiantSteps(scale=-1.0), "scale"),
        (lambda: GiantSteps(leap=0), "leap"),
        (lambda: ReusedBatch(steps=2, step_size=-1.0), "step_size"),
        (lambda: ReusedBatch(steps=2, step_size=0.1, steps_per_batch=0), "steps_per_batch"),
    ],
)
def test_bad_values_are_refused_by_name(make, name):
    with pytest.raises(InvalidParameter) as caught:
        make()
    assert caught.value.name == name


def test_step_laws():
    assert step_at(0.25, 10**9) == 0.25
    assert step_at(StepLaw(3.0, 1.5), 100) == pytest.approx(3e-3, rel=1e-12)
    assert GiantSteps(steps=2, scale=(4.0, 2.0), leap=3).steps_at(100) == pytest.approx((400.0, 200.0))
    assert GiantSteps(steps=3, leap=1).steps_at(10**6) == (1.0, 1.0, 1.0)


def test_how_often_a_batch_is_read():
    assert ReusedBatch(steps=5, step_size=0.1).uses == 5
    assert ReusedBatch(steps=5, step_size=0.1, steps_per_batch=2).uses == 2
    assert ReusedBatch(steps=1, step_size=0.1, steps_per_batch=2).uses == 1


def test_describing_a_learner_does_not_start_jax():
    code = (
        "import sys; from featlab.learners import OnlineSgd, TwoLayer; OnlineSgd(.1); TwoLayer()\n"
        "assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
