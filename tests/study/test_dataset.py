"""Results as a dataset: laid out by what they are, not by when they came; exported without loss."""

from __future__ import annotations

import gc
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from featlab.errors import FeatlabError
from featlab.study import InvalidStudy, Runner, StoreFault, Study, export, run
from featlab.study import open as open_study
from featlab.study.identity import runs_of
from featlab.study.records import perform
from featlab.study.store import Store
from featlab.study.tables import table
from tests.study.tiny import CURVE, curve, failing, run_point

GRID = Study(
    fixed={"a": "h"},
    axes={"x": [1, 2.5], ("d", "n"): [(10, 5), (20, 6), (30, 6)]},
    derived={"m": "x*d", "size": "d + n"},
    repeats=2,
    key=3,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.sqlite"


def test_the_layout(path: Path) -> None:
    run(GRID, CURVE, path)
    dataset = open_study(path)
    assert dict(dataset.sizes) == {"x": 2, "d_n": 3, "repeat": 2, "time": 3, "part": 2}
    assert dataset["level"].dims == ("x", "d_n", "repeat", "time")
    assert dataset["pair"].dims == ("x", "d_n", "repeat", "time", "part")
    assert dataset["word"].dtype.kind == "U"
    assert dataset["d"].dims == dataset["n"].dims == dataset["size"].dims == ("d_n",)
    assert dataset["m"].dims == ("x", "d_n")
    np.testing.assert_array_equal(dataset["m"], [[10, 20, 30], [25, 50, 75]])
    np.testing.assert_array_equal(dataset["size"], [15, 26, 36])
    np.testing.assert_array_equal(dataset["time"], [0, 0.5, 2])
    assert float(dataset["level"].sel(x=2.5, time=2).isel(d_n=1, repeat=0)) == 5.0
    assert dataset.attrs["fixed"] == '{"a":"h"}'
    assert set(dataset["run_outcome"].values.ravel()) == {"ok"}


def test_a_measured_value_with_the_name_of_an_axis(path: Path) -> None:
    study = Study(axes={"ridge": [1.0, 2.0]})
    run(study, Runner(lambda point, key: [{"ridge": 2 * point["ridge"]}], name="doubled"), path)
    dataset = open_study(path)
    np.testing.assert_array_equal(dataset["ridge"], [1, 2])
    np.testing.assert_array_equal(dataset["measured_ridge"], [2, 4])


def test_every_value_is_where_its_point_is(path: Path) -> None:
    run(GRID, run_point, path)
    dataset = open_study(path)
    places = np.ndindex(2, 3, 2)
    for place, one in zip(places, runs_of(GRID, Runner(run_point)), strict=True):
        (row,) = run_point(one.point, one.key)
        assert {name: dataset[name].values[place] for name in row} == row


def test_the_order_of_arrival_does_not_matter(tmp_path: Path) -> None:
    datasets = []
    for seed in range(2):
        runs = runs_of(GRID, CURVE)
        random.Random(seed).shuffle(runs)
        path = tmp_path / f"{seed}.sqlite"
        run(Study(fixed={"x": 9}), CURVE, path)  # another study in the same store
        with Store(path) as store:
            for one in runs:
                store.add(perform(curve, one))
        run(GRID, CURVE, path)
        datasets.append(open_study(path))
    xr.testing.assert_identical(*datasets)


def test_missing_and_failed_runs_are_marked(path: Path, tmp_path: Path) -> None:
    study = Study(fixed={"marks": str(tmp_path)}, axes={"x": [1, 2, 6]})
    run(study, failing, path)
    larger = Study(fixed={"marks": str(tmp_path)}, axes={"x": [1, 2, 6, 7]})
    with Store(path) as store:
        content = store.study()
        store.adopt({**content, "study": larger.to_dict()})
    dataset = open_study(path)
    assert dataset["run_outcome"].values.tolist() == ["ok", "failed", "ok", "missing"]
    assert np.isnan(dataset["y"].values).tolist() == [False, True, False, True]
    assert dataset["k"].dtype == np.float64


def test_numbers_come_back_bit_by_bit(path: Path) -> None:
    values = [0.1, 1e-310, -0.0, float("inf"), float("nan"), 2.0**-1074, 1 / 3]
    rows = [{"y": np.float32(value), "z": value, "i": np.int64(2**62) + 1, "b": True} for value in values]
    with np.errstate(under="ignore"):
        run(Study(), lambda point, key: rows, path)
    dataset = open_study(path)
    assert dataset["z"].values.tobytes() == np.array(values).tobytes()
    assert dataset["y"].values.astype(np.float32).tobytes() == np.array(values, np.float32).tobytes()
    assert dataset["i"].values.tolist() == [2**62 + 1] * len(values)
    assert dataset["b"].dtype == np.bool_
    assert dataset["z"].dims == ("row",)


def test_lists_of_different_lengths_are_filled_up(path: Path) -> None:
    run(Study(axes={"x": [1, 3]}), lambda point, key: [{"w": [[1.0] * point["x"]] * 2}], path)
    dataset = open_study(path)
    assert dataset["w"].dims == ("x", "w_0", "w_1")
    np.testing.assert_array_equal(dataset["w"], [[[1, np.nan, np.nan]] * 2, [[1, 1, 1]] * 2])


@pytest.mark.parametrize(
    ("rows", "index", "message"),
    [
        ([{"y": 1}, {"y": 2}], ("time",), "a row has no 'time'"),
        ([{"time": 1, "y": 1}, {"time": 1, "y": 2}], ("time",), "two rows of one run have the same time"),
        ([{"y": 1}, {"y": "a"}], (), "'y' is a text in some rows and a number in others"),
        ([{"y": [1]}, {"y": [[1]]}], (), "'y' has 1 axes in some rows"),
        ([{"y": ["a"]}], (), "lists that are no arrays of numbers"),
    ],
)
def test_rows_that_fit_no_dataset(rows: Any, index: tuple[str, ...], message: str, path: Path) -> None:
    run(Study(), Runner(lambda point, key: rows, "rows", index=index), path)
    with pytest.raises(InvalidStudy, match=message):
        open_study(path)


def test_parameters_that_are_no_numbers(path: Path) -> None:
    study = Study(axes={"x": [1], "name": ["a", "b"], "flag": [True, False], "mixed": [1, "c", [1, 2]]})
    run(study, run_point, path)
    dataset = open_study(path)
    assert dataset["flag"].values.tolist() == [True, False]
    assert dataset["mixed"].values.tolist() == ["1", "c", "[1,2]"]
    assert dataset["y"].sel(name="b", mixed="[1,2]").shape == (1, 2)


def test_the_garbage_collector_is_as_before(path: Path) -> None:
    assert gc.isenabled()
    with pytest.raises(StoreFault):
        open_study(path)
    run(Study(axes={"x": [1]}), run_point, path)
    open_study(path)
    assert gc.isenabled()
    gc.disable()
    try:
        open_study(path)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_nothing_done_yet(path: Path) -> None:
    with pytest.raises(StoreFault, match="there is no such store"):
        open_study(path)
    run(Study(axes={"x": [1, 2]}), lambda point, key: [], path)
    assert dict(open_study(path).sizes) == {"x": 2}


def test_exports_hold_the_same_numbers(path: Path, tmp_path: Path) -> None:
    study = Study(fixed={"big": 10**10}, axes={"x": [1, 2], "n": [10**10, 5]}, repeats=2)
    run(study, CURVE, path)
    dataset = open_study(path)
    with xr.open_dataset(export(path, tmp_path / "out.nc"), engine="scipy") as netcdf:
        xr.testing.assert_equal(netcdf, dataset)  # equal in value: integers beyond 32 bits are floats
        assert netcdf["n"].dtype == np.float64
        assert netcdf.attrs["fixed"] == dataset.attrs["fixed"]
    rows = table(path)
    assert list(rows.columns) == ["big", "x", "n", "repeat", "time", "level", "pair[0]", "pair[1]", "word"]
    assert len(rows) == 2 * 2 * 2 * 3
    flat = dataset["level"].transpose("x", "n", "repeat", "time").values.ravel()
    np.testing.assert_array_equal(rows["level"], flat)
    csv = pd.read_csv(export(path, tmp_path / "out.csv"))
    pd.testing.assert_frame_equal(csv, rows, check_dtype=False, check_exact=True)
    pd.testing.assert_frame_equal(pd.read_parquet(export(path, tmp_path / "out.parquet")), rows, check_exact=True)


def test_exports_that_cannot_be_written(path: Path, tmp_path: Path) -> None:
    run(Study(axes={"x": [1]}), run_point, path)
    with pytest.raises(FeatlabError, match=r"expected a name that ends in .nc, .csv, .parquet"):
        export(path, tmp_path / "out.xlsx")
    with pytest.raises(StoreFault, match="cannot be written"):
        export(path, tmp_path / "none" / "out.csv")
    assert not [file for file in tmp_path.iterdir() if "out" in file.name]
