"""From command line options to learners and students.

Which option belongs to which learner is read from the fields of its description: an option is a field with dashes. What
the options have in common with no learner is never passed on silently. Learners go by the names of
`featlab.learners.words`, which is imported only when there is a learner to build, so that help comes at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from featlab.cli.errors import fail

if TYPE_CHECKING:
    from featlab.learners import StepLaw


def whole(option: str, text: str) -> int:
    """A whole number, also as 1e6."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not value.is_integer():
        fail(f"--{option}: got {text!r}, expected a whole number such as 1000 or 1e6")
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else int(value)


def number(option: str, text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        fail(f"--{option}: got {text!r}, expected a number")


def numbers(option: str, text: str) -> tuple[float, ...]:
    """Numbers with commas between them."""
    return tuple(number(option, part) for part in text.split(","))


def step(option: str, text: str) -> float | StepLaw:
    """A step size: a number, or a law in the dimension as 0.1/d, 0.1/d^1.5 or 2*d^-0.5."""
    from featlab.errors import InvalidParameter
    from featlab.learners.words import step_in_words

    try:
        return step_in_words(option, text)
    except InvalidParameter as fault:
        fail(f"--{fault}")


def _scales(option: str, text: str) -> float | tuple[float, ...]:
    values = numbers(option, text)
    return values[0] if len(values) == 1 else values


def _number_or_word(option: str, text: str) -> float | str:
    from featlab.learners.words import is_number

    return float(text) if is_number(text) else text


def _planted(option: str, text: str) -> tuple[tuple[float, ...], ...]:
    return tuple(numbers(option, row) for row in text.split(";"))


# How the text of an option becomes the value of the field; a field that is not here takes what it is given.
_READ: dict[str, Callable[[str, str], Any]] = {
    "step_size": step,
    "inner_step": step,
    "temperature": lambda option, given: step(option, given) if isinstance(given, str) else given,
    "scale": _scales,
    "biases": _number_or_word,
    "planted": _planted,
}


def build_learner(name: str, given: Mapping[str, Any], readout: str | None, ridge: str | None) -> Any:
    """The learner of that name with the options `given` (by field), under a readout if one is asked for."""
    from featlab.learners.words import LEARNERS, RANDOM_FEATURES

    if name == RANDOM_FEATURES:
        _refuse_others(name, given, {})
        if readout is None:
            fail(f"--readout: {RANDOM_FEATURES} needs a number of samples to fit the second layer to, such as 1e4")
        return _under_readout(None, readout, ridge)
    if name not in LEARNERS:
        fail(f"--learner: got {name!r}, expected one of {', '.join([*LEARNERS, RANDOM_FEATURES])}{_hint(name)}")
    kind = LEARNERS[name]
    known = {field.name: field for field in fields(kind)}
    if ridge is not None and "ridge" in known:
        given, ridge = {**given, "ridge": _number_or_word("ridge", ridge)}, None
    _refuse_others(name, given, known)
    for field in known.values():
        if field.default is MISSING and field.name not in given:
            fail(f"--{_option(field.name)}: {name} needs it; {_advice(field.name)}")
    learner = kind(**_read(given))
    if readout is None:
        if ridge is not None:
            fail("--ridge: only with --readout N, which fits the second layer to N samples")
        return learner
    return _under_readout(learner, readout, ridge)


def build_student(learner: str, given: Mapping[str, Any]) -> Any:
    """The student with the options `given` (by field), of the kind that the learner of that name trains."""
    from featlab.learners.words import student_in_words

    return student_in_words(learner, _read(given))


def learner_fields(name: str) -> frozenset[str]:
    """The fields of the learner of that name; none if there is no such learner."""
    from featlab.learners.words import options_of

    return options_of(name)


def other_fields(texts: Sequence[str]) -> dict[str, Any]:
    """Fields given as FIELD=VALUE: a number, true or false, a word, or several of them with commas between."""
    found: dict[str, Any] = {}
    for text in texts:
        field, equals, value = text.partition("=")
        if not equals or not value:
            fail(f"--with: got {text!r}, expected FIELD=VALUE, such as ridge=0.1")
        parts = [_plain(part.strip()) for part in value.split(",")]
        found[field.strip().replace("-", "_")] = parts[0] if len(parts) == 1 else tuple(parts)
    return found


def _plain(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    from featlab.learners.words import is_number

    return float(text) if is_number(text) else text


def _under_readout(first: Any, samples: str, ridge: str | None) -> Any:
    from featlab.learners import Readout

    options: dict[str, Any] = {} if ridge is None else {"ridge": _number_or_word("ridge", ridge)}
    if samples == "same":
        return Readout(first, data="same", **options)
    return Readout(first, whole("readout", samples), **options)


def _read(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _READ[name](_option(name), value) if name in _READ else value for name, value in given.items()}


def _refuse_others(name: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    from featlab.learners.words import LEARNERS, options_of

    for field in given:
        if field in known:
            continue
        owners = [other for other in LEARNERS if field in options_of(other)]
        takes = ", ".join(f"--{_option(own)}" for own in known or ("readout", "ridge"))
        fail(f"--{_option(field)} does not apply to {name}, which takes {takes}; it belongs to {' and '.join(owners)}")


def _hint(name: str) -> str:
    from featlab.learners.words import LEARNERS, RANDOM_FEATURES

    close = get_close_matches(name, [*LEARNERS, RANDOM_FEATURES], n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _advice(field: str) -> str:
    return "a number of steps" if field == "steps" else "a number such as 0.1, or a law in the dimension such as 0.1/d"


def _option(field: str) -> str:
    return field.replace("_", "-")
