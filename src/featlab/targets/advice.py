"""Which names the language knows, and what to say to someone who typed another."""

from __future__ import annotations

import re
from difflib import get_close_matches

from featlab.targets.definitions import DEFINITIONS, SPELLINGS
from featlab.targets.functions import MAX_VARIABLES, VARIABLE, typed_names

MAX_SHORT_HERMITE = 12
OVER_AN_INDEX = {"sum": "+", "prod": "*"}
_LOOKALIKE = re.compile(r"(?:x|z|h|w|u|v|t|H|X|Z)_?(\d*)")
_OTHER_NAMES = {
    "theta": "step", "ln": "log", "sgn": "sign", "logistic": "sigmoid", "hermite": "He", "H": "He", "pos": "relu",
    "indicator": "step", "atan": "arctan", "asinh": "arcsinh", "ceiling": "ceil", "product": "prod", "fmod": "mod",
    "fix": "trunc", "select": "where", "piecewise": "where", "ifelse": "where",
}  # fmt: skip


def known_functions() -> set[str]:
    """Every name that can be called, He1 to He12 aside."""
    return {*typed_names(), *DEFINITIONS, *SPELLINGS, *OVER_AN_INDEX}


def shortened(name: str) -> str:
    """A name cut to what fits in a message."""
    return name if len(name) <= 24 else name[:21] + "..."


def name_advice(name: str) -> str:
    """What to say to someone who typed an unknown name."""
    if len(name) == 1 and name in "ijklmn":
        return f"an index is known inside a sum only, as in sum(h[{name}]**2 for {name} in 1..3)"
    if name in ("True", "False"):
        return "write a comparison, such as h1 > 0"
    if _LOOKALIKE.fullmatch(name) or re.fullmatch(r"(h|xi)\d+", name):
        return f"directions are called h1..h{MAX_VARIABLES}, noise inside the link xi1..xi{MAX_VARIABLES}"
    close = get_close_matches(name[:40], ["pi", "e", *sorted(known_functions())], n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known names are h1..h{MAX_VARIABLES}, xi1..xi{MAX_VARIABLES}, pi, e and functions such as relu(h1)"


def function_advice(name: str) -> str:
    """What to say to someone who called an unknown function."""
    if VARIABLE.fullmatch(name):
        return f"{name} is a direction, not a function; write * to multiply"
    if re.fullmatch(r"[hH]e?_?\d+", name):
        return f"Hermite polynomials are called He1..He{MAX_SHORT_HERMITE} and He(k, x)"
    if name in ("tan", "arcsin", "arccos", "arctanh"):
        return "it is not square-integrable, or not defined everywhere, under the Gaussian; arctan and tanh are"
    if name in ("power", "pow", "float_power"):
        return "write x**y"
    known = {known.lower(): known for known in sorted(known_functions())} | _OTHER_NAMES
    close = get_close_matches(name[:40].lower(), list(known), n=1, cutoff=0.6)
    if close:
        return f"did you mean {known[close[0]]!r}?"
    return "known functions: He1..He12, " + ", ".join(typed_names())
