"""Langevin dynamics and its network as descriptions: what they refuse, and how they read in words."""

from __future__ import annotations

import pytest

from featlab.errors import InvalidParameter
from featlab.experiments import learner_from_text, schedule
from featlab.learners import LangevinDynamics, MeanFieldTanh, StepLaw


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: LangevinDynamics(0), "steps"),
        (lambda: LangevinDynamics(10, step_size=0), "step_size"),
        (lambda: LangevinDynamics(10, temperature=-0.1), "temperature"),
        (lambda: LangevinDynamics(10, temperature=StepLaw(-0.1, 1)), "temperature"),
        (lambda: LangevinDynamics(10, temperature="0.1/d"), "temperature"),
        (lambda: LangevinDynamics(10, prior_rate=-1.0), "prior_rate"),
        (lambda: LangevinDynamics(10, prior_rate=float("inf")), "prior_rate"),
        (lambda: LangevinDynamics(10, halve_every=0), "halve_every"),
        (lambda: LangevinDynamics(10, test_samples=0), "test_samples"),
        (lambda: MeanFieldTanh(0), "width"),
        (lambda: MeanFieldTanh(output_scale=0.0), "output_scale"),
        (lambda: MeanFieldTanh(start_deviation=-1.0), "start_deviation"),
    ],
)
def test_bad_values_are_refused_by_name(make, name):
    with pytest.raises(InvalidParameter) as refused:
        make()
    assert refused.value.name == name


def test_in_words():
    found = learner_from_text("langevin", {"steps": 100, "temperature": "0.2/d", "halve_every": 50})[0]
    assert found == LangevinDynamics(100, temperature=StepLaw(0.2, 1), halve_every=50)
    assert learner_from_text("langevin", {"steps": 100, "temperature": 0.0})[0] == LangevinDynamics(
        100, temperature=0.0
    )
    assert learner_from_text("langevin", {"steps": 9, "width": 8, "output_scale": 3.0})[1] == MeanFieldTanh(
        8, output_scale=3.0
    )
    with pytest.raises(InvalidParameter, match="activation"):
        learner_from_text("langevin", {"activation": "relu"})


def test_a_long_run_is_looked_at_on_a_logarithmic_scale():
    steps = schedule(LangevinDynamics(1000), 20, 100, None).steps
    assert steps[0] == 0
    assert steps[-1] == 1000
    assert len(steps) <= 40
