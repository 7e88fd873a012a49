"""One spelling for equal contents, so that equal points have equal ids on every machine.

A whole float is an integer (1e3 is 1000), a NumPy number is a number, a tuple or an array is a list, names are sorted.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from featlab.study.faults import InvalidStudy

# Above it a float no longer tells neighbouring integers apart.
_WHOLE_FLOATS = 2.0**53
# Made once: `json.dumps` with these options would make one for every call.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(name: str, value: Any) -> Any:
    """The canonical form of a parameter's value; what has none is refused."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidStudy(f"{name}: got {value!r}, expected a finite number")
        return int(value) if value.is_integer() and abs(value) < _WHOLE_FLOATS else value
    if isinstance(value, list | tuple):
        return [canonical(name, part) for part in value]
    raise InvalidStudy(f"{name}: got {value!r}, expected a number, a text, true or false, or a list of these")


def canonical_text(value: Any) -> str:
    """The canonical form as text: sorted names, no spaces, numbers in their shortest exact spelling."""
    return _ENCODER.encode(value)


def words(point: Mapping[str, Any]) -> str:
    """A point as it reads in a message."""
    return ", ".join(f"{name} = {value}" for name, value in point.items())
