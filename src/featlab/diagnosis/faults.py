"""What is wrong with numbers that somebody gives: an error or a warning that says what to do."""

from __future__ import annotations

from typing import Any

import numpy as np

from featlab.errors import FeatlabError
from featlab.gaussian.hermite import Floats

_LARGEST, _LEAST_SPREAD = 1e100, 1e-100  # beyond, squares and their sums are no floats
_NO_CHANCE = 10.0  # exp(-10) that so many numbers drawn at random are all different
_OFF_SCALE = f"values beyond {_LARGEST:.0e}, or that differ by less than {_LEAST_SPREAD:.0e}"
_NAMED = 5


class UnusableData(FeatlabError, ValueError):
    """Data of which nothing can be said; the message tells what to do."""


def some(names: Any) -> str:
    """The first names, and how many more there are."""
    shown = [repr(str(name)) for name in names]
    more = f" and {len(shown) - _NAMED:,} more" if len(shown) > _NAMED else ""
    return ", ".join(shown[:_NAMED]) + more


def on_a_scale(names: list[str], matrix: Floats, warnings: list[str]) -> tuple[list[str], Floats]:
    """Columns whose squares are floats; others hold a code for what is missing, if not a mistake."""
    good = _moderate(matrix)
    if not good.any():
        raise UnusableData(f"every column has {_OFF_SCALE}; give them in other units")
    if good.all():
        return names, matrix
    warnings.append(f"{_OFF_SCALE}, left out: {some(np.array(names)[~good])}; give them in other units to keep them")
    return [n for n, kept in zip(names, good, strict=True) if kept], matrix[:, good]


def _moderate(columns: Floats) -> Any:
    """Whether columns (n, ...) have values whose squares, and those of their differences, are floats."""
    low, high = columns.min(axis=0), columns.max(axis=0)
    small = (high > low) & (high / 2 - low / 2 < _LEAST_SPREAD)  # halves: their difference is a float
    return (np.maximum(-low, high) < _LARGEST) & ~small


def varying(names: list[str], matrix: Floats, warnings: list[str]) -> tuple[list[str], Floats]:
    """Columns that are not constant."""
    spread = matrix.std(axis=0)
    varied = spread > 1e-10 * (np.abs(matrix.mean(axis=0)) + np.finfo(float).tiny)
    if not varied.any():
        raise UnusableData("every column is constant: there is nothing that a label could depend on")
    if varied.all():
        return names, matrix
    warnings.append(f"constant, left out: {some(np.array(names)[~varied])}")
    return [n for n, good in zip(names, varied, strict=True) if good], matrix[:, varied]


def look_at_labels(outcome: Floats, name: str, classes: tuple[str, ...] | None, warnings: list[str]) -> None:
    """Refuse labels of which nothing can be said, and doubt one that is an id."""
    values = np.unique(outcome)
    if len(values) < 2:
        raise UnusableData(f"the label {name!r} is constant: there is nothing to learn")
    if not _moderate(outcome):
        raise UnusableData(f"the label {name!r} has {_OFF_SCALE}; give it in other units")
    if classes is None and _numbered(values, outcome):
        warnings.append(f"the label {name!r} numbers the rows, as an id does: is it what you want to predict?")


def _numbered(values: Floats, column: Floats) -> bool:
    """Whether all are different integers, where so many drawn at random from as wide a range R would not be: the
    chance of it is about exp(-n^2 / (2 R)). So gaps, of rows that were left out, hide no id."""
    if len(values) < len(column) or not np.all(values == np.round(values)):
        return False
    return len(values) ** 2 > 2 * _NO_CHANCE * (values[-1] - values[0] + 1)


def _may_number(column: Floats) -> bool:
    """Whether the first rows do not speak against it, so that most columns need not be sorted."""
    return bool(np.all(column[:100] == np.round(column[:100]))) and len(np.unique(column[:100])) == len(column[:100])


def look_for_copies(names: list[str], matrix: Floats, outcome: Floats, label: str, warnings: list[str]) -> None:
    """Columns that are the label, or an id; rows that are there more than once."""
    count = len(matrix)
    centred = (outcome - outcome.mean()) / outcome.std()
    tied = np.abs(centred @ matrix / (count * matrix.std(axis=0)))  # they sum to zero
    if (tied > 1 - 1e-9).any():
        warnings.append(f"the label {label!r} is a multiple of {some(np.array(names)[tied > 1 - 1e-9])}: is it meant?")
    ids = [
        name
        for name, column in zip(names, matrix.T, strict=True)
        if _may_number(column) and _numbered(np.unique(column), column)
    ]
    if ids:
        warnings.append(f"columns that number the rows, as an id does: {some(ids)}")
    mixing = np.random.default_rng(1).standard_normal(matrix.shape[1])
    doubled = count - len(np.unique(np.column_stack([matrix @ mixing, outcome]), axis=0))
    if doubled > 0.01 * count:
        warnings.append(
            f"{doubled:,} of {count:,} rows are copies of others: errors and p-values take rows for independent, and "
            "are too small"
        )
