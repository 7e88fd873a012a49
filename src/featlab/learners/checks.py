"""Small checks shared by the descriptions: each returns the value or raises InvalidParameter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real

from featlab.errors import InvalidParameter, or_meant

_LARGEST = 10**300


def positive_integer(name: str, value: object) -> int:
    """`value` as an int, if it is a whole number of at least 1 (bool is not a number here)."""
    return whole_number(name, value, 1, "a whole number, at least 1")


def whole_number(name: str, value: object, least: int, expected: str) -> int:
    """`value` as an int, if it is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InvalidParameter(name, _shown(value), expected)
    if int(value) > _LARGEST:
        raise InvalidParameter(name, _shown(value), f"{expected}, and at most 1e300")
    return int(value)


def _shown(value: object) -> object:
    """A whole number with so many digits that Python does not convert or write it, in words."""
    if isinstance(value, Integral) and abs(int(value)) > _LARGEST:
        return f"a number of {int(value).bit_length():,} bits"
    return value


def finite_number(name: str, value: object) -> float:
    """`value` as a float, if it is a finite real number."""
    if _shown(value) is not value:
        raise InvalidParameter(name, _shown(value), "a number of at most 1e300")
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
        raise InvalidParameter(name, value, f"one of {', '.join(map(repr, allowed))}{or_meant(value, allowed)}")
    return value
