"""A learner in words: what it does, its papers, its options with defaults and units, a command that runs it."""

from __future__ import annotations

import inspect
import re
import shlex
from typing import Any, NamedTuple

from featlab.citations import Citation, cite
from featlab.experiments.text import RANDOM_FEATURES, student_class
from featlab.learners.fields import Option, options_of, plain, required
from featlab.learners.guide import GUIDES
from featlab.learners.registry import learner_class, learner_names
from featlab.learners.students import TwoLayer
from featlab.reports.wording import flag, sentence_in_options

_CLOCKS = {
    "one-pass": "samples in all; times in units of d steps",
    "steps": "samples in a batch; times are numbers of steps",
    "iterations": "samples in a batch; times are numbers of steps",
    "flow": "samples in the batch; times are those of the flow",
    "once": "samples in all; there are no times, only a result",
}


def line_of(name: str) -> str:
    """What a learner does, in a line."""
    if name in GUIDES:
        return GUIDES[name].does
    return (inspect.getdoc(learner_class(name)) or "It does not say what it does.").partition("\n")[0]


def names_of_all() -> list[str]:
    """Every learner that there is a name of."""
    return [*learner_names(), RANDOM_FEATURES]


def papers_of(name: str) -> tuple[Citation, ...]:
    """The papers that a learner comes from."""
    return cite(*GUIDES[name].papers) if name in GUIDES else ()


def words_of(name: str) -> str:
    """What a learner does, with formulas, as its class says it, in the words of the command line."""
    if name == RANDOM_FEATURES:
        return GUIDES[name].does
    said = (inspect.getdoc(learner_class(name)) or line_of(name)).partition("\nAttributes:")[0].strip()
    flowing = re.sub(r"(?<=\S)\n(?=\S)", " ", said.replace("`", ""))  # paragraphs; what is indented stays
    return sentence_in_options(flowing, ())


def clock_of(name: str) -> str:
    """What its samples and times are."""
    if name == RANDOM_FEATURES:
        return "--readout says how many samples; there are no times, only a result"
    clock = getattr(learner_class(name), "clock", None)
    return _CLOCKS.get(clock, "") if isinstance(clock, str) else "as its options say; `--steps` means one batch"


def example_of(name: str, command: str = "simulate") -> tuple[str, ...]:
    """A command that runs it, if one is known."""
    return (f"featlab {command} {GUIDES[name].example}",) if name in GUIDES else ()


def example_experiment(name: str) -> dict[str, Any]:
    """The same as the text form of an experiment; empty if none is known."""
    if name not in GUIDES:
        return {}
    target, *words = shlex.split(GUIDES[name].example)
    said: dict[str, Any] = {"target": target}
    for place, word in enumerate(words):
        if word.startswith("--"):
            value = next(iter(words[place + 1 : place + 2]), "--")
            said[word[2:].replace("-", "_")] = True if value.startswith("--") else value
    return said


def learner_record(name: str) -> dict[str, Any]:
    """What `featlab learners NAME --json` prints."""
    return {
        "name": name,
        "does": line_of(name),
        "words": words_of(name),
        "samples_and_times": clock_of(name),
        "papers": [{"citation": paper.short, "title": paper.title, "link": paper.link} for paper in papers_of(name)],
        "options": {
            heading: [
                {"option": flag(row.parameter), "default": row.default or None, "meaning": row.meaning} for row in rows
            ]
            for heading, rows in option_groups(name).items()
        },
        "example": next(iter(example_of(name)), None),
    }


class Row(NamedTuple):
    """An option of a learner or its student: its parameter, what it takes, its default ("": none, it is needed)."""

    parameter: str
    takes: str
    default: str
    meaning: str


def option_groups(name: str) -> dict[str, list[Row]]:
    """The options by their owner, learner or student."""
    groups = {}
    if name != RANDOM_FEATURES:
        groups["learner"] = [_row(*one) for one in options_of(learner_class(name))]
    student = student_class(name if name != RANDOM_FEATURES else "online-sgd")
    if student is not None:
        groups["student"] = [_row(*one) for one in options_of(student)]
    return {heading: rows for heading, rows in groups.items() if rows}


def options_by_parameter(name: str) -> dict[str, Row]:
    """The same by parameter; a learner's own goes before its student's."""
    return {row.parameter: row for rows in reversed(option_groups(name).values()) for row in rows}


def takes_readout(name: str) -> bool:
    """Whether a second layer can be fitted after it; random features are nothing else."""
    if name == RANDOM_FEATURES:
        return True
    return student_class(name) is TwoLayer and not getattr(learner_class(name), "fits_readout", False)


def _row(field: Any, said: Option) -> Row:
    return Row(field.name, said.kind.metavar, "" if required(field) else _default(field.default), said.meaning)


def _default(value: Any) -> str:
    said = plain(value)
    if isinstance(said, bool):
        return "yes" if said else "no"
    if isinstance(said, list):
        return ",".join(map(str, said)) or "none"
    return f"{said:g}" if isinstance(said, float) else str(said)
