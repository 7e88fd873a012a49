"""The explanation of a target: the analysis in words, in a terminal, in a notebook, as JSON and as a page."""

from __future__ import annotations

from featlab.lazy import public_names

_PUBLIC = {"Explanation": "explanation", "explain": "explanation"}

__all__ = list(_PUBLIC)
__getattr__, __dir__ = public_names(__name__, _PUBLIC)
