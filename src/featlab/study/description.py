"""What a study is: fixed parameters, axes, derived parameters, repeats, a key, what to observe. Data only.

The points are the product of the axes in the order they are given, the last one running fastest. A study file is TOML;
what is misspelt in it is refused, with a suggestion, before anything runs.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from featlab.study.arithmetic import Formula
from featlab.study.canonical import canonical, canonical_text, words
from featlab.study.faults import InvalidStudy, did_you_mean

Point = dict[str, Any]

_TABLES = ("fixed", "axes", "derived")
_KEYS = ("kind", "key", "repeats", "observe", *_TABLES)
_SUFFIX = ".sqlite"
_KEYS_BELOW = 2**64
_OWN_NAMES = ("repeat", "run_outcome")
_MOST_BYTES = 2**24
# A run has a name, a place in a list and a row in the store: so many bytes at least, and of so many runs a gigabyte.
_RUN_BYTES, _MOST_RUNS = 500, 2 * 10**6


@dataclass(frozen=True)
class Axis:
    """One dimension of the grid: a name and its values; or several names whose values go together (zipped)."""

    names: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]

    @property
    def label(self) -> str:
        """The name of its dimension in a dataset."""
        return "_".join(self.names)


@dataclass(frozen=True)
class Study:
    """A grid of points, each run `repeats` times. The same content as a study file.

    Attributes:
        fixed: parameters that all points share.
        axes: name -> values; zipped axes as ("d", "n") or "d,n" -> pairs.
        derived: name -> formula in the other names, such as {"samples": "round(alpha*dim)"}.
        repeats: how often each point is run, each time with a key of its own.
        key: the root of all randomness.
        observe: what to measure, passed to each point under that name; None leaves it to the runner.

    Examples:
        >>> from featlab.study import Study
        >>> Study(fixed={"target": "He3(h1)"}, axes={"alpha": [1, 2], "dim": [100, 200]}, repeats=3).repeats
        3
    """

    fixed: Mapping[str, Any] = field(default_factory=dict)
    axes: Mapping[Any, Any] = field(default_factory=dict)
    derived: Mapping[str, str] = field(default_factory=dict)
    repeats: int = 1
    key: int = 0
    observe: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not _is_whole(self.repeats) or self.repeats < 1:
            raise InvalidStudy(f"repeats: got {self.repeats!r}, expected a whole number, at least 1")
        if not _is_whole(self.key) or not 0 <= self.key < _KEYS_BELOW:
            raise InvalidStudy(f"key: got {self.key!r}, expected a whole number from 0 to 2^64 - 1")
        listed = isinstance(self.observe, Sequence) and not isinstance(self.observe, str)
        if self.observe is not None and not (listed and all(map(_is_text, self.observe))):
            raise InvalidStudy(f"observe: got {self.observe!r}, expected a list of names")
        self._check_names()
        # Everything is worked out here, so that a study that exists can be run.
        _ = self.formulas
        if (runs := self.size * self.repeats) > _MOST_RUNS:
            raise InvalidStudy(
                f"{self.size:,} points, each run {self.repeats:,} times, are {runs:,} runs, whose names alone take "
                f"{_RUN_BYTES * runs / 1e9:,.1f} GB; expected at most {_MOST_RUNS:,} in one study: split it by an axis "
                "or by `key`, or let each run have more `seeds`"
            )

    @cached_property
    def grid(self) -> tuple[Axis, ...]:
        """The axes, checked and in canonical form."""
        return tuple(_axis(names, values) for names, values in self.axes.items())

    @cached_property
    def formulas(self) -> tuple[Formula, ...]:
        """The derived parameters, each after those it is made from."""
        waiting = {name: Formula(name, text) for name, text in self.derived.items()}
        known = [*self.fixed, *(name for axis in self.grid for name in axis.names)]
        for formula in waiting.values():
            for name in sorted(formula.names - {*known, *waiting}):
                hint = did_you_mean(name, [*known, *waiting])
                raise InvalidStudy(f"derived {formula.name!r}: unknown name {name!r} in {formula.text!r}{hint}")
        ordered: list[Formula] = []
        while waiting:
            ready = [formula for formula in waiting.values() if not formula.names & set(waiting)]
            if not ready:
                raise InvalidStudy(f"derived {', '.join(map(repr, waiting))}: each needs the other")
            ordered += ready
            waiting = {name: formula for name, formula in waiting.items() if formula not in ready}
        return tuple(ordered)

    @cached_property
    def helpers(self) -> frozenset[str]:
        """Names that formulas use: such a parameter may be unknown to the runner."""
        return frozenset().union(*(formula.names for formula in self.formulas))

    @property
    def names(self) -> list[str]:
        """Every parameter of a point."""
        swept = [name for axis in self.grid for name in axis.names]
        observed = [] if self.observe is None else ["observe"]
        return [*self.fixed, *swept, *(formula.name for formula in self.formulas), *observed]

    @property
    def size(self) -> int:
        """The number of points."""
        return prod(len(axis.values) for axis in self.grid)

    def points(self) -> Iterator[Point]:
        """The points in the order of the grid, in canonical form."""
        shared = {name: canonical(name, value) for name, value in self.fixed.items()}
        if self.observe is not None:
            shared["observe"] = list(self.observe)
        names = [name for axis in self.grid for name in axis.names]
        for chosen in product(*(axis.values for axis in self.grid)):
            point = {**shared, **dict(zip(names, (value for part in chosen for value in part), strict=True))}
            for formula in self.formulas:
                point[formula.name] = canonical(formula.name, formula.at(point))
            yield point

    def to_dict(self) -> dict[str, Any]:
        """Its content as JSON knows it; `Study(**study.to_dict())` is the same study."""
        return {
            "fixed": {name: canonical(name, value) for name, value in self.fixed.items()},
            "axes": {
                ",".join(axis.names): [list(value) if len(axis.names) > 1 else value[0] for value in axis.values]
                for axis in self.grid
            },
            "derived": dict(self.derived),
            "repeats": self.repeats,
            "key": self.key,
            "observe": None if self.observe is None else list(self.observe),
        }

    def _check_names(self) -> None:
        seen: dict[str, str] = {} if self.observe is None else {"observe": "observe"}
        swept = [name for axis in self.grid for name in axis.names]
        for place, names in (("fixed", self.fixed), ("axes", swept), ("derived", self.derived)):
            for name in names:
                if not _is_text(name) or not name.isidentifier():
                    raise InvalidStudy(f"{place}: got the name {name!r}, expected letters, digits and underscores")
                if name in _OWN_NAMES:
                    raise InvalidStudy(f"{place}: {name!r} is what a study calls its own results; choose another name")
                if name in seen:
                    where = place if place == seen[name] else f"{seen[name]} and in {place}"
                    raise InvalidStudy(f"{name!r} is given twice, in {where}; keep one of them")
                seen[name] = place
        for name, value in self.fixed.items():
            canonical(name, value)


def _axis(names: str | tuple[str, ...], values: Any) -> Axis:
    parts = tuple(part.strip() for part in names.split(",")) if isinstance(names, str) else tuple(names)
    shown = ",".join(parts)
    if hasattr(values, "tolist"):
        values = values.tolist()
    if not isinstance(values, list | tuple | range):
        raise InvalidStudy(f"axis {shown!r}: got {values!r}, expected a list of values; one value belongs in fixed")
    if not values:
        raise InvalidStudy(f"axis {shown!r} is empty: the study would have no points; give it values or remove it")
    canonical_values = tuple(tuple(_together(parts, shown, value)) for value in values)
    _refuse_duplicates(parts, canonical_values)
    return Axis(parts, canonical_values)


def _together(names: tuple[str, ...], shown: str, value: Any) -> list[Any]:
    """The values of the names of one axis at one place."""
    spelled = canonical(shown, value)
    if len(names) == 1:
        return [spelled]
    if not isinstance(spelled, list) or len(spelled) != len(names):
        raise InvalidStudy(f"axis {shown!r}: got {value!r}, expected {len(names)} values, one for each name")
    return spelled


def _refuse_duplicates(names: tuple[str, ...], values: tuple[tuple[Any, ...], ...]) -> None:
    """Two equal values of one axis would be two equal points; values of a grid without them give distinct points."""
    seen: set[Any] = set()
    for value in values:
        # The type tells true from 1; a list cannot be in a set, its spelling can.
        spelled = tuple((type(part), canonical_text(part) if isinstance(part, list) else part) for part in value)
        if spelled in seen:
            given = words(dict(zip(names, value, strict=True)))
            raise InvalidStudy(
                f"axis {','.join(names)!r}: {given} is given twice; to run points again, raise `repeats`"
            )
        seen.add(spelled)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


@dataclass(frozen=True)
class StudyFile:
    """A study file: where it lies, what runs its points (`kind`), and the study."""

    path: Path
    kind: str
    study: Study

    @property
    def store(self) -> Path:
        """Where its results are kept unless said otherwise: beside it."""
        return self.path.with_suffix(_SUFFIX)


def read_study(path: str | Path) -> StudyFile:
    """Read a study file.

    Args:
        path: a file in TOML.

    Raises:
        InvalidStudy: if it cannot be read, is no TOML, or has a key that no study has.

    Examples:
        >>> from pathlib import Path
        >>> from featlab.study import read_study
        >>> _ = Path("sweep.toml").write_text('kind = "simulate"\\naxes.samples = [100, 200]')
        >>> read_study("sweep.toml").kind
        'simulate'
    """
    path = Path(path)
    try:
        with path.open("rb") as file:  # which may be a pipe, and a device may have no end
            text = file.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise InvalidStudy(f"{path}: is larger than {_MOST_BYTES:,} bytes, which no study file is")
        content = tomllib.loads(text.decode("utf-8-sig"))  # some editors begin a file with a mark
    except OSError as fault:
        raise InvalidStudy(f"{path}: cannot be read: {fault.strerror or fault}") from None
    except UnicodeDecodeError as fault:
        raise InvalidStudy(f"{path}: is no text in UTF-8: {fault.reason} at byte {fault.start}") from None
    except tomllib.TOMLDecodeError as fault:
        raise InvalidStudy(f"{path}: is no TOML: {fault}") from None
    try:
        return StudyFile(path, *_understood(content))
    except InvalidStudy as fault:
        raise InvalidStudy(f"{path}: {fault}") from None


def _understood(content: dict[str, Any]) -> tuple[str, Study]:
    for name, value in content.items():
        if name not in _KEYS:
            raise InvalidStudy(_unknown(name))
        if name in _TABLES and not isinstance(value, dict):
            raise InvalidStudy(f"{name}: got {value!r}, expected a table [{name}]")
    kind = content.pop("kind", None)
    if not isinstance(kind, str):
        raise InvalidStudy(f"kind: got {kind!r}, expected what runs a point, such as 'simulate' or 'module:function'")
    return kind, Study(**content)


def _unknown(name: str) -> str:
    hint = did_you_mean(name, _KEYS) or f"; there are {', '.join(_KEYS)}, and parameters belong in [fixed] or [axes]"
    return f"unknown key {name!r}{hint}"
