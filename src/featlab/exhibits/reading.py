"""Which numbers a declaration speaks of: a quantity of a study, somewhere on its axes, measured and predicted.

Theory has the names and axes of the measurement, so that one description reads both. Nothing heavy is imported before a
number is read: declarations are made by importing a claim.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    import xarray as xr

    from featlab.exhibits.protocol import Part

    Array = xr.DataArray
    Dataset = xr.Dataset

Data = Mapping[str, "xr.Dataset"]
"""Datasets by the name of their study."""
Reading = str | Callable[["xr.Dataset"], "xr.DataArray"]
"""Which quantity: its name in a dataset, or a function of the dataset."""
Fields = Mapping[str, Any]
T = TypeVar("T")
Given: TypeAlias = T | Callable[[Fields], T]  # a value, or one that depends on the place

_RUNS = ("repeat", "seed")
_NEAR = 1e-6


@dataclass(frozen=True)
class Nth:
    """A place on an axis whatever its labels are, counted from 0, or from the end: -1 is the last.

    Examples:
        >>> from featlab.exhibits import FIRST, LAST, Nth
        >>> FIRST == Nth(0), LAST == Nth(-1)
        (True, True)
    """

    place: int


FIRST = Nth(0)
"""The first place of an axis, or the first study."""
LAST = Nth(-1)
"""The last place of an axis, or the last study."""
Studies = str | Sequence[str] | Nth | None
"""Which studies: a name, several, `FIRST` or `LAST`; None, all of them."""


@dataclass(frozen=True)
class Of:
    """A quantity of a study at a place of its axes, one number or array for each run.

    Attributes:
        quantity: a name in the dataset; or a function of the dataset, which is asked of measurement and theory alike.
        study: of which study; of several, of the FIRST or LAST, or of all unless given.
        where: axis -> label, list of labels, FIRST, LAST, Nth(2), a slice of places, or a condition on labels; on
            axes that were zipped, on the parameters of a point.
        words: what a reader is told, with the parameters of the place in braces; the words of the study unless given.
        theory: under which name theory has it, if that is not the study's; {study} is its name.
        runs: of which runs: those for which this quantity is true; of all unless given.
    """

    quantity: Reading
    study: Studies = None
    where: Mapping[str, Any] = field(default_factory=dict)
    words: str = "{words}"
    theory: str | None = None
    runs: Reading | None = None


@dataclass(frozen=True)
class Place:
    """A point that a declaration goes through: a study and labels (or numbers) on some of its axes.

    Examples:
        >>> from featlab.exhibits import Place
        >>> Place("runs", {"dim": 1000}).where
        {'dim': 1000}
    """

    study: str
    where: Mapping[str, Any]


@dataclass(frozen=True)
class View:
    """What was measured and what theory says, by name of the study; `known` are the names of studies at any size.

    Attributes:
        data: what was measured.
        theory: what is predicted, with the same names and axes.
        parts: the studies as they were declared.
        known: names of studies at any size.
    """

    data: Data
    theory: Data
    parts: Mapping[str, Part]
    known: frozenset[str]

    @classmethod
    def of(cls, data: Data, theory: Callable[[Data], Data], parts: Mapping[str, Part], known: Iterable[str]) -> View:
        """With the parameters that all points share beside the numbers, so that data["dim"] is there at every size."""
        shared = {name: _shared(part) for name, part in data.items()}
        seen = {name: part.assign_coords(_missing(part, shared[name])) for name, part in data.items()}
        said = {name: part.assign_coords(_missing(part, shared.get(name, {}))) for name, part in theory(seen).items()}
        return cls(seen, said, parts, frozenset(known))

    def studies(self, named: Studies) -> list[str]:
        """Those of the named studies that this size has; all of them if none is named."""
        if isinstance(named, Nth):
            return [list(self.data)[named.place]]
        names = list(self.data) if named is None else [named] if isinstance(named, str) else list(named)
        for name in names:
            if name not in self.known:
                raise ValueError(f"unknown study {name!r}, expected one of {sorted(self.known)}")
        return [name for name in names if name in self.data]

    def study(self, of: Of, place: Place | None = None) -> str:
        """The study that numbers are of: their own if they name one, or that of the place."""
        return place.study if place and not isinstance(of.study, str | Nth) else self.studies(of.study)[0]

    def places(self, of: Of, each: str | Sequence[str] = ()) -> Iterator[Place]:
        """The studies of a description, and the points along `each` of their axes; of a parameter of zipped axes, all
        points at once that have it in common."""
        axes = (each,) if isinstance(each, str) else tuple(each)
        for study in self.studies(of.study):
            data = self.data[study]
            own = [axis for axis in axes if axis != "study"]
            if "study" in axes or all(axis in data.dims or _is_zipped(data, axis) for axis in own):
                for points in product(*(_points(data, axis) for axis in own)):
                    yield Place(study, {axis: at for point in points for axis, at in point.items()})

    def fields(self, study: str, where: Mapping[str, Any]) -> dict[str, Any]:
        """What words may speak of: the parameters of a place, its facts, `study`, its `words`, numbers of theory.

        The label of an axis that has none, such as `direction`, is its number.
        """
        from featlab.exhibits.predicting import parameters_of

        part, data = self.parts[study], self.data[study]
        places = _positions(data, where)
        chosen = data.isel(places)
        common = {str(name): chosen[name].values[0].item() for name in chosen.coords if _is_common(chosen, name)}
        counted = {axis: at for axis, at in places.items() if axis not in data.coords and isinstance(at, int)}
        shared = {**self._numbers(study, where), **common, **parameters_of(chosen), **counted, **part.facts}
        shared |= {f"{name}_words": words[shared[name]] for name, words in part.names.items() if name in shared}
        return {**shared, "study": study, "words": part.words.format_map(shared)}

    def _numbers(self, study: str, where: Mapping[str, Any]) -> dict[str, Any]:
        """Of theory what is one number at a place."""
        if study not in self.theory:
            return {}
        data, theory = self.data[study], self.theory[study]
        places = _positions(data, where)
        there = {
            str(name): _located(theory[name], data, places, places) for name in [*theory.data_vars, *theory.coords]
        }
        return {name: values.item() for name, values in there.items() if values.ndim == 0}

    def measured(self, of: Of, place: Place | None = None) -> xr.DataArray:
        """The numbers, runs along the first axis, `run`."""
        _, values, places = self._found(of, place)
        samples = runs_first(values.isel(places))
        if of.runs is None:
            return samples
        chosen = self.measured(replace(of, quantity=of.runs, runs=None), place)
        return samples.isel(run=chosen.values.reshape(len(chosen), -1).all(axis=1))

    def predicted(self, of: Of, place: Place | None = None, name: Reading | None = None) -> xr.DataArray:
        """The same numbers as theory has them, where they were measured; runs first, if they differ in theory, too.

        Args:
            name: another quantity of theory, at the same place, such as a bound.
        """
        study, values, places = self._found(of, place)
        theory = _quantity(self.theory[theory_name(of, study)], of.quantity if name is None else name)
        theory = _located(theory, values, places, values.dims)
        return runs_first(theory.transpose(*(axis for axis in values.dims if axis in theory.dims), ...))

    def line(self, of: Of, place: Place | None = None) -> xr.DataArray:
        """The same as theory has them, on theory's own points of the axes that are left; the mean over runs."""
        study, values, places = self._found(of, place)
        single = [axis for axis, at in places.items() if isinstance(at, int)]
        theory = _located(_quantity(self.theory[theory_name(of, study)], of.quantity), values, places, single)
        return theory.mean([axis for axis in _RUNS if axis in theory.dims])

    def _found(self, of: Of, place: Place | None) -> tuple[str, xr.DataArray, dict[str, Any]]:
        """The study, its quantity, and where on its axes."""
        study, where = self._at(of, place)
        values = _quantity(self.data[study], of.quantity)
        return study, values, _positions(values, where, self.data[study])

    def _at(self, of: Of, place: Place | None) -> tuple[str, Mapping[str, Any]]:
        """Of a place only what the study has: a control need not have all axes."""
        study = self.study(of, place)
        within = place.where if place else {}
        return study, {**{axis: at for axis, at in within.items() if axis in self.data[study].dims}, **of.where}


def __getattr__(name: str) -> type:
    """Types of which claims speak in annotations only: nothing is loaded for them."""
    if name in ("Array", "Dataset"):
        import xarray as xr

        return {"Array": xr.DataArray, "Dataset": xr.Dataset}[name]
    raise AttributeError(name)


def as_of(given: Of | Reading) -> Of:
    """A description, or the one that a quantity alone makes."""
    return given if isinstance(given, Of) else Of(given)


def theory_name(of: Of, study: str) -> str:
    """The name under which theory has numbers of a study."""
    return study if of.theory is None else of.theory.format(study=study)


def given(value: Given[T], fields: Fields) -> T:
    """A value, or what a function makes of the place."""
    return value(fields) if callable(value) else value


def runs_first(values: xr.DataArray) -> xr.DataArray:
    """Repeats and seeds along one axis, `run`, which comes first; what has neither is left alone."""
    merged = [axis for axis in _RUNS if axis in values.dims]
    return values.stack(run=merged, create_index=False).transpose("run", ...) if merged else values


def _shared(data: xr.Dataset) -> dict[str, Any]:
    """The parameters of all points that are one number or one text."""
    fixed = json.loads(data.attrs["fixed"])
    return {name: value for name, value in fixed.items() if isinstance(value, int | float | str)}


def _missing(data: xr.Dataset, shared: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in shared.items() if name not in data.variables and name not in data.dims}


def _quantity(data: xr.Dataset, quantity: Reading) -> xr.DataArray:
    return data[quantity] if isinstance(quantity, str) else quantity(data)


def _is_zipped(data: xr.Dataset, name: Hashable) -> bool:
    """Whether it is a parameter of points on an axis that has no labels of its own."""
    return name in data.coords and data[name].ndim == 1 and data[name].dims[0] not in data.coords


def _is_common(data: xr.Dataset, name: Hashable) -> bool:
    """Whether zipped points have it in common."""
    return _is_zipped(data, name) and len(set(data[name].values.tolist())) == 1


def _points(data: xr.Dataset, axis: str) -> list[dict[str, Any]]:
    """Each label of an axis; of a parameter of zipped points, all those that have it in common."""
    import numpy as np

    if axis in data.dims:
        return [{axis: label} for label in _labels(data, axis)]
    values, along = data[axis].values, str(data[axis].dims[0])
    return [{along: np.flatnonzero(values == value)} for value in dict.fromkeys(values.tolist())]


def _labels(data: xr.Dataset, axis: str) -> list[Any]:
    """The labels of an axis; where it has none of its own, as zipped axes, numbers."""
    return data[axis].values.tolist() if axis in data.coords else list(range(data.sizes[axis]))


def _positions(
    values: xr.Dataset | xr.DataArray, where: Mapping[str, Any], axes: xr.Dataset | None = None
) -> dict[str, Any]:
    """Where on each axis: a number, or an array of numbers; of axes that a quantity has summed up, nothing."""
    import numpy as np

    found: dict[str, Any] = {}
    for axis, at in where.items():
        if axis not in values.dims:
            if axes is not None and axis in axes.dims:
                continue
            raise ValueError(f"no axis {axis!r} in {tuple(map(str, values.dims))}")
        if isinstance(at, Nth):
            found[axis] = at.place
        elif isinstance(at, slice):
            found[axis] = np.arange(values.sizes[axis])[at]
        elif callable(at):
            found[axis] = np.flatnonzero([at(label) for label in _told(values, axis)])
        elif axis not in values.coords:
            found[axis] = at
        else:
            labels = values[axis].values.tolist()
            found[axis] = (
                [_place(axis, labels, one) for one in at] if isinstance(at, list) else _place(axis, labels, at)
            )
    return found


def _told(values: xr.Dataset | xr.DataArray, axis: str) -> list[Any]:
    """What a condition is asked of: the labels, or of zipped axes, which have none, the parameters of each point."""
    if axis in values.coords:
        return values[axis].values.tolist()
    along = {str(name): values[name].values.tolist() for name in values.coords if values[name].dims == (axis,)}
    return [dict(zip(along, point, strict=True)) for point in zip(*along.values(), strict=True)]


def _place(axis: str, labels: list[Any], label: Any) -> int:
    if label not in labels:
        raise ValueError(f"{axis}: no point at {label!r}, expected one of {labels}")
    return labels.index(label)


def _located(
    theory: xr.DataArray, measured: xr.DataArray | xr.Dataset, places: Mapping[str, Any], axes: Iterable[Hashable]
) -> xr.DataArray:
    """Theory at the labels that the measurement has there, along these axes; along one that it has not it is the same.

    Labels that are numbers may differ by rounding.
    """
    import numpy as np

    for axis in [axis for axis in axes if axis in theory.dims]:
        at = places.get(str(axis), slice(None))
        if axis not in theory.coords or axis not in measured.coords:
            theory = theory.isel({axis: at})
        elif np.issubdtype(theory[axis].dtype, np.number):
            labels = measured[axis].isel({axis: at})
            reach = _NEAR * float(np.max(np.abs(theory[axis].values), initial=1e-300))
            theory = theory.sel({axis: labels}, method="nearest", tolerance=reach).assign_coords({axis: labels})
        else:
            theory = theory.sel({axis: measured[axis].isel({axis: at})})
    return theory
