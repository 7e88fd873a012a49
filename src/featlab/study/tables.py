"""Results for other programs: netCDF holds the dataset; CSV and Parquet hold the rows, one a line, with the points."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from featlab.errors import FeatlabError
from featlab.files import check_writable, fault_words, whole
from featlab.study.exact import float_array
from featlab.study.faults import StoreFault

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_LARGEST_INT32 = 2**31 - 1


def export(path: str | Path, destination: str | Path, *, store: str | Path | None = None) -> Path:
    """Write the results of a study (or store) to a .nc, .csv or .parquet file, whole or not at all.

    Args:
        path: a study file, or the store itself.
        destination: its ending says the format.
        store: where the results are, if not beside the file.

    Raises:
        FeatlabError: another ending. StoreFault: it cannot be written.

    Examples:
        >>> import featlab
        >>> def square(point, key):
        ...     return [{"square": point["x"] ** 2}]
        ...
        >>> _ = featlab.study.run(featlab.study.Study(axes={"x": [1, 2, 3]}), square, "squares.sqlite")
        >>> featlab.study.export("squares.sqlite", "squares.csv").name
        'squares.csv'
    """
    destination = Path(destination)
    writers = {".nc": _netcdf, ".csv": _csv, ".parquet": _parquet}
    if destination.suffix not in writers:
        raise FeatlabError(f"export: got {str(destination)!r}, expected a name that ends in {', '.join(writers)}")
    try:
        check_writable(destination)
        with whole(destination) as beside:
            writers[destination.suffix](path, store, beside)
    except OSError as fault:
        raise StoreFault(f"{destination}: cannot be written: {fault_words(fault)}") from fault
    return destination


def unfinished(path: str | Path, store: str | Path | None = None) -> tuple[int, int, int]:
    """How many runs of a study have no result (failed, missing), and how many it has in all."""
    from featlab.study.dataset import load
    from featlab.study.records import FAILED

    results = load(path, store).results
    failed = sum(done is not None and done.outcome == FAILED for done in results)
    return failed, results.count(None), len(results)


def table(path: str | Path, store: str | Path | None = None) -> pd.DataFrame:
    """One line for each row: the point's parameters, `repeat`, then the row; lists as columns `overlap[0,1]`.

    A measured value with the name of a parameter, or `repeat`, is called `measured_<name>`. No number is changed.
    """
    import pandas as pd

    from featlab.study.dataset import load, measured_names
    from featlab.study.records import OK

    opened = load(path, store)
    origins, rows = [], []
    for number, done in enumerate(opened.results):
        if done is None or done.outcome != OK:
            continue
        point, repeat = opened.points[number // opened.study.repeats], number % opened.study.repeats
        origin = {name: value if not isinstance(value, list) else json.dumps(value) for name, value in point.items()}
        found = [_flat(row) for row in json.loads(done.rows)]
        origins += [origin | {"repeat": repeat}] * len(found)
        rows += found
    names = measured_names(dict.fromkeys(name for row in rows for name in row), set().union(*origins))
    lines = [
        origin | {names[name]: value for name, value in row.items()} for origin, row in zip(origins, rows, strict=True)
    ]
    frame = pd.DataFrame(lines)
    return frame.assign(**{name: _exactly(frame, name, lines) for name in frame.columns[frame.dtypes == np.float64]})


def _exactly(frame: pd.DataFrame, name: str, lines: list[dict[str, Any]]) -> pd.Series[Any]:
    """A column that pandas made floats of, for a row without it or with a fraction; its whole numbers as they were."""
    import pandas as pd

    values = [line.get(name) for line in lines]
    exact = float_array(values)
    if exact.dtype == np.float64:
        return frame[name]
    given = [value for value in values if value is not None]
    whole = all(type(value) is int for value in given)
    kinds = {"Int64": (-(2**63), 2**63 - 1), "UInt64": (0, 2**64 - 1)}
    fitting = [kind for kind, (low, high) in kinds.items() if whole and low <= min(given) and max(given) <= high]
    return pd.Series(values, dtype=fitting[0] if fitting else object)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, list):
            flat |= {f"{name}[{','.join(map(str, place))}]": part for place, part in _parts(value, ())}
        else:
            flat[name] = value
    return flat


def _parts(value: Any, place: tuple[int, ...]) -> list[tuple[tuple[int, ...], Any]]:
    if not isinstance(value, list):
        return [(place, value)]
    return [part for number, inner in enumerate(value) for part in _parts(inner, (*place, number))]


def _csv(path: str | Path, store: str | Path | None, destination: Path) -> None:
    table(path, store).to_csv(destination, index=False)


def _parquet(path: str | Path, store: str | Path | None, destination: Path) -> None:
    try:
        import pyarrow
    except ImportError:
        raise FeatlabError('Parquet needs pyarrow; pip install "featlab[cluster]"') from None
    frame = table(path, store)
    try:
        frame.to_parquet(destination, index=False)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError) as fault:
        raise FeatlabError(f"export: Parquet cannot hold these numbers as they are ({fault}); export to .csv") from None


def _netcdf(path: str | Path, store: str | Path | None, destination: Path) -> None:
    from featlab.study.dataset import open as open_dataset

    _narrow(open_dataset(path, store=store)).to_netcdf(destination, engine="scipy")


def _narrow(dataset: xr.Dataset) -> xr.Dataset:
    """netCDF 3 knows no integers beyond 32 bits: those become floats if that changes none of them, or are refused."""
    wide = {}
    for name, variable in dataset.variables.items():
        if variable.dtype.kind in "iuO":
            values = variable.values.tolist()
            floats = float_array(values)
            if floats.dtype != np.float64:
                raise FeatlabError(
                    f"export: {name!r} holds whole numbers beyond 2^53, which netCDF cannot hold exactly; "
                    "export to .csv or .parquet, or let the runner return them as texts"
                )
            if floats.size and np.nanmax(np.abs(floats)) > _LARGEST_INT32:
                wide[name] = variable.copy(data=floats)
    # An attribute beyond 32 bits would be refused by the format: the key, written out.
    key = dataset.attrs["key"]
    return dataset.assign(wide).assign_attrs(key=key if key <= _LARGEST_INT32 else str(key))
