"""Small checks shared by the descriptions: each returns the value or raises InvalidParameter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real

from featlab.errors import InvalidParameter


def positive_integer(name: str, value: object) -> int:
    """`value` as an int, if it is a whole number of at least 1 (bool is not a number here)."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise InvalidParameter(name, value, "a whole number, at least 1")
    return int(value)


def finite_number(name: str, value: object) -> float:
    """`value` as a float, if it is a finite real number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise InvalidParameter(name, value, "a finite number")
    return float(value)


def positive_number(name: str, value: object) -> float:
    """`value` as a float, if it is finite and above zero."""
    number = finite_number(name, value)
    if number <= 0:
        raise InvalidParameter(name, value, "a number above 0")
    return number


def one_of(name: str, value: object, allowed: Sequence[str]) -> str:
    """`value`, if it is one of the `allowed` words."""
    if not isinstance(value, str) or value not in allowed:
        raise InvalidParameter(name, value, "one of " + ", ".join(map(repr, allowed)))
    return value
