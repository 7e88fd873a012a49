"""What is known of the form of a target: whether it is a polynomial, a function of signs, a sum or a product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from featlab.analysis.structured import algebra, patterns
from featlab.analysis.structured.expansion import Expansion, of_parts
from featlab.analysis.structured.parts import Parts, parts_of
from featlab.analysis.structured.patterns import Patterns, patterns_of
from featlab.targets import Target

_MOST_HIDDEN = 4


@dataclass(frozen=True)
class Structure:
    """What is known of a target's form; at least one of the three is there."""

    target: Target
    parts: Parts | None
    patterns: Patterns | None
    polynomial: Any | None

    @property
    def expansion(self) -> Expansion:
        if self.polynomial is not None:
            return algebra.expansion_of(self.polynomial, algebra.is_exact(self.target.tree))
        if self.parts is not None:
            return of_parts(self.parts)
        assert self.patterns is not None
        return patterns.expansion_of(self.patterns)


def structure_of(target: Target) -> Structure | None:
    """The structure of a target, or None if it has none that is known here, or too much noise inside its link."""
    if target.hidden > _MOST_HIDDEN:
        return None
    found = Structure(target, parts_of(target), patterns_of(target), algebra.polynomial_of(target))
    return None if found.parts is found.patterns is found.polynomial is None else found
