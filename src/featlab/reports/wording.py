"""A fault in the words of the command line: options as they are typed, learners by name, no Python.

The package says `samples`, `times=...` and `BayesAmp`, as one types in Python. Here every message that leaves a command
is put into the options of that command, and the classes into the names that `--learner` takes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import is_dataclass
from functools import cache
from itertools import zip_longest
from typing import Any

from featlab.errors import FeatlabError, InvalidParameter

# Names of parts of objects that one option makes.
_MADE_BY = {
    "strength_exponent": "spike",
    "overlap_exponent": "alignment",
    "overlap_exponents": "alignment",
    "overlaps": "alignment",
    "anisotropy": "hypercube",
    "coefficients": "kernel",
    "order": "kernel",
    "first": "readout",
    "data": "readout",
}
# Descriptions that are no learners, in words.
_CLASSES = {
    "Isotropic": "isotropic inputs",
    "Spiked": "inputs with a spike (--spike)",
    "SpikeLaw": "inputs with a spike (--spike)",
    "Hypercube": "inputs on the hypercube (--hypercube)",
    "StepLaw": "a law such as 0.1/d",
    "Readout": "--readout",
    "RandomFeatures": "random-features",
    "TwoLayer": "network of two layers",
    "ThreeLayer": "network of three layers",
    "TiedNetwork": "network with one shared direction",
    "MeanFieldTanh": "mean-field network",
}
# `name=value` in a sentence, with the value up to the next space, comma, semicolon or closing bracket.
_KEYWORD = re.compile(r"\b([a-z][a-z0-9_]*)=('[^']*'|[^\s,;)=]+)?")
_CALL = re.compile(r"\b([A-Z]\w+)(\((?:[^()]|\([^()]*\))*\))?")


def flag(name: str) -> str:
    """The option of a parameter."""
    return f"--{name.replace('_', '-')}"


def fault_in_options(fault: FeatlabError, typed: Mapping[str, Any]) -> str:
    """The sentence of a fault for whoever typed a command; `typed` maps all of its parameters to what was given."""
    if not isinstance(fault, InvalidParameter):
        return sentence_in_options(str(fault), typed)
    head, expected = _head(fault.name, typed), sentence_in_options(fault.expected, typed)
    if head == "inputs":  # nothing was typed of them: the option that would make those that are expected
        head = next(iter(re.findall(r"\((--[a-z]+)\)", expected)), head)
    if fault.given is None:
        learner = typed.get("learner")
        return f"{head}: {learner} needs it: {expected}" if learner else f"{head}: expected {expected}"
    return f"{head}: got {_given(fault.given, typed)}, expected {expected}"


def sentence_in_options(text: str, options: Collection[str]) -> str:
    """`times=` becomes --times, `ReusedBatch(..)` reused-batch, where they are options and classes of ours.

    What stands in backticks is code, and stays.
    """

    def option(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        if name not in options:
            return found[0]
        return flag(name) if value is None else f"{flag(name)} {value.strip(chr(39))}"

    words = (_CALL.sub(_renamed, re.sub(r"\bNone\b", "nothing", part)) for part in text.split("`")[::2])
    said = (_KEYWORD.sub(option, part) for part in words)
    return "`".join(part for pair in zip_longest(said, text.split("`")[1::2]) for part in pair if part is not None)


def _head(name: str, typed: Mapping[str, Any]) -> str:
    """What was typed for a parameter: its option, the argument, or the `--with` that brought it."""
    if name in ("target", "expression") and name in typed:
        return "EXPR"
    if name in typed:
        return flag(name)
    if any(text.partition("=")[0].strip().replace("-", "_") == name for text in typed.get("with_fields") or ()):
        return f"--with {name}"
    if name == "inputs":
        return next((flag(one) for one in ("hypercube", "spike") if typed.get(one) is not None), name)
    made = _MADE_BY.get(name, name)
    return flag(made) if made in typed else name


def _given(value: object, options: Collection[str]) -> str:
    """A value as it can be typed; an object in words."""
    if isinstance(value, tuple) and value and all(isinstance(one, float) for one in value):
        return ",".join(f"{one:g}" for one in value)
    return sentence_in_options(str(value), options) if is_dataclass(value) else repr(value)


def _renamed(found: re.Match[str]) -> str:
    name, call = found[1], found[2] or ""
    if name in _CLASSES:
        return _CLASSES[name]
    if name in _learner_classes():
        return _learner_classes()[name] + (call.replace("(", " with ").rstrip(")") if len(call) > 2 else "")
    return found[0]


@cache
def _learner_classes() -> dict[str, str]:
    from featlab.learners.registry import learner_class, own_learners

    return {learner_class(name).__name__: name for name in own_learners()}
