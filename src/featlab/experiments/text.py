"""Experiments from text and back: for command lines, study files, records, and whoever knows no Python objects.

An experiment in text is a flat mapping of names to numbers, words, true or false, and lists of them:

    target, noise, spike, alignment, hypercube        what is to be learned, and the law of its inputs
    learner, and the fields of that learner           how; a name, or `module:Class` of any learner
    readout, ridge, readout_biases, ...               a second layer fitted by ridge regression after it
    the fields of its student                         what is trained
    dim, samples, times, seeds, key, design, observe, dtype, memory

A name that a learner and its student both have (`start` of bayes-amp) is the learner's. Which names there are is read
from the fields of the descriptions; what belongs to none is refused, with what does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from featlab.errors import InvalidParameter, MissingParameter
from featlab.experiments.experiment import Experiment
from featlab.learners.checks import finite_number
from featlab.learners.fields import (
    Option,
    blamed_on,
    options_of,
    plain,
    read_number,
    read_numbers,
    read_whole,
    required,
    value_of,
)
from featlab.learners.guide import RANDOM_FEATURES
from featlab.learners.protocol import Learner, Student
from featlab.learners.readout import Readout
from featlab.learners.registry import learner_class, learner_name, own_learners
from featlab.learners.students import TwoLayer
from featlab.targets.inputs import Hypercube, Isotropic, SpikeLaw, inputs_in_words

if TYPE_CHECKING:
    from featlab.targets import Target

# Names of the fields of a readout, which would else be mistaken for those of what it follows.
READOUT_FIELDS = {
    "ridge": "ridge",
    "readout_biases": "biases",
    "readout_bias_scale": "bias_scale",
    "test_samples": "test_samples",
}
READOUT_NAMES = ("readout", *READOUT_FIELDS)
_OF_TARGET = {"noise": read_number, "spike": read_number, "alignment": read_numbers, "hypercube": read_number}
_NEEDED_FOR = {
    "target": "what is to be learned, such as 'He3(h1)'",
    "learner": "who learns it; `featlab learners` lists them",
    "dim": "the dimension of the inputs, such as 1e6",
}
NEEDED = tuple(_NEEDED_FOR)
# How the data come and how a run is made: of a simulation only, and not of a prediction.
RUN_ONLY = ("seeds", "key", "design", "dtype", "memory")


def _named(kind: type) -> dict[str, Field[Any]]:
    return {field.name: field for field, _ in options_of(kind)}


_OF_RUN = _named(Experiment)
COMMON_NAMES = ("target", *_OF_TARGET, "learner", *_OF_RUN)


def experiment_from_text(said: Mapping[str, Any]) -> Experiment:
    """The experiment that a mapping describes.

    Raises:
        InvalidParameter: for a name that nothing here has, a value that is none, or a name that is missing.
    """
    for name in NEEDED:
        if said.get(name) is None:
            raise MissingParameter(name, _NEEDED_FOR[name], "every experiment")
    given = {name: value for name, value in said.items() if value is not None}
    fields_said = {name: value for name, value in given.items() if name not in COMMON_NAMES}
    learner, student = learner_from_text(given["learner"], fields_said)
    run = _values(_OF_RUN, {name: value for name, value in given.items() if name in _OF_RUN})
    return Experiment.of(_target(given), learner, student=student, **run)


def experiment_to_text(experiment: Experiment) -> dict[str, Any]:
    """The mapping that describes an experiment; only what differs from a default is in it."""
    said = {"target": experiment.target.text, **_target_text(experiment.target)}
    said |= learner_to_text(experiment.learner, experiment.student)
    return said | _different(experiment)


def learner_from_text(name: str, said: Mapping[str, Any]) -> tuple[Learner, Any]:
    """The learner of a name and its student (None, the default one), from what is said of both."""
    if name == RANDOM_FEATURES:
        return _random_features(said)
    kind, student_kind = learner_class(name), student_class(name)
    own = _named(kind)
    of_student = {} if student_kind is None else _named(student_kind)
    rest = {key: value for key, value in said.items() if key not in own}
    of_readout = {key: rest.pop(key) for key in READOUT_NAMES if key in rest}
    for key, value in rest.items():
        if key not in of_student:
            raise InvalidParameter(key, value, _whose(key, name, [*own, *of_student]))
    for field in fields(kind):
        if required(field) and field.name not in said:
            raise MissingParameter(field.name, _meaning(own, field.name), name)
    learner = kind(**_values(own, {key: value for key, value in said.items() if key in own}))
    if of_readout:
        learner = _under_readout(learner, name, of_readout)
    return learner, None if student_kind is None or not rest else student_kind(**_values(of_student, rest))


def learner_to_text(learner: Learner, student: Student | None = None) -> dict[str, Any]:
    """What is to be said of a learner and its student; only what differs from a default."""
    if not isinstance(learner, Readout):
        return {"learner": learner_name(type(learner)), **_different(learner), **_different(student)}
    first = {"learner": RANDOM_FEATURES} if learner.first is None else learner_to_text(learner.first)
    own = _different(learner)
    said = {key: own[field] for key, field in READOUT_FIELDS.items() if field in own}
    samples = "same" if learner.data == "same" else learner.samples
    return {**first, "readout": samples, **said, **_different(student)}


def known_names(learner: str) -> frozenset[str]:
    """Every name that can be said of an experiment with the learner of that name."""
    if learner == RANDOM_FEATURES:
        return frozenset([*COMMON_NAMES, *READOUT_NAMES, *_named(TwoLayer)])
    student = student_class(learner)
    of_student = () if student is None else _named(student)
    return frozenset([*COMMON_NAMES, *READOUT_NAMES, *_named(learner_class(learner)), *of_student])


def student_class(learner: str) -> type | None:
    """The class of the student that the learner of that name trains; None, it has none."""
    kind = getattr(learner_class(learner), "student_kind", None)
    return kind if isinstance(kind, type) else None


@cache
def option_table() -> dict[str, tuple[Option, tuple[str, ...]]]:
    """Every field of the learners and students of this package: what it says of itself, and which learners take it."""
    table: dict[str, tuple[Option, tuple[str, ...]]] = {}
    for name in own_learners():
        for kind in (learner_class(name), student_class(name)):
            for field, said in () if kind is None else options_of(kind):
                first, owners = table.get(field.name, (said, ()))
                table[field.name] = (first, (*owners, name) if name not in owners else owners)
    return table


def _values(known: Mapping[str, Field[Any]], said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value_of(known[name], value) for name, value in said.items()}


def _meaning(known: Mapping[str, Field[Any]], name: str) -> str:
    said = [option for option in known[name].metadata.values() if isinstance(option, Option)] if name in known else []
    return said[0].meaning if said else "and it cannot be said in text"


def _whose(name: str, learner: str, takes: list[str]) -> str:
    owners = option_table()[name][1] if name in option_table() else ()
    belongs = f"; it belongs to {', '.join(owners)}" if owners else ""
    return f"nothing of that name for {learner}, which takes {', '.join(f'{one}=' for one in takes)}{belongs}"


def _different(description: Any) -> dict[str, Any]:
    if description is None:
        return {}
    return {
        field.name: plain(getattr(description, field.name))
        for field, _ in options_of(description)
        if required(field) or getattr(description, field.name) != field.default
    }


def _under_readout(first: Learner | None, name: str, said: Mapping[str, Any]) -> Readout:
    if "readout" not in said:
        key, value = next(iter(said.items()))
        raise InvalidParameter(key, value, f"a readout beside it, whose second layer it is for; {name} has no {key}")
    samples, known = said["readout"], _named(Readout)
    values = {field: value_of(known[field], said[key]) for key, field in READOUT_FIELDS.items() if key in said}
    if samples == "same":
        return Readout(first, data="same", **values)
    count = read_whole("readout", samples) if isinstance(samples, str) else samples
    with blamed_on("readout", "samples"):
        return Readout(first, count, **values)


def _random_features(said: Mapping[str, Any]) -> tuple[Readout, TwoLayer | None]:
    of_student = _named(TwoLayer)
    rest = {key: value for key, value in said.items() if key not in READOUT_NAMES}
    for key, value in rest.items():
        if key not in of_student:
            raise InvalidParameter(key, value, _whose(key, RANDOM_FEATURES, [*READOUT_NAMES, *of_student]))
    if "readout" not in said:
        raise MissingParameter("readout", "how many samples it is fitted to, such as 1e4", RANDOM_FEATURES)
    of_readout = {key: value for key, value in said.items() if key in READOUT_NAMES}
    readout = _under_readout(None, RANDOM_FEATURES, of_readout)
    return readout, TwoLayer(**_values(of_student, rest)) if rest else None


def _target(given: Mapping[str, Any]) -> Target:
    said = {
        name: read(name, given[name]) if isinstance(given[name], str) else _numbers(name, given[name])
        for name, read in _OF_TARGET.items()
        if name in given
    }
    if not isinstance(given["target"], str):
        raise InvalidParameter("target", given["target"], "a text, such as 'He3(h1)'")
    overlaps = said.get("alignment")
    return _parsed(given["target"], said.get("noise", 0.0), said.get("spike"), overlaps, said.get("hypercube"))


def _numbers(name: str, value: Any) -> Any:
    """A number, or for the overlaps of a spike several, as a file gives them."""
    if name == "alignment" and isinstance(value, list | tuple):
        return tuple(finite_number(name, part) for part in value)
    return finite_number(name, value)


@lru_cache(maxsize=256)
def _parsed(text: str, noise: float, spike: float | None, alignment: Any, hypercube: float | None) -> Target:
    from featlab.targets import target

    return target(text, noise=noise, inputs=inputs_in_words(spike, alignment, hypercube))


def _target_text(target: Target) -> dict[str, Any]:
    said = {"noise": target.noise} if target.noise else {}
    inputs = target.inputs
    if isinstance(inputs, Isotropic):
        return said
    if isinstance(inputs, Hypercube):
        return said | {"hypercube": inputs.anisotropy}
    if isinstance(inputs, SpikeLaw):
        law = {"spike": inputs.strength_exponent, "alignment": plain(inputs.overlap_exponents)}
        if inputs == inputs_in_words(inputs.strength_exponent, inputs.overlap_exponents, None):
            return said | law
    raise InvalidParameter("inputs", inputs, "isotropic ones, a hypercube, or a spike with laws d^g2 and d^-g1 in text")
