"""Checks made of two others, and all checks of an exhibit judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from featlab.exhibits.declared import DeclaredCheck
from featlab.exhibits.reading import View
from featlab.exhibits.verdict import Check, corrected, through_theory


@dataclass(frozen=True)
class Corrected:
    """The source's own statement; where it fails, the amended one, and what was corrected.

    Attributes:
        stated, amended: the two checks.
        correction: what was corrected, with the parameters of the place in braces.
        statement: of the amended one, if it has other words.
    """

    stated: DeclaredCheck
    amended: DeclaredCheck
    correction: str
    statement: str | None = None

    def judge(self, view: View, statement: str) -> list[Check]:
        """Each check of the one, or that of the other in its place."""
        stated = self.stated.judge(view, statement)
        amended = self.amended.judge(view, self.statement or statement)
        words = [self.correction.format_map(fields) for _, fields in self.stated.places(view)]
        words = words or [self.correction] * len(stated)
        return [corrected(*both) for both in zip(stated, amended, words, strict=True)]


@dataclass(frozen=True)
class InTheLimit:
    """A statement about sizes that cannot be run: theory carries it there.

    Attributes:
        simulated: theory and simulation agree where they can be compared; all places of it count.
        limit: what theory alone says of larger and larger sizes, with its control.
    """

    simulated: DeclaredCheck
    limit: Callable[[View, str], Check]

    def judge(self, view: View, statement: str) -> list[Check]:
        """One check for each place at which theory and simulation were compared."""
        limit = self.limit(view, statement)
        found = zip(self.simulated.judge(view, statement), self.simulated.places(view), strict=True)
        return [through_theory(check, limit, statement.format_map(fields)) for check, (_, fields) in found]


AnyCheck = DeclaredCheck | Corrected | InTheLimit | Callable[[View, str], Check | Sequence[Check]]


def judged(checks: Mapping[str, AnyCheck | Sequence[AnyCheck]], view: View) -> list[Check]:
    """All checks; a plain function of view and statement gives one, several, or none."""
    found: list[Check] = []
    for statement, declared in checks.items():
        for check in declared if isinstance(declared, Sequence) else [declared]:
            made = check(view, statement) if callable(check) else check.judge(view, statement)
            found += [made] if isinstance(made, Check) else made
    return found
