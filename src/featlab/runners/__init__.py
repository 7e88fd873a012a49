"""What the points of a study can be: the science that `featlab.study` does not know, bound to it.

A kind is "simulate", "predict", "one-step-readout", or `module:name` of any function `run_point(point, key) -> rows` or
`Runner`.
"""

from __future__ import annotations

from featlab.lazy import public_names

_PUBLIC = {
    "find_runner": "find",
    "load_study": "find",
    "KINDS": "find",
    "SIMULATE": "simulation",
    "PREDICT": "prediction",
}

__all__ = list(_PUBLIC)
__getattr__, __dir__ = public_names(__name__, _PUBLIC)
