"""What is left of a polynomial once some of its directions are known.

Statement: if f(x, z) = a(x) + b(x) g(z), the label tells, x being known and b(x) not zero, neither more nor less than
g(z): what opens next, and at which sample ratio, is what opens first for the target g. (With noise added to the label
its size relative to b(x) would matter.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from featlab.analysis.subspaces import aligned, complement
from featlab.errors import InvalidTarget
from featlab.gaussian.hermite import Floats, Integers
from featlab.targets import Target
from featlab.targets.model import target as make_target


def remainder_of(polynomial: Any, known: Floats) -> tuple[Target, Integers] | None:
    """The target g in h1, h2, ... of its own, and the axes that these are; None if there is no such g."""
    if not known.shape[1] or not aligned(known):
        return None
    axes = np.abs(complement(known)).argmax(axis=0)
    factors: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}
    for powers, coefficient in polynomial.terms():
        inside = tuple(powers[axis] for axis in axes)
        outside = tuple(power for axis, power in enumerate(powers) if axis not in axes)
        factors.setdefault(inside, {})[outside] = coefficient
    factors.pop((0,) * len(axes), None)
    common = next(iter(factors.values()))
    lead = next(iter(common))
    ratios = {inside: factor.get(lead, 0) / common[lead] for inside, factor in factors.items()}
    for inside, factor in factors.items():
        if factor != {outside: ratios[inside] * value for outside, value in common.items()}:
            return None
    terms = [f"({ratio})*{_monomial(inside)}" for inside, ratio in ratios.items()]
    try:
        found = make_target(" + ".join(terms))
    except InvalidTarget:  # numbers of more digits than a text may have
        return None
    return (found, axes) if np.array_equal(found.directions, np.eye(len(axes))) else None


def _monomial(powers: tuple[int, ...]) -> str:
    return "*".join(f"h{axis + 1}**{power}" for axis, power in enumerate(powers) if power)
