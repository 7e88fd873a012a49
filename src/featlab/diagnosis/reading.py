"""Data of a user as numbers: from arrays, tables and files; what is wrong with them is an error or a warning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from featlab.diagnosis.faults import UnusableData, look_at_labels, look_for_copies, on_a_scale, some, varying
from featlab.diagnosis.responses import MOST_CLASSES
from featlab.diagnosis.sizes import check_fits
from featlab.errors import FeatlabError, InvalidParameter
from featlab.gaussian.hermite import Floats

MOST_NUMBERS = 100_000_000  # of inputs that are looked at, .8 GB
LEAST_ROWS = 30
_SOME_MISSING = 0.5  # columns with a larger share of missing values are left out
_FORMATS = (".csv", ".parquet", ".npz")


@dataclass(frozen=True, eq=False)
class Table:
    """Inputs (n, d) and labels (n,) as finite numbers, rows in random order, columns that vary, and what was done."""

    inputs: Floats
    labels: Floats
    columns: tuple[str, ...]
    label: str
    given_rows: int
    given_columns: int
    missing: int
    classes: tuple[str, ...] | None
    warnings: tuple[str, ...]


def read_file(path: Path, label: str) -> tuple[Any, Any]:
    """Inputs and labels of a CSV, Parquet or NPZ file; of an NPZ, `label` names the labels, the other array is X."""
    kind = path.suffix.lower()
    if kind not in _FORMATS:
        raise InvalidParameter("data", str(path), f"a file whose name ends in {', '.join(_FORMATS)}")
    if kind == ".parquet" and find_spec("pyarrow") is None:
        raise FeatlabError("a Parquet file needs pyarrow: pip install 'featlab[cluster]'")
    try:
        check_fits(path)
        if kind == ".npz":
            return _read_npz(path, label)
        import pandas

        if kind == ".csv":
            table = pandas.read_csv(path, low_memory=False)
        else:
            table = pandas.read_parquet(path, engine="pyarrow")
    except (ValueError, EOFError, BadZipFile) as fault:  # parsing errors, bad encodings, objects in an NPZ
        raise UnusableData(f"{path}: not a readable {kind[1:].upper()} file: {_first_line(fault)}") from fault
    except OSError as fault:
        if fault.errno is None:  # pyarrow's word for a file that is no Parquet
            raise UnusableData(f"{path}: not a readable {kind[1:].upper()} file: {_first_line(fault)}") from fault
        raise
    names = [str(name) for name in table.columns]
    if label not in names:
        raise InvalidParameter("label", label, f"one of the columns of {path.name}: {some(names)}")
    if names.count(label) > 1:
        raise InvalidParameter("label", label, f"a name that only one column of {path.name} has")
    place = names.index(label)
    return table.drop(columns=table.columns[place]), table.iloc[:, place]


def _read_npz(path: Path, label: str) -> tuple[Any, Any]:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        others = [name for name in arrays.files if name != label]
        if label not in arrays.files or len(others) != 1:
            held = f"arrays {some(arrays.files)}"
            raise UnusableData(f"{path}: {held}; expected two, the labels {label!r} and the inputs (n, d)")
        return arrays[others[0]], arrays[label]


def table_of(inputs: Any, labels: Any, *, label: str | None = None, seed: int = 0) -> Table:
    """Inputs (n, d), an array or a table with named columns, and labels (n,), as a `Table`.

    Raises:
        UnusableData: if nothing can be said of them.
    """
    warnings: list[str] = []
    names, columns = _named_columns(inputs)
    outcome, name, classes = _numeric_labels(labels, label, warnings)
    if isinstance(columns, np.ndarray):
        matrix = columns
    else:
        names, matrix = _numeric_columns(names, columns, warnings)
    if len(matrix) != len(outcome):
        raise UnusableData(f"X has {len(matrix)} rows and y has {len(outcome)}: one label for each row is expected")
    given, draw = matrix.shape, np.random.default_rng(seed)
    order = draw.permutation(len(matrix))
    most = max(LEAST_ROWS, MOST_NUMBERS // max(1, matrix.shape[1]))
    if len(order) > most:
        warnings.append(f"{most:,} of {len(order):,} rows are looked at, drawn at random, to bound memory")
        order = order[:most]
    matrix, outcome = np.asarray(matrix[order], dtype=np.float64), outcome[order]
    matrix[~np.isfinite(matrix)] = np.nan
    missing = int(np.isnan(matrix).sum())
    names, matrix, outcome = _without_missing(names, matrix, outcome, warnings)
    names, matrix = varying(*on_a_scale(names, matrix, warnings), warnings)
    look_at_labels(outcome, name, classes, warnings)
    look_for_copies(names, matrix, outcome, name, warnings)
    return Table(matrix, outcome, tuple(names), name, given[0], given[1], missing, classes, tuple(warnings))


def _named_columns(inputs: Any) -> tuple[list[str], Any]:
    """Names, and either a numeric array (n, d) or the columns one by one."""
    if hasattr(inputs, "iloc") and hasattr(inputs, "columns"):
        return [str(name) for name in inputs.columns], [inputs.iloc[:, place] for place in range(inputs.shape[1])]
    found = _array("X", inputs)
    if found.ndim == 1:
        found = found[:, None]
    if found.ndim != 2 or not found.size:
        raise UnusableData(f"X has the shape {found.shape}: a table (n, d) with rows and columns is expected")
    names = [f"x{place + 1}" for place in range(found.shape[1])]
    numeric = found.dtype.kind in "fiub"
    return names, found if numeric else [found[:, place] for place in range(found.shape[1])]


def _array(name: str, given: Any) -> np.ndarray:
    """What was given as an array, what is masked being missing; a sparse matrix, or rows of different lengths, are
    none."""
    if np.ma.isMaskedArray(given):
        given = np.ma.filled(given.astype(np.float64 if given.dtype.kind in "fiub" else object), np.nan)
    try:
        found = np.asarray(given)
    except ValueError as fault:
        raise UnusableData(f"{name}: {_first_line(fault)}; rows of the same length are expected") from fault
    if not found.ndim:
        kind = f"{type(given).__module__}.{type(given).__qualname__}"
        raise UnusableData(f"{name} is a {kind}: an array or a table is expected; a sparse matrix has .toarray()")
    return found


def _numbers(name: str, column: Any, warnings: list[str]) -> Floats | None:
    """A column as numbers, what is not one being missing; None for text, dates and others."""
    import pandas

    series = pandas.Series(column)
    if series.dtype.kind in "fiub":
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    if series.dtype.kind in "mMc" or isinstance(series.dtype, pandas.CategoricalDtype):
        return None
    found = pandas.to_numeric(series, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    text = int(np.isnan(found).sum() - series.isna().sum())
    if len(series) - text - series.isna().sum() <= text:
        return None
    if text:
        warnings.append(f"{text:,} values of {name!r} are text among numbers, and count as missing")
    return found


def _numeric_columns(names: Sequence[str], columns: Sequence[Any], warnings: list[str]) -> tuple[list[str], Floats]:
    read = (_numbers(name, column, warnings) for name, column in zip(names, columns, strict=True))
    found = {place: numbers for place, numbers in enumerate(read) if numbers is not None}
    text = [name for place, name in enumerate(names) if place not in found]
    if not names:
        raise UnusableData("there is no column besides the label: a label needs inputs")
    if not found:
        raise UnusableData(f"none of the columns {some(names)} is numeric; code categories as numbers first")
    if text:
        warnings.append(f"not numeric, left out: {some(text)}; code categories as columns of 0 and 1 to keep them")
    return [names[place] for place in found], np.column_stack(list(found.values()))


def _numeric_labels(labels: Any, label: str | None, warnings: list[str]) -> tuple[Floats, str, tuple[str, ...] | None]:
    name = label or str(getattr(labels, "name", None) or "y")
    column = labels if hasattr(labels, "iloc") else _array(f"the label {name!r}", labels)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column.iloc[:, 0] if hasattr(column, "iloc") else column[:, 0]
    if column.ndim != 1:
        raise UnusableData(f"the label {name!r} has the shape {column.shape}: one number for each row is expected")
    numbers = _numbers(name, column, warnings)
    if numbers is not None:
        return np.where(np.isfinite(numbers), numbers, np.nan), name, None
    import pandas

    series = pandas.Series(column)
    known = series.notna().to_numpy()
    classes, codes = np.unique(series[known].astype(str).to_numpy(dtype=str), return_inverse=True)
    if not 2 <= len(classes) <= MOST_CLASSES:
        raise UnusableData(
            f"the label {name!r} is no number and has {len(classes)} different values, such as an id, a name or a "
            f"date: a number, or 2 to {MOST_CLASSES} classes, is expected"
        )
    if len(classes) > 2:
        warnings.append(
            f"the {len(classes)} classes of {name!r} are coded 0, 1, .. in alphabetical order: what is said of the "
            "label itself depends on it, what is said of functions of the label does not"
        )
    outcome = np.full(len(series), np.nan)
    outcome[known] = codes
    return outcome, name, tuple(str(one) for one in classes)


def _without_missing(
    names: list[str], matrix: Floats, outcome: Floats, warnings: list[str]
) -> tuple[list[str], Floats, Floats]:
    gone = np.isnan(matrix)
    sparse = gone.mean(axis=0) > _SOME_MISSING
    if sparse.all():
        raise UnusableData("more than half of every column is missing")
    if sparse.any():
        warnings.append(f"more than half missing, left out: {some(np.array(names)[sparse])}")
        names, matrix, gone = (
            [n for n, bad in zip(names, sparse, strict=True) if not bad],
            matrix[:, ~sparse],
            gone[:, ~sparse],
        )
    bad = gone.any(axis=1) | np.isnan(outcome)
    if bad.any():
        warnings.append(f"{bad.sum():,} of {len(bad):,} rows have missing or infinite values and are left out")
        matrix, outcome = matrix[~bad], outcome[~bad]
    if len(matrix) < LEAST_ROWS:
        remedy = "; fill in missing values first, or leave out the columns that have them" if bad.any() else ""
        raise UnusableData(f"{len(matrix)} rows to look at, at least {LEAST_ROWS} are needed{remedy}")
    return names, matrix, outcome


def _first_line(fault: Exception) -> str:
    return (str(fault).splitlines() or [type(fault).__name__])[0]
