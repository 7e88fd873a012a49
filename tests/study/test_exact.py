"""No number changes on its way from a runner to a dataset, a table or a file: it is kept exactly, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from featlab.errors import FeatlabError
from featlab.study import InvalidStudy, Runner, Study, export, run
from featlab.study import open as open_study
from featlab.study.exact import float_array, number_array, with_room_for_nan
from featlab.study.tables import table

LARGE = 2**60


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.sqlite"


def rows_of(path: Path, values: list[Any], **options: Any) -> Path:
    """A store of one point for each value, which is its only row, except None, which has none."""

    def run_point(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
        value = values[point["x"]]
        return [{"other": 0}] if value is None else [{"n": value, "other": 0}]

    run(Study(axes={"x": range(len(values))}, **options), Runner(run_point, "values"), path)
    return path


LIMITS = st.sampled_from([2**53, 2**53 + 1, 2**64])
NUMBERS = st.one_of(st.integers(-(2**70), 2**70), st.floats(allow_nan=False), LIMITS)


@given(st.lists(NUMBERS, min_size=1))
def test_arrays_hold_every_number_exactly(values: list[Any]) -> None:
    for array in (number_array(values), float_array(values), with_room_for_nan(number_array(values))):
        assert all(kept == value for kept, value in zip(array.tolist(), values, strict=True))
    assert float_array([values, values]).tolist() == [float_array(values).tolist()] * 2


def test_the_type_is_the_plainest_that_does() -> None:
    assert number_array([1, 2]).dtype == np.int64
    assert number_array([1, 2**63]).dtype == np.uint64
    assert number_array([-1, 2**63]).dtype == np.float64  # 2^63 is a float
    assert number_array([-1, 2**63 + 1]).dtype == object
    assert number_array([1, 0.5]).dtype == np.float64
    assert number_array([LARGE + 1, 0.5]).dtype == object
    assert number_array([None, 2.0]).dtype == np.float64
    assert with_room_for_nan(number_array([1, 2**53])).dtype == np.float64
    assert with_room_for_nan(number_array([2**53 + 1])).dtype == object
    assert float_array([10**400, None]).tolist()[0] == 10**400


@pytest.mark.parametrize(
    "values",
    [
        [2**63 + 1, 1],  # NumPy makes floats of these
        [12496523682683415553, 3, None],  # and of these, to have room for NaN
        [LARGE + 1, LARGE + 2],
        [LARGE + 1, -LARGE - 1, None],
        [LARGE + 1, 0.5],
    ],
)
def test_whole_numbers_stay_whole(values: list[Any], path: Path, tmp_path: Path) -> None:
    rows_of(path, values)
    found = open_study(path)["n"].values.tolist()
    kept = [value for value in values if value is not None]
    assert [value for value in found if value == value] == kept
    assert [value for value in table(path)["n"] if not pd.isna(value)] == kept
    written = pd.read_csv(export(path, tmp_path / "out.csv"), dtype=str)["n"].dropna()
    assert [float(text) if "." in text else int(text) for text in written] == kept
    with pytest.raises(FeatlabError, match=r"'n' holds whole numbers beyond 2\^53.*export to .csv or .parquet, or let"):
        export(path, tmp_path / "out.nc")
    assert not (tmp_path / "out.nc").exists()
    if 0.5 in values:
        with pytest.raises(FeatlabError, match=r"Parquet cannot hold these numbers as they are .* export to .csv"):
            export(path, tmp_path / "out.parquet")
    else:
        back = pd.read_parquet(export(path, tmp_path / "out.parquet"))["n"]
        assert [int(value) for value in back.dropna()] == kept


def test_lists_of_whole_numbers(path: Path) -> None:
    rows_of(path, [[LARGE + 1, 2], [1]])
    found = open_study(path)["n"].values
    assert found[0].tolist() == [LARGE + 1, 2]
    assert np.isnan(found[1][1])


@pytest.mark.parametrize("values", [[2**53, 2**53 + 1], [LARGE + 1, LARGE + 2], [2**70, 2**70 + 1], [0.5, LARGE + 1]])
def test_values_of_an_axis_do_not_collide(values: list[Any], path: Path, tmp_path: Path) -> None:
    run(Study(axes={"x": values}), Runner(lambda point, key: [{"y": str(point["x"])}], "named"), path)
    dataset = open_study(path)
    assert len(set(dataset["x"].values.tolist())) == 2
    assert [str(value) for value in dataset["x"].values.tolist()] == dataset["y"].values.tolist()
    assert [str(value) for value in table(path)["x"]] == dataset["y"].values.tolist()
    if dataset["x"].dtype.kind != "U":
        with pytest.raises(FeatlabError, match="'x' holds whole numbers beyond"):
            export(path, tmp_path / "out.nc")


def test_netcdf_holds_what_a_float_holds(path: Path, tmp_path: Path) -> None:
    rows_of(path, [2**53, 2**40, None], key=2**64 - 1)
    dataset = open_study(path)
    assert dataset.attrs["key"] == 2**64 - 1
    with xr.open_dataset(export(path, tmp_path / "out.nc"), engine="scipy") as netcdf:
        np.testing.assert_array_equal(netcdf["n"], dataset["n"])
        assert netcdf.attrs["key"] == str(2**64 - 1)


def test_a_measured_value_with_a_name_of_the_study(path: Path) -> None:
    def run_point(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
        return [{"repeat": 7, "x": -1, "run_outcome": 3, "measured_x": 5}]

    run(Study(axes={"x": [1, 2]}, repeats=2), Runner(run_point, "clashing"), path)
    rows, dataset = table(path), open_study(path)
    assert rows["repeat"].tolist() == [0, 1, 0, 1]
    assert rows["x"].tolist() == [1, 1, 2, 2]
    assert set(rows["measured_repeat"]) == {7}
    assert (set(rows["measured_x"]), set(rows["measured_measured_x"])) == ({5}, {-1})
    assert dataset["repeat"].values.tolist() == [0, 1]
    assert set(dataset["run_outcome"].values.ravel()) == {"ok"}
    for name, value in (("repeat", 7), ("run_outcome", 3), ("x", 5), ("measured_x", -1)):
        assert set(dataset[f"measured_{name}"].values.ravel()) == {value}


def test_a_repeat_of_the_rows_has_one_name_in_tables_and_datasets(path: Path) -> None:
    """Also of a study without repeats, whose dataset has no such dimension."""
    run(Study(axes={"x": [1, 2]}), Runner(lambda point, key: [{"repeat": 7}], "clashing"), path)
    assert set(table(path)["measured_repeat"]) == set(open_study(path)["measured_repeat"].values) == {7}
    assert set(table(path)["repeat"]) == {0}


def test_an_index_with_a_name_of_the_study(path: Path) -> None:
    run(Study(axes={"x": [1, 2]}), Runner(lambda point, key: [{"x": 3, "y": 1}], "twice", index=("x",)), path)
    with pytest.raises(InvalidStudy, match="the rows' index 'x' is also the study's"):
        open_study(path)


@pytest.mark.parametrize("name", ["repeat", "run_outcome"])
def test_parameters_cannot_have_the_names_of_results(name: str) -> None:
    with pytest.raises(InvalidStudy, match="choose another name"):
        Study(axes={name: [1, 2]})
