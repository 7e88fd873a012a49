"""Numbers as arrays without changing one of them: a float tells whole numbers apart only up to 2^53."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_WHOLE_FLOATS = 2.0**53


def number_array(values: Sequence[Any]) -> np.ndarray:
    """Numbers as an array that holds each exactly; None is NaN.

    Integers become int64 or uint64; with a fraction among them, float64. Where none of these holds every number, such
    as 2^60 + 1 beside 0.5, the array holds Python's own numbers (dtype object).
    """
    array = np.array(values)
    if array.dtype.kind in "biu":
        return array
    whole = all(type(value) is int for value in values)
    if whole and values and min(values) >= 0 and max(values) < 2**64:
        return np.array(values, np.uint64)  # NumPy makes floats of 1 beside 2^63
    return float_array(values)


def float_array(values: Any) -> np.ndarray:
    """Numbers, or nested lists of them, as float64; as Python's own numbers where that would change one."""
    try:
        floats = np.asarray(values, np.float64)
    except OverflowError:  # an integer beyond the largest float
        return _own_numbers(values)
    large = np.abs(floats) >= _WHOLE_FLOATS
    if not large.any() or np.array_equal(np.array(values, dtype=object)[large], floats[large]):
        return floats
    return _own_numbers(values)


def with_room_for_nan(array: np.ndarray) -> np.ndarray:
    """The same numbers in an array that can also hold NaN."""
    return float_array(array.tolist()) if array.dtype.kind in "biu" else array


def _own_numbers(values: Any) -> np.ndarray:
    own = np.array(values, dtype=object)
    own[np.frompyfunc(lambda value: value is None, 1, 1)(own).astype(bool)] = np.nan
    return own
