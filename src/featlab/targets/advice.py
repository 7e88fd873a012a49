"""Suggestions for names that are not in the language."""

from __future__ import annotations

import re
from difflib import get_close_matches

from featlab.targets.functions import typed_names

MAX_VARIABLES = 9
MAX_SHORT_HERMITE = 12
VARIABLE = re.compile(r"(h|xi)([1-9])")
_LOOKALIKE = re.compile(r"(?:x|z|h|w|u|v|t|H|X|Z)_?(\d*)")


def shortened(name: str) -> str:
    """A name cut to what fits in a message."""
    return name if len(name) <= 24 else name[:21] + "..."


def name_advice(name: str) -> str:
    """What to say to someone who typed an unknown name."""
    if _LOOKALIKE.fullmatch(name) or re.fullmatch(r"(h|xi)\d+", name):
        return f"directions are called h1..h{MAX_VARIABLES}, noise inside the link xi1..xi{MAX_VARIABLES}"
    close = get_close_matches(name[:40], ["pi", "e", *typed_names()], n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known names are h1..h{MAX_VARIABLES}, xi1..xi{MAX_VARIABLES}, pi, e and functions such as relu(h1)"


_OTHER_NAMES = {
    "heaviside": "step", "theta": "step", "ln": "log", "log2": "log", "log10": "log", "erfc": "erf", "sgn": "sign",
    "absolute": "abs", "fabs": "abs", "logistic": "sigmoid", "expit": "sigmoid", "maximum": "max", "minimum": "min",
    "hermite": "He", "H": "He", "pos": "relu", "indicator": "step",
}  # fmt: skip


def function_advice(name: str) -> str:
    """What to say to someone who called an unknown function."""
    if VARIABLE.fullmatch(name):
        return f"{name} is a direction, not a function; write * to multiply"
    if re.fullmatch(r"[hH]e?_?\d+", name):
        return f"Hermite polynomials are called He1..He{MAX_SHORT_HERMITE} and He(k, x)"
    known = {known.lower(): known for known in typed_names()} | _OTHER_NAMES
    close = get_close_matches(name[:40].lower(), list(known), n=1, cutoff=0.6)
    if close:
        return f"did you mean {known[close[0]]!r}?"
    return "known functions: He1..He12, " + ", ".join(typed_names())
