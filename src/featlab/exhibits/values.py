"""The table of numbers as declarations: predicted, measured with its error, and what an earlier prototype measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from featlab.exhibits.declared import Declared, Summary, summarised
from featlab.exhibits.reading import Fields, Given, Of, Place, Reading, View, as_of, given
from featlab.exhibits.verdict import Number


@dataclass(frozen=True)
class Value(Declared):
    """A number of each study it speaks of, at each point along `each`.

    Attributes:
        name: what it is, with the parameters of the place in braces.
        values: the numbers of all runs.
        predicted: whether theory has it; or what is predicted.
        measured: whether it was; False for a number that only theory has.
        earlier: what a prototype measured: a number, or one for each place.
        by: what places are told apart by in `earlier`: the axes of `each` unless given, and "study" for its name.
        summary: number and error from those of all runs; mean and standard error unless given.
    """

    name: str
    values: Of | Reading
    predicted: bool | Given[float | None] = True
    measured: bool = True
    earlier: float | Mapping[Any, float] | None = None
    by: Sequence[str] | str | None = None
    summary: Summary | None = None

    @property
    def of(self) -> Of:
        return as_of(self.values)

    def rows(self, view: View) -> list[Number]:
        """One row for each place."""
        return [
            Number(
                self.name.format_map(fields),
                self._predicted(view, place, fields),
                *(self._measured(view, place) if self.measured else (None, None)),
                self._earlier(fields),
            )
            for place, fields in self.places(view)
        ]

    def _predicted(self, view: View, place: Place, fields: Fields) -> float | None:
        if isinstance(self.predicted, bool):
            return float(view.predicted(self.of, place).mean()) if self.predicted else None
        return given(self.predicted, fields)

    def _measured(self, view: View, place: Place) -> tuple[float, float | None]:
        value, error = summarised(view.measured(self.of, place), self.summary)
        return value.item(), error.item()

    def _earlier(self, fields: Mapping[str, Any]) -> float | None:
        if not isinstance(self.earlier, Mapping):
            return self.earlier
        by = self.each if self.by is None else self.by
        key = fields[by] if isinstance(by, str) else tuple(fields[name] for name in by)
        return self.earlier.get(key[0] if isinstance(key, tuple) and len(key) == 1 else key)


AnyNumber = Value | Callable[[View], Number | Sequence[Number]]


def tabled(numbers: Sequence[AnyNumber], view: View) -> list[Number]:
    """All rows; a plain function of the view gives one or several."""
    found: list[Number] = []
    for number in numbers:
        made = number.rows(view) if isinstance(number, Value) else number(view)
        found += [made] if isinstance(made, Number) else made
    return found
