"""The learners as a page needs them: what each does, its fields with their meaning, an experiment that runs it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import Field
from typing import Any

from featlab.errors import FeatlabError
from featlab.experiments.experiment import Experiment
from featlab.experiments.text import READOUT_FIELDS, experiment_from_text, student_class
from featlab.learners.fields import Option, options_of, plain, required
from featlab.learners.guide import INPUTS, RANDOM_FEATURES, READOUT
from featlab.learners.readout import Readout
from featlab.learners.registry import learner_class
from featlab.learners.students import TwoLayer
from featlab.reports.learner_text import example_experiment, learner_record, names_of_all, takes_readout

_KINDS = {"N": "integer", "K": "integer", "X": "number", "S": "step", "T,..": "numbers", "C[,..]": "numbers"}
_KINDS |= {"V": "number", "G2": "number", "G1[,..]": "numbers", "ALPHA": "number"}


def learners(said: Any) -> dict[str, Any]:
    """Every learner that has a name, the fields that every experiment has, and who runs in a race."""
    from featlab.racing.entrants import ENTRANTS

    common = [_field(field, option, "experiment") for field, option in options_of(Experiment)]
    inputs = [_said(name, takes, meaning, "experiment") for name, (takes, meaning) in INPUTS.items()]
    runners = [{"name": one.name, "label": one.label, "settings": one.how} for one in ENTRANTS]
    return {
        "fields": [*inputs, *common],
        "learners": [_learner(name) for name in names_of_all()],
        "entrants": runners,
    }


def _learner(name: str) -> dict[str, Any]:
    example, own, record = example_experiment(name), name != RANDOM_FEATURES, learner_record(name)
    clock = getattr(learner_class(name), "clock", None) if own else "once"
    return {
        **record,
        "clock": clock if isinstance(clock, str) else None,
        "predictable": _predictable(example),
        "experiment": example,
        "fields": list(_fields(name)),
    }


def _fields(name: str) -> Iterator[dict[str, Any]]:
    """A name that both a learner and its student have is the learner's."""
    own = {} if name == RANDOM_FEATURES else {one[0].name: one for one in options_of(learner_class(name))}
    student = TwoLayer if name == RANDOM_FEATURES else student_class(name)
    yield from (_field(*one, "learner") for one in own.values())
    if student is not None:
        yield from (_field(*one, "student") for one in options_of(student) if one[0].name not in own)
    if not takes_readout(name):
        return
    of_readout = {field.name: field for field, _ in options_of(Readout)}
    for said, (takes, meaning) in READOUT.items():
        default = plain(of_readout[READOUT_FIELDS[said]].default) if said in READOUT_FIELDS else None
        yield {**_said(said, takes, meaning, "readout"), "default": default}


def _field(field: Field[Any], said: Option, group: str) -> dict[str, Any]:
    needed = required(field)
    record = _said(field.name, said.kind.metavar, said.meaning, group, flag=said.kind.flag)
    return {**record, "required": needed, "default": None if needed else _default(field.default)}


def _default(value: Any) -> Any:
    return len(value) if isinstance(value, tuple) and value == tuple(range(len(value))) and value else plain(value)


def _said(name: str, takes: str, meaning: str, group: str, *, flag: bool = False) -> dict[str, Any]:
    """`takes` tells the kind: a letter for what is typed, or the words to choose among; both where a word may stand for
    a number."""
    parts = takes.split("|")
    words = [part for part in parts if part not in _KINDS and part not in ("NAME", "EXPR") and "," not in part]
    kind = "flag" if flag else "choice" if words == parts else _KINDS.get(parts[0], "text")
    return {
        "name": name,
        "group": group,
        "kind": kind,
        "choices": [] if flag else words,
        "takes": takes,
        "required": False,
        "default": None,
        "meaning": meaning,
    }


def _predictable(example: dict[str, Any]) -> bool:
    """Whether there is a theory of its example."""
    from featlab.theory.prediction import check_prediction

    if not example:
        return False
    try:
        check_prediction(experiment_from_text(example))
    except FeatlabError:
        return False
    return True
