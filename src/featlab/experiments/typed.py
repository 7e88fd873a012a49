"""What a person types to make something again: a command line, and lines of Python."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from featlab.experiments.experiment import Experiment
from featlab.experiments.text import experiment_to_text
from featlab.learners.fields import required
from featlab.targets import Target
from featlab.targets.inputs import Isotropic

_COMMAND_COLUMNS = 68
_OF_RUN = ("dim", "samples", "times", "student", "seeds", "key", "design", "observe", "dtype", "memory")


def command_line(verb: str, said: Mapping[str, Any], *more: str) -> str:
    """`featlab VERB TARGET --option value ...`, of names and values as a file holds them."""
    words = ["featlab", verb, shlex.quote(said["target"])]
    for name, value in said.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        elif name != "target" and value is not None:
            words += [f"--{option}", shlex.quote(_option_text(value))]
    return " ".join([*words, *more])


def command_of(verb: str, experiment: Experiment, *more: str) -> str:
    """The command that does this with an experiment; empty where its target is a function, which has no text."""
    if experiment.target.text.startswith("<"):
        return ""
    said = experiment_to_text(experiment)
    if _counted(experiment.seeds):
        said["seeds"] = len(experiment.seeds)
    return command_line(verb, said, *more)


def python_of(function: str, experiment: Experiment, **more: Any) -> str:
    """The same in Python; `function` is one of featlab's that takes the parts of an experiment."""
    settings = {name: getattr(experiment, name) for name in _OF_RUN if _differs(experiment, name)}
    if function == "predict":
        settings = {name: value for name, value in settings.items() if name in ("dim", "samples", "times", "student")}
    elif _counted(experiment.seeds):
        settings["seeds"] = len(experiment.seeds)
    return call(function, experiment.target, experiment.learner, **settings, **more)


def call(function: str, target: Target, *arguments: Any, **settings: Any) -> str:
    """A program that calls a function of featlab on a target, and what else it is given."""
    parts = [_made_target(target), *map(_made, arguments), *(f"{name}={_made(one)}" for name, one in settings.items())]
    return f"import featlab\n\nfound = featlab.{function}(\n    " + ",\n    ".join(parts) + ",\n)\n"


def _counted(seeds: tuple[int, ...]) -> bool:
    return seeds == tuple(range(len(seeds)))


def _differs(experiment: Experiment, name: str) -> bool:
    """Whether a part of it must be said; a student, where it is not the default of its kind."""
    value, field = getattr(experiment, name), next(one for one in fields(experiment) if one.name == name)
    if name == "student":
        return value is not None and value != type(value)()
    return required(field) or value != field.default


def _option_text(value: Any) -> str:
    if not isinstance(value, list | tuple):
        return str(value)
    rows = bool(value) and all(isinstance(part, list | tuple) for part in value)
    return (";" if rows else ",").join(map(_option_text, value))


def _made_target(target: Target) -> str:
    more = [f"noise={target.noise!r}"] if target.noise else []
    more += [] if isinstance(target.inputs, Isotropic) else [f"inputs={_made(target.inputs)}"]
    return f"featlab.target({', '.join([repr(target.shown), *more])})" if more else repr(target.shown)


def _made(value: Any) -> str:
    """What makes a value again: a description with the fields that differ from their defaults."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_made, value))}{',' if len(value) == 1 else ''})"
    if not is_dataclass(value):
        return repr(value)
    said = [one for one in fields(value) if one.init and (required(one) or getattr(value, one.name) != one.default)]
    arguments = ", ".join(f"{one.name}={_made(getattr(value, one.name))}" for one in said)
    return f"featlab.{type(value).__name__}({arguments})"


def continued(command: str) -> str:
    """A long command on several lines, which a shell takes as one; broken only where an option begins."""
    first, *options = command.split(" --")
    lines = [first]
    for option in options:
        if len(lines[-1]) + len(option) < _COMMAND_COLUMNS:
            lines[-1] += f" --{option}"
        else:
            lines.append(f"  --{option}")
    return " \\\n".join(lines)
