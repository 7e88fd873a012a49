"""What the fields of a description may hold: each kind checks a value, reads it from text, and writes it back.

A field says its kind, what it means and in which unit by its own metadata,

    step_size: float | StepLaw = field(metadata=option(STEP, "the step gamma per neuron"))

and everything that depends on it is generated from there: the checks of a description, the options of the command line,
the keys of a study file, the text form of an experiment. Nothing else knows the fields of a learner.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, Field, dataclass, fields, replace
from numbers import Real
from typing import Any

from featlab.errors import InvalidParameter, InvalidTarget
from featlab.learners.checks import finite_number, one_of, positive_integer, positive_number, whole_number
from featlab.learners.steps import CONSTRAINTS, LOSSES, StepLaw, check_step

_KEY = "featlab"
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_LAW = re.compile(rf"({_NUMBER})\s*(?:/\s*d(?:\^({_NUMBER}))?|\*\s*d\^\(?({_NUMBER})\)?)")
NONE = "none"
_WHOLE_FLOATS = 2.0**53  # larger ones are all whole, and no file says which of them are meant so


@dataclass(frozen=True)
class Kind:
    """The values that a field may have.

    Attributes:
        check: name, value -> nothing, or InvalidParameter.
        read: name, text -> the value it stands for.
        metavar: what stands for a value in a help text.
        flag: whether it is said by naming it, without a value.

    Examples:
        >>> from featlab.extending import COUNT, Kind
        >>> isinstance(COUNT, Kind), COUNT.read("batch", "1e3")
        (True, 1000)
    """

    check: Callable[[str, Any], object]
    read: Callable[[str, str], Any]
    metavar: str
    flag: bool = False


@dataclass(frozen=True)
class Option:
    """What a field says of itself: the kind of its values and what it means, with its unit."""

    kind: Kind
    meaning: str


def option(kind: Kind, meaning: str) -> dict[str, Option]:
    """The metadata of a field.

    Args:
        kind: which values it takes.
        meaning: what it is, with its unit.

    Examples:
        >>> from dataclasses import dataclass, field
        >>> from featlab.extending import POSITIVE, Description, option
        >>> @dataclass(frozen=True)
        ... class Warm(Description):
        ...     temperature: float = field(metadata=option(POSITIVE, "the temperature, in units of the loss"))
        >>> Warm(temperature=0.1)
        Warm(temperature=0.1)
        >>> Warm(temperature=-1.0)
        Traceback (most recent call last):
            ...
        featlab.errors.InvalidParameter: temperature: got -1.0, expected a number above 0
    """
    return {_KEY: Option(kind, meaning)}


def options_of(description: Any) -> Iterator[tuple[Field[Any], Option]]:
    """The fields of a description (or its class) that can be said in text, with what they say of themselves."""
    for field in fields(description):
        if _KEY in field.metadata:
            yield field, field.metadata[_KEY]


def required(field: Field[Any]) -> bool:
    """Whether a field has no default."""
    return field.default is MISSING and field.default_factory is MISSING


class Description:
    """A frozen dataclass whose fields are checked by their kinds, and `check_together` what must hold between them."""

    def __post_init__(self) -> None:
        for field, said in options_of(self):
            said.kind.check(field.name, getattr(self, field.name))
        self.check_together()

    def check_together(self) -> None:
        """Refuse fields that do not go together; a description that has such fields overrides it."""


def plain(value: Any) -> Any:
    """A value of a field as a file can hold it: a number, a word, true or false, a list of them.

    Raises:
        InvalidParameter: for an object that has no text, such as an activation made of a function.
    """
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    if isinstance(value, StepLaw):
        return f"{value.scale!r}*d^{-value.exponent!r}"
    if value is None:
        return NONE
    if isinstance(value, str | int | float):
        return value
    named = getattr(value, "text", None)
    if isinstance(named, str):
        return named
    raise InvalidParameter("value", value, "something that has a name: files and command lines know no Python objects")


def value_of(field: Field[Any], said: Any) -> Any:
    """The value of a field from what a file or a command line says: text is read, lists become tuples.

    A float beyond 2^53 (dim = 1e18) is read as its text: whether it counts something, its kind knows.
    """
    kind: Kind = field.metadata[_KEY].kind
    if isinstance(said, float) and abs(said) >= _WHOLE_FLOATS:
        said = repr(said)
    if isinstance(said, str):
        return kind.read(field.name, said)
    return _tuples(said)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value


def is_number(text: str) -> bool:
    """Whether a text is a plain number."""
    return re.fullmatch(_NUMBER, text.strip()) is not None


def read_whole(name: str, text: str) -> int:
    """A whole number, also as 1e6."""
    value = float(text) if is_number(text) else math.nan
    if not value.is_integer():
        raise InvalidParameter(name, text, "a whole number such as 1000 or 1e6")
    return int(text) if re.fullmatch(r"[+-]?\d+", text.strip()) else int(value)


def read_number(name: str, text: str) -> float:
    """A number."""
    if not is_number(text):
        raise InvalidParameter(name, text, "a number")
    return float(text)


def read_numbers(name: str, text: str) -> tuple[float, ...]:
    """Numbers with commas between them."""
    return tuple(read_number(name, part) for part in text.split(","))


def read_step(name: str, text: str) -> StepLaw | float:
    """A step size from text: a number, or a law in the dimension as 0.1/d, 0.1/d^1.5 or 2*d^-0.5."""
    law = _LAW.fullmatch(text.strip())
    if law:
        scale, divided, power = law.groups()
        return StepLaw(float(scale), -float(power) if power else float(divided or 1))
    if is_number(text):
        return float(text)
    raise InvalidParameter(name, text, "a number or a law in the dimension, such as 0.1, 0.1/d or 2*d^-0.5")


def _read_word(name: str, text: str) -> str:
    return text


def _read_flag(name: str, text: str) -> bool:
    return one_of(name, text, ("true", "false")) == "true"


def _check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise InvalidParameter(name, value, "True or False")


def _check_scales(name: str, value: object) -> None:
    for one in value if isinstance(value, tuple) else (value,):
        positive_number(name, one)


def _read_scales(name: str, text: str) -> float | tuple[float, ...]:
    values = read_numbers(name, text)
    return values[0] if len(values) == 1 else values


def _check_rows(name: str, value: object) -> None:
    if not isinstance(value, tuple) or not all(isinstance(row, tuple) for row in value):
        raise InvalidParameter(name, value, "a tuple of tuples of numbers, such as ((0.3, 0.1),)")
    for row in value:
        for number in row:
            finite_number(name, number)


def _read_rows(name: str, text: str) -> tuple[tuple[float, ...], ...]:
    return tuple(read_numbers(name, row) for row in text.split(";"))


@contextmanager
def blamed_on(name: str, part: str | None = None) -> Iterator[None]:
    """Let a fault of what a field holds (of the `part` of that name, if given) be one of the field."""
    try:
        yield
    except InvalidParameter as fault:
        if part is not None and fault.name != part:
            raise
        raise InvalidParameter(name, fault.given, fault.expected) from fault


def _check_activation(name: str, value: Any) -> None:
    from featlab.gaussian.activations import activation  # NumPy is not loaded for a description that has no activation

    with blamed_on(name):
        activation(value)


def _check_target(name: str, value: Any) -> None:
    from featlab.targets import target

    try:
        target(value)
    except InvalidTarget as fault:
        raise InvalidParameter(name, value, f"a target: {fault.reason}") from fault


def within(low: float, high: float, expected: str, *, closed: bool = False) -> Kind:
    """Numbers above `low` (or from it on, if `closed`) and below `high`.

    Args:
        low, high, closed: the interval.
        expected: what is said to who gives another number.

    Raises:
        InvalidParameter: when such a number is checked.

    Examples:
        >>> from featlab.extending import within
        >>> share = within(0, 1, "from 0 to below 1", closed=True)
        >>> share.read("damping", "0.5")
        0.5
        >>> share.check("damping", 1.0)
        Traceback (most recent call last):
            ...
        featlab.errors.InvalidParameter: damping: got 1.0, expected from 0 to below 1
    """

    def check(name: str, value: object) -> None:
        number = finite_number(name, value)
        if not (low <= number if closed else low < number) or number >= high:
            raise InvalidParameter(name, value, expected)

    return Kind(check, read_number, "X")


def choice(*words: str) -> Kind:
    """One of some words.

    Examples:
        >>> from featlab.extending import choice
        >>> choice("squared", "correlation").metavar
        'squared|correlation'
        >>> choice("squared", "correlation").check("loss", "hinge")
        Traceback (most recent call last):
            ...
        featlab.errors.InvalidParameter: loss: got 'hinge', expected one of 'squared', 'correlation'
    """
    return Kind(lambda name, value: one_of(name, value, words), _read_word, "|".join(words))


def or_none(kind: Kind) -> Kind:
    """A kind, or None, which is the word "none" in text.

    Examples:
        >>> from featlab.extending import COUNT, or_none
        >>> or_none(COUNT).read("steps", "none"), or_none(COUNT).read("steps", "10")
        (None, 10)
    """
    return replace(
        kind,
        check=lambda name, value: None if value is None else kind.check(name, value),
        read=lambda name, text: None if text == NONE else kind.read(name, text),
    )


def or_word(kind: Kind, *words: str) -> Kind:
    """A kind of numbers, or one of some words.

    Examples:
        >>> from featlab.extending import POSITIVE, or_word
        >>> ridge = or_word(POSITIVE, "leave-one-out")
        >>> ridge.read("ridge", "0.1"), ridge.read("ridge", "leave-one-out")
        (0.1, 'leave-one-out')
    """

    def check(name: str, value: object) -> None:
        if isinstance(value, Real) and not isinstance(value, bool):
            kind.check(name, value)
        else:
            one_of(name, value, words)

    def read(name: str, text: str) -> Any:
        return kind.read(name, text) if is_number(text) else text

    return Kind(check, read, f"{kind.metavar}|{'|'.join(words)}")


def at_least(least: int, expected: str) -> Kind:
    """Whole numbers from `least` on."""
    return Kind(lambda name, value: whole_number(name, value, least, expected), read_whole, "N")


COUNT = Kind(positive_integer, read_whole, "N")
"""A whole number, at least 1; in text also 1e6."""
POSITIVE = Kind(positive_number, read_number, "X")
"""A number above 0."""
NUMBER = Kind(finite_number, read_number, "X")
"""A finite number."""
FLAG = Kind(_check_flag, _read_flag, "", flag=True)
"""True or False; on a command line it is said by naming it."""
NORM = within(0, 1e150, "a number above 0, below 1e150, whose square is a number, too")
STEP = Kind(check_step, read_step, "S")
"""A step size above 0: a number, or a law in the dimension such as 0.1/d."""
SIGNED_STEP = Kind(lambda name, value: check_step(name, value, signed=True), read_step, "S")
SCALES = Kind(_check_scales, _read_scales, "C[,..]")
ROWS = Kind(_check_rows, _read_rows, "C,..;..")
ACTIVATION = Kind(_check_activation, _read_word, "NAME")
"""The name of an activation, or one made of a function."""
BIASES = or_word(NUMBER, "gaussian", "uniform")
"""One bias for all neurons, or the law they are drawn from."""
LEAVE_ONE_OUT = "leave-one-out"
RIDGE = or_word(POSITIVE, LEAVE_ONE_OUT)
"""A ridge above 0, or "leave-one-out"."""
FIT_SAMPLES = at_least(2, "at least 2, so that one can be left out")
DAMPING = within(0, 1, "from 0 to below 1, the weight of the old", closed=True)
TARGET = Kind(_check_target, _read_word, "EXPR")

# What several learners say of fields that they share.
STEPS = option(COUNT, "number of steps")
"""A number of steps."""
STEP_SIZE = option(STEP, "step per neuron, a number or a law: 0.1, 0.1/d, 2*d^-0.5")
"""The step gamma per neuron."""
STEPS_PER_BATCH = option(or_none(COUNT), "a new batch after so many steps")
BATCH = option(COUNT, "fresh samples per step")
"""Fresh samples per step."""
LOSS = option(choice(*LOSSES), "what is descended")
"""The loss: "squared" or "correlation"."""
CONSTRAINT = option(choice(*CONSTRAINTS), "where the rows of W stay")
"""Where the rows of W stay: "none", on the sphere by projection, or by spherical steps."""
TEST = option(at_least(2, "at least 2, to know the error of the risk"), "fresh samples that the risk is measured on")
