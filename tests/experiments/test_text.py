"""Experiments in text: there and back, as a command line and as a file say them, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featlab.errors import InvalidParameter
from featlab.experiments import (
    Experiment,
    experiment_from_text,
    experiment_to_text,
    learner_from_text,
    learner_to_text,
)
from featlab.experiments.text import option_table, student_class
from featlab.learners import (
    Adam,
    BayesAmp,
    Extragradient,
    GiantSteps,
    KernelRidge,
    OnlineSgd,
    RandomFeatures,
    Readout,
    ReusedBatch,
    SignSgd,
    StepLaw,
    TwoLayer,
)
from featlab.learners.fields import options_of, read_step, required
from featlab.learners.registry import learner_class, learner_name, learner_names
from featlab.targets import Hypercube, SpikeLaw, target

NEEDED: dict[str, Any] = {"step_size": "0.1/d", "inner_step": 0.2, "steps": 3}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", 0.1),
        ("1e-3", 1e-3),
        ("-0.5", -0.5),
        ("0.1/d", StepLaw(0.1, 1)),
        ("2/d^1.5", StepLaw(2, 1.5)),
        ("2*d^-0.5", StepLaw(2, 0.5)),
        ("2 * d^(-1)", StepLaw(2, 1)),
    ],
)
def test_steps_are_numbers_or_laws(text: str, value: object) -> None:
    assert read_step("step_size", text) == value


def test_text_becomes_learners() -> None:
    def read(name: str, **said: Any) -> object:
        return learner_from_text(name, said)[0]

    assert read("extragradient", step_size="0.1/d", inner_step="-0.2") == Extragradient(StepLaw(0.1, 1), -0.2)
    assert read("giant-steps", steps="2", scale="4,2") == GiantSteps(2, (4.0, 2.0))
    reused = {"steps": 3, "step_size": "0.2"}
    assert read("reused-batch", **reused, readout="1e3", ridge="0.1") == Readout(ReusedBatch(3, 0.2), 1000, 0.1)
    assert read("reused-batch", **reused, readout="same") == Readout(ReusedBatch(3, 0.2), data="same")
    assert read("random-features", readout=100) == RandomFeatures(100)
    assert read("kernel-ridge", kernel="1,0.5", ridge="0.1") == KernelRidge((1.0, 0.5), 0.1)
    assert read("bayes-amp", start="informed") == BayesAmp(start="informed")


def test_text_becomes_students() -> None:
    def read(**said: Any) -> object:
        return learner_from_text("online-sgd", {"step_size": 0.1, **said})[1]

    assert read() is None
    assert read(width="4", biases="0.5", paired=True) == TwoLayer(4, biases=0.5, paired=True)
    assert read(biases="gaussian", paired="false") == TwoLayer(biases="gaussian")
    planted = TwoLayer(2, start="planted", planted=((0.3, 0.1), (0.0, -0.2)))
    assert read(width=2, start="planted", planted="0.3,0.1;0,-0.2") == planted
    assert read(width=2, start="planted", planted=[[0.3, 0.1], [0.0, -0.2]]) == planted


@pytest.mark.parametrize("name", learner_names())
def test_every_learner_there_and_back(name: str) -> None:
    kind, student = learner_class(name), student_class(name)
    needed = {field.name: NEEDED[field.name] for field, _ in options_of(kind) if required(field)}
    learner, _ = learner_from_text(name, needed)
    said = learner_to_text(learner, None if student is None else student())
    assert said.pop("learner") == name == learner_name(kind)
    assert learner_from_text(name, said) == (learner, None)


@settings(deadline=None)
@given(
    st.sampled_from(
        [
            OnlineSgd(StepLaw(0.3, 1.5), batch=4, loss="correlation", constraint="spherical"),
            SignSgd(0.01, directions="random"),
            Adam(0.01, steps=7, beta1=0.5),
            Readout(ReusedBatch(2, 0.2, steps_per_batch=1), data="same", ridge=0.5, biases="uniform", bias_scale=2.0),
            Readout(GiantSteps(2, (4.0, 2.0)), 500, biases=0.25, test_samples=99),
        ]
    ),
    st.builds(
        TwoLayer,
        width=st.sampled_from([2, 4]),
        activation=st.sampled_from(["relu", "tanh", "He3"]),
        paired=st.booleans(),
        biases=st.one_of(st.floats(-2, 2), st.sampled_from(["gaussian", "uniform"])),
        norm=st.floats(0.1, 3),
    ),
    st.sampled_from(["h1", "h1*h2 + He3(h1)"]),
    st.floats(0, 2),
    st.integers(1, 2**62),
)
def test_experiments_there_and_back(learner: Any, student: TwoLayer, text: str, noise: float, key: int) -> None:
    """Through values that a file can hold, and once more through text alone, as on a command line."""
    times = [0.5, 1] if learner.clock == "one-pass" else None
    sizes: dict[str, Any] = {"dim": 9, "times": times, "samples": None if times else 40}
    experiment = Experiment.of(target(text, noise=noise), learner, student=student, key=key, **sizes)
    said = experiment_to_text(experiment)
    assert experiment_from_text(said) == experiment
    scalars = {name: str(value).lower() if isinstance(value, bool) else value for name, value in said.items()}
    spoken = {name: str(value) if isinstance(value, int | float) else value for name, value in scalars.items()}
    assert experiment_from_text(spoken) == experiment


@pytest.mark.parametrize("inputs", [SpikeLaw(0.5, 0.25), SpikeLaw(0.3), Hypercube(0.5)])
def test_inputs_there_and_back(inputs: SpikeLaw | Hypercube) -> None:
    said = {"target": "sign(h1)", "learner": "langevin", "steps": 4, "dim": 9, "samples": 20}
    if isinstance(inputs, Hypercube):
        experiment = replace(experiment_from_text({**said, "hypercube": 0}), target=target("sign(h1)", inputs=inputs))
    else:
        experiment = Experiment.of(target("h1", inputs=inputs), GiantSteps(), dim=9, samples=20)
    assert experiment_from_text(experiment_to_text(experiment)) == experiment


@pytest.mark.parametrize(
    ("name", "said", "words"),
    [
        ("online-sdg", {}, "did you mean 'online-sgd'"),
        ("online-sgd", {}, "step_size: online-sgd needs it: step per neuron"),
        ("online-sgd", {"step_size": 0.1, "leap": 2}, "it belongs to giant-steps"),
        ("online-sgd", {"step_size": 0.1, "ridge": 2}, "a readout beside it"),
        ("bayes-amp", {"width": 2}, "nothing of that name for bayes-amp"),
        ("random-features", {}, "readout: random-features needs it"),
        ("no.such.module:Learner", {}, "module:name of something that can be imported"),
        ("featlab.learners.online:Nothing", {}, "module:name of something that can be imported"),
    ],
)
def test_what_is_refused(name: str, said: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        learner_from_text(name, said)


def test_fields_say_what_they_mean() -> None:
    for name, (said, owners) in option_table().items():
        assert said.meaning, name
        assert owners, name
