"""What is typed makes the same experiment again: as a command, and as a program."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

import featlab
from featlab.experiments.text import experiment_from_text, experiment_to_text
from featlab.experiments.typed import command_line, command_of, python_of
from featlab.reports.learner_text import example_experiment, names_of_all

SAID = [
    *({**example_experiment(name)} for name in names_of_all()),
    {
        "target": "h1 + h1*h2",
        "learner": "giant-steps",
        "dim": 50,
        "samples": 99,
        "readout": 60,
        "ridge": 0.1,
        "noise": 0.2,
    },
    {"target": "tanh(h1)", "learner": "online-sgd", "dim": 50, "times": [1], "step_size": 0.1, "seeds": [3, 5]},
]


@pytest.mark.parametrize("said", SAID, ids=lambda said: said["learner"])
def test_a_program_makes_it_again(said: dict[str, Any]) -> None:
    experiment = experiment_from_text(said)
    scope: dict[str, Any] = {}
    program = python_of("simulate", experiment)
    assert program.count("featlab.simulate(") == 1
    exec(program.replace("featlab.simulate(", "featlab.Experiment.of("), scope)  # noqa: S102 - what we wrote
    assert experiment_to_text(scope["found"]) == experiment_to_text(experiment)


@pytest.mark.parametrize("said", SAID[:-1], ids=lambda said: said["learner"])
def test_a_command_makes_it_again(said: dict[str, Any]) -> None:
    experiment = experiment_from_text(said)
    program, verb, target, *words = shlex.split(command_of("simulate", experiment))
    assert (program, verb) == ("featlab", "simulate")
    again: dict[str, Any] = {"target": target}
    for place, word in enumerate(words):
        if word.startswith("--"):
            value = words[place + 1] if place + 1 < len(words) and not words[place + 1].startswith("--") else True
            again[word[2:].replace("-", "_")] = value
    assert experiment_to_text(experiment_from_text(again)) == experiment_to_text(experiment)


def test_a_prediction_says_nothing_of_seeds() -> None:
    assert "seeds" not in python_of("predict", experiment_from_text(SAID[-1]))
    assert "seeds" in python_of("simulate", experiment_from_text(SAID[-1]))


def test_a_function_has_no_command() -> None:
    target = featlab.target(lambda h: h[..., 0] ** 3, rank=1)
    experiment = featlab.Experiment.of(target, featlab.OnlineSgd(step_size=0.1), dim=10, times=(1,))
    assert command_of("simulate", experiment) == ""


def test_nothing_of_a_text_reaches_the_shell() -> None:
    assert shlex.split(command_line("explain", {"target": "h1; rm -rf /", "noise": None}))[2] == "h1; rm -rf /"
