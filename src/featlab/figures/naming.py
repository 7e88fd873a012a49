"""How a direction reads (h1, (h1 + 2 h2)/sqrt(5), or with decimals), and a threshold with its honest digits."""

from __future__ import annotations

from math import log10

import numpy as np

from featlab.analysis.staircase import GrandStage
from featlab.gaussian.hermite import Floats

_LARGEST_WHOLE = 9
_DIGITS = 1e-6
_MANY = 6  # so many are named one by one


def direction_text(direction: Floats) -> str:
    """A unit vector in the variables h1..hr, with whole numbers where they fit to six digits."""
    present = np.nonzero(np.abs(direction) > _DIGITS)[0]
    coefficients = direction[present]
    if present.size == 1 and coefficients[0] > 0:
        return f"h{present[0] + 1}"
    whole = coefficients / np.min(np.abs(coefficients))
    rounded = np.round(whole)
    if np.all(np.abs(whole - rounded) < _DIGITS) and np.max(np.abs(rounded)) <= _LARGEST_WHOLE:
        inside = _sum([f"{abs(c):g} " if abs(c) != 1 else "" for c in rounded], rounded, present)
        return f"({inside})/sqrt({np.sum(rounded**2):g})" if present.size > 1 else inside
    return _sum([f"{abs(c):.3f} " for c in coefficients], coefficients, present)


def direction_texts(directions: Floats) -> list[str]:
    """Each column of (rank, count)."""
    return [direction_text(column) for column in directions.T]


def directions_text(directions: Floats) -> str:
    """Each column of (rank, count), as one text; many of them together."""
    count = directions.shape[1]
    used = np.nonzero(np.abs(directions).max(axis=1, initial=0.0) > _DIGITS)[0]
    if count <= _MANY or count < used.size - 1:
        return ", ".join(direction_texts(directions))
    axes = [f"h{place + 1}" for place in used]
    together = f"{axes[0]}, ..., {axes[-1]}" if used.size == used[-1] - used[0] + 1 else ", ".join(axes)
    if count == used.size:
        return together
    missing = np.zeros(len(directions))
    missing[used] = np.linalg.svd(directions[used])[0][:, -1]
    missing *= np.sign(missing[used[0]])
    return f"the {count} directions in the span of {together} that are orthogonal to {direction_text(missing)}"


def _sum(sizes: list[str], signs: Floats, places: np.ndarray) -> str:
    terms = [f"{size}h{place + 1}" for size, place in zip(sizes, places, strict=True)]
    if len(terms) > _MANY and len(set(sizes)) == 1 and np.all(signs > 0) and np.all(np.diff(places) == 1):
        return f"{terms[0]} + ... + {terms[-1]}"
    text = terms[0] if signs[0] > 0 else f"-{terms[0]}"
    for term, sign in zip(terms[1:], signs[1:], strict=True):
        text += f" {'+' if sign > 0 else '-'} {term}"
    return text


def ratio_text(stage: GrandStage) -> str:
    """alpha with two to five digits: the last one shown is about as large as the numerical error.

    A ratio that was not computed is told by its bound, "> 990".
    """
    if stage.alpha is None:
        return "not computed" if stage.alpha_bound is None else f"> {float(f'{stage.alpha_bound:.2g}'):g}"
    error = stage.alpha_error or 0.0
    relative = max(error / stage.alpha, 1e-5)
    return f"{stage.alpha:.{max(2, min(5, round(-log10(relative))))}g}"


def ratio_relation(stage: GrandStage, sign: str = "=") -> str:
    """ "= 0.594"; "> 990" where only a bound is known, "not computed" where nothing is, whatever the sign."""
    return ratio_text(stage) if stage.alpha is None else f"{sign} {ratio_text(stage)}"
