"""Results for other programs: netCDF holds the dataset; CSV and Parquet hold the rows, one a line, with the points."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from featlab.errors import FeatlabError
from featlab.files import check_writable, fault_words, whole
from featlab.study.faults import StoreFault

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_LARGEST_INT32 = 2**31 - 1


def export(path: str | Path, destination: str | Path, *, store: str | Path | None = None) -> Path:
    """Write the results of a study (or store) to a .nc, .csv or .parquet file, whole or not at all."""
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
    """One line for each row: the point's parameters, `repeat`, then the row; lists as columns `overlap[0,1]`."""
    import pandas as pd

    from featlab.study.dataset import load
    from featlab.study.records import OK

    opened = load(path, store)
    lines = []
    for number, done in enumerate(opened.results):
        if done is None or done.outcome != OK:
            continue
        point, repeat = opened.points[number // opened.study.repeats], number % opened.study.repeats
        origin = {name: value if not isinstance(value, list) else json.dumps(value) for name, value in point.items()}
        lines += [origin | {"repeat": repeat} | _flat(row) for row in json.loads(done.rows)]
    return pd.DataFrame(lines)


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
        import pyarrow  # noqa: F401
    except ImportError:
        raise FeatlabError('Parquet needs pyarrow; pip install "featlab[cluster]"') from None
    table(path, store).to_parquet(destination, index=False)


def _netcdf(path: str | Path, store: str | Path | None, destination: Path) -> None:
    from featlab.study.dataset import open as open_dataset

    _narrow(open_dataset(path, store=store)).to_netcdf(destination, engine="scipy")


def _narrow(dataset: xr.Dataset) -> xr.Dataset:
    """netCDF 3 knows no integers beyond 32 bits: those become floats, exact up to 2^53."""
    wide = {
        name: variable.astype("float64")
        for name, variable in dataset.variables.items()
        if variable.dtype.kind in "iu" and variable.size and abs(variable.astype("float64")).max() > _LARGEST_INT32
    }
    return dataset.assign(wide)
