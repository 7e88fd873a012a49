"""The table of numbers as declarations: predicted, and measured with its error.

An exhibit has them under their names: texts with the parameters of the place in braces.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from featlab.exhibits.declared import Declared, Summary, summarised
from featlab.exhibits.reading import Fields, Given, Of, Place, Reading, View, as_of, given
from featlab.exhibits.verdict import Number


@dataclass(frozen=True)
class Value(Declared):
    """A number of each study it speaks of, at each point along `each`.

    If it speaks of some runs only, it takes two of them.

    Attributes:
        values: the numbers of all runs.
        predicted: whether theory has it; or what is predicted: a number, or the name of one that theory has.
        measured: whether it was; False for a number that only theory has.
        error: whether it has one.
        earlier: a reference that tests hold the measured one to, kept in the report and not shown: a number, or one for
            each place.
        by: what places are told apart by in `earlier`: the axes of `each` unless given, and "study" for its name.
        summary: number and error from those of all runs; mean and standard error unless given.
    """

    values: Of | Reading
    predicted: bool | str | Given[float | None] = True
    measured: bool = True
    error: bool = True
    earlier: float | Mapping[Any, float] | None = None
    by: Sequence[str] | str | None = None
    summary: Summary | None = None

    @property
    def of(self) -> Of:
        return as_of(self.values)

    def rows(self, view: View, name: str) -> list[Number]:
        """One row for each place."""
        found = []
        for place, fields in self.places(view):
            if self.of.runs is not None and len(view.measured(self.of, place)) < 2:
                continue
            measured, error = self._measured(view, place) if self.measured else (None, None)
            predicted, earlier = self._predicted(view, place, fields), self._earlier(fields)
            found.append(Number(name.format_map(fields), predicted, measured, error, earlier))
        return found

    def _predicted(self, view: View, place: Place, fields: Fields) -> float | None:
        if self.predicted is False:
            return None
        if self.predicted is True:
            value: float | None = float(view.predicted(self.of, place).mean())
        else:
            value = fields[self.predicted] if isinstance(self.predicted, str) else given(self.predicted, fields)
        return value if value is None or math.isfinite(value) else None

    def _measured(self, view: View, place: Place) -> tuple[float, float | None]:
        value, error = summarised(view.measured(self.of, place), self.summary)
        return value.item(), error.item() if self.error else None

    def _earlier(self, fields: Mapping[str, Any]) -> float | None:
        if not isinstance(self.earlier, Mapping):
            return self.earlier
        by = self.each if self.by is None else self.by
        key = fields[by] if isinstance(by, str) else tuple(fields[name] for name in by)
        return self.earlier.get(key[0] if isinstance(key, tuple) and len(key) == 1 else key)


AnyNumber = Value | Callable[[View, str], Number | Sequence[Number]]
"""A row of the table of numbers: a `Value`, or a function of view and name that gives one `Number` or several."""


def tabled(numbers: Mapping[str, AnyNumber | Sequence[AnyNumber]], view: View) -> list[Number]:
    """All rows; a plain function of view and name gives one, several, or none."""
    found: list[Number] = []
    for name, declared in numbers.items():
        for number in declared if isinstance(declared, Sequence) else [declared]:
            made = number.rows(view, name) if isinstance(number, Value) else number(view, name)
            found += [made] if isinstance(made, Number) else made
    return found
