"""A study's results as one labelled `xarray.Dataset`, whatever order they came in.

Dimensions: the axes of the study in their order, `repeat` if there are several, the index of the rows, and the axes of
values that are lists. A measured value with the name of a swept parameter is called `measured_<name>`. Where a run is
missing or failed, numbers are NaN; `run_outcome` says which ("ok", "failed", "missing"). No number is changed on the
way: whole numbers that no float holds stay whole (see `exact`).
"""

from __future__ import annotations

import gc
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from featlab.study.canonical import canonical_text
from featlab.study.description import Point, Study, read_study
from featlab.study.exact import float_array, number_array, with_room_for_nan
from featlab.study.faults import InvalidStudy
from featlab.study.identity import point_id_of, run_id
from featlab.study.records import OK
from featlab.study.store import Done, Reader

MISSING = "missing"


def open(path: str | Path, *, store: str | Path | None = None) -> xr.Dataset:
    """The results of a study: `path` is a store, or a study file whose store lies beside it (or at `store`).

    A store gives the study that was last run into it; a study file gives the points that it asks for now.

    Examples:
        >>> import featlab
        >>> def square(point, key):
        ...     return [{"square": point["x"] ** 2}]
        ...
        >>> _ = featlab.study.run(featlab.study.Study(axes={"x": [1, 2, 3]}), square, "squares.sqlite")
        >>> featlab.study.open("squares.sqlite")["square"].values.ravel().tolist()
        [1, 4, 9]
    """
    with _collector_paused():
        opened = load(path, store)
        return assemble(opened.study, opened.runner, opened.points, opened.results)


def provenance(path: str | Path, *, store: str | Path | None = None) -> list[dict[str, Any]]:
    """Of every run in the store: point, outcome, error, wall time, when, versions, platform, device, git state.

    Args:
        path: a study file, or the store itself.
        store: where the results are, if not beside the file.

    Examples:
        >>> import featlab
        >>> def square(point, key):
        ...     return [{"square": point["x"] ** 2}]
        ...
        >>> _ = featlab.study.run(featlab.study.Study(axes={"x": [1, 2, 3]}), square, "squares.sqlite")
        >>> featlab.study.provenance("squares.sqlite")[0]["point"]
        {'x': 1}
    """
    with Reader(places(path, store)[0]) as reader, reader.snapshot():
        return list(reader.provenance())


@dataclass(frozen=True)
class Opened:
    """A study with its points, and the result of each run in the order of the grid, or None."""

    study: Study
    runner: dict[str, Any]
    points: list[Point]
    results: list[Done | None]


def load(path: str | Path, store: str | Path | None = None) -> Opened:
    """Read a store, and find the runs of its study (or of the study file) in it."""
    place, study = places(path, store)
    with Reader(place) as reader, reader.snapshot():
        about, done = reader.study(), reader.runs()
    study = study or Study(**about["study"])
    runner, points, results = about["runner"], list(study.points()), []
    for point in points:
        point_id = point_id_of(runner["name"], runner["numerics"], point)
        results += [done.get(run_id(study.key, point_id, repeat)) for repeat in range(study.repeats)]
    return Opened(study, runner, points, results)


def assemble(
    study: Study, runner: dict[str, Any], points: Sequence[Point], results: Sequence[Done | None]
) -> xr.Dataset:
    """Lay the rows of each run on the grid. The order of `results` is that of the grid, repeats fastest."""
    grid = {axis.label: len(axis.values) for axis in study.grid}
    if study.repeats > 1:
        grid["repeat"] = study.repeats
    rows = _gather(results, runner["index"])
    index = rows.dimensions()
    data: dict[str, Any] = {}
    for name, column in rows.columns.items():
        shape = (*grid.values(), *map(len, index.values()))
        array = _laid_out(rows.positions(index, column.rows), prod(shape), _stacked(name, column.values))
        extra = _extra_axes(name, array.ndim - 1, runner["axes"])
        data[name] = ((*grid, *index, *extra), array.reshape(*shape, *array.shape[1:]))
    outcomes = np.array([MISSING if done is None else done.outcome for done in results]).reshape(tuple(grid.values()))
    attributes = {
        "fixed": canonical_text(study.to_dict()["fixed"]),
        "key": study.key,
        "runner": runner["name"],
        "numerics": runner["numerics"],
    }
    coordinates = _coordinates(study, points)
    if study.repeats > 1:
        coordinates["repeat"] = ("repeat", np.arange(study.repeats))
    for name, values in index.items():
        if name in coordinates:
            raise InvalidStudy(f"the rows' index {name!r} is also the study's; call one of them something else")
        coordinates[name] = (name, _values(values))
    names = measured_names(data, {*coordinates, "repeat", "run_outcome"})  # also where a dataset has no repeats
    variables = {names[name]: array for name, array in data.items()} | {"run_outcome": (tuple(grid), outcomes)}
    return _described(xr.Dataset(variables, coordinates, attributes), runner)


def _described(found: xr.Dataset, runner: dict[str, Any]) -> xr.Dataset:
    """With the labels and the words that the runner has for axes and variables; `long_name` and `units` on each."""
    for axis, prefix in runner.get("prefixes", {}).items():  # stores of earlier versions have none
        if axis in found.dims and axis not in found.coords:
            numbers = range(1, found.sizes[axis] + 1)
            found = found.assign_coords({axis: [f"{prefix}{n}" for n in numbers] if prefix else list(numbers)})
    for name, variable in found.variables.items():
        plain = {"long_name": str(name).replace("_", " "), "units": "1"}
        variable.attrs.update(plain | runner.get("attributes", {}).get(str(name).removeprefix("measured_"), {}))
    return found


def measured_names(names: Collection[str], taken: Collection[str]) -> dict[str, str]:
    """What each measured value is called beside names that are taken: a simulation says which ridge it used even where
    the study sweeps it, and then it is `measured_ridge`."""
    found = {}
    for name in names:
        free = name
        while free in taken or (free != name and free in names):
            free = f"measured_{free}"
        found[name] = free
    return found


@contextmanager
def _collector_paused() -> Iterator[None]:
    """A hundred thousand rows are a million objects, none of them garbage: looking for it took 40% of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def places(path: str | Path, store: str | Path | None) -> tuple[Path, Study | None]:
    """The store, and the study if a study file was given."""
    if Path(path).suffix != ".toml":
        return Path(path), None
    file = read_study(path)
    return Path(store or file.store), file.study


@dataclass
class _Column:
    """The values of one name, and the number of the row each is in."""

    rows: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)


@dataclass
class _Rows:
    """All rows: the run each belongs to, its label in its run, and the values by name."""

    index: Sequence[str]
    runs: list[int] = field(default_factory=list)
    labels: list[tuple[Any, ...]] = field(default_factory=list)
    columns: dict[str, _Column] = field(default_factory=dict)

    def add(self, run: int, number: int, row: dict[str, Any]) -> None:
        """One row: the `number`-th of its run."""
        try:
            label = tuple(row[name] for name in self.index) if self.index else (number,)
        except KeyError as fault:
            raise InvalidStudy(f"a row has no {fault}, which is in the runner's index {self.index}") from None
        place = len(self.runs)
        self.runs.append(run)
        self.labels.append(label)
        for name, value in row.items():
            if name not in self.index:
                column = self.columns.setdefault(name, _Column())
                column.rows.append(place)
                column.values.append(value)

    def dimensions(self) -> dict[str, list[Any]]:
        """The index's dimensions with their values; rows without an index are numbered if there are several."""
        names = self.index or ["row"]
        found = {name: sorted(set(values)) for name, values in zip(names, zip(*self.labels, strict=True), strict=False)}
        return {} if not self.index and found.get("row", [0]) == [0] else found

    def positions(self, dimensions: dict[str, list[Any]], rows: list[int]) -> np.ndarray:
        """Where these rows lie on the grid, counted flat. Two rows at one place are refused."""
        flat = np.array(self.runs)[rows]
        for number, values in enumerate(dimensions.values()):
            place = {value: position for position, value in enumerate(values)}
            flat = flat * len(values) + np.array([place[self.labels[row][number]] for row in rows])
        if len(np.unique(flat)) < len(flat):
            raise InvalidStudy(
                f"two rows of one run have the same {', '.join(dimensions)}: the index must tell them apart"
            )
        return flat


def _gather(results: Sequence[Done | None], index: Sequence[str]) -> _Rows:
    finished = [(run, done.rows) for run, done in enumerate(results) if done is not None and done.outcome == OK]
    # Parsed at once: a hundred thousand calls of the parser take longer than the parsing.
    parsed = json.loads(f"[{','.join(text for _, text in finished)}]")
    rows = _Rows(index)
    for (run, _), found in zip(finished, parsed, strict=True):
        for number, row in enumerate(found):
            rows.add(run, number, row)
    return rows


def _stacked(name: str, values: list[Any]) -> np.ndarray:
    """The values as one array; shorter lists are filled up with NaN."""
    if any(isinstance(value, list) for value in values):
        return _padded(name, values)
    texts = sum(isinstance(value, str) for value in values)
    if texts not in (0, len(values)):
        raise InvalidStudy(f"{name!r} is a text in some rows and a number in others")
    return np.array(values) if texts else number_array(values)


def _padded(name: str, values: list[Any]) -> np.ndarray:
    try:
        arrays = [float_array(value) for value in values]
    except (TypeError, ValueError) as fault:
        raise InvalidStudy(f"{name!r} holds lists that are no arrays of numbers: {fault}") from None
    if len({array.ndim for array in arrays}) > 1:
        raise InvalidStudy(f"{name!r} has {arrays[0].ndim} axes in some rows and another number in others")
    kind = np.result_type(*{array.dtype for array in arrays})
    full = np.full((len(arrays), *np.max([array.shape for array in arrays], axis=0)), np.nan, kind)
    for place, array in enumerate(arrays):
        full[place][tuple(slice(length) for length in array.shape)] = array
    return full


def _laid_out(positions: np.ndarray, size: int, values: np.ndarray) -> np.ndarray:
    """The values at their positions; what is not there is NaN, or an empty text."""
    if len(positions) < size:
        values = with_room_for_nan(values)
    empty: Any = {"U": "", "f": np.nan, "O": np.nan}.get(values.dtype.kind, 0)
    full = np.full((size, *values.shape[1:]), empty, values.dtype)
    full[positions] = values
    return full


def _extra_axes(name: str, count: int, axes: dict[str, list[str]]) -> list[str]:
    named = axes.get(name, [])
    return list(named) if len(named) == count else [f"{name}_{number}" for number in range(count)]


def _coordinates(study: Study, points: Sequence[Point]) -> dict[str, Any]:
    """The swept parameters along their dimensions, the derived ones along those that they depend on."""
    coordinates: dict[str, Any] = {}
    depends: dict[str, set[str]] = {}
    for axis in study.grid:
        for number, name in enumerate(axis.names):
            coordinates[name] = (axis.label, _values(value[number] for value in axis.values))
            depends[name] = {axis.label}
    sizes = {axis.label: len(axis.values) for axis in study.grid}
    for formula in study.formulas:
        own = depends[formula.name] = set().union(*(depends.get(name, set()) for name in formula.names))
        everywhere = _values(point[formula.name] for point in points).reshape(tuple(sizes.values()))
        first = tuple(slice(None) if label in own else 0 for label in sizes)
        coordinates[formula.name] = (tuple(label for label in sizes if label in own), everywhere[first])
    return coordinates


def _values(values: Iterable[Any]) -> np.ndarray:
    """Parameters as a coordinate: numbers or texts; anything else, or a mixture, in its canonical spelling."""
    found = list(values)
    for kinds in ((bool,), (int, float), (str,)):
        if all(isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool)) for value in found):
            array = number_array(found) if int in kinds else np.array(found)
            if array.dtype.kind != "O":
                return array
    return np.array([value if isinstance(value, str) else canonical_text(value) for value in found])
