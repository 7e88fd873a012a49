"""Bad data: a warning or an error that says what to do, never a traceback of somebody else."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas
import pytest
from scipy.sparse import csr_matrix

import featlab
from featlab.diagnosis import UnusableData, sizes
from featlab.diagnosis.reading import read_file, table_of
from featlab.machine import Memory

ROWS = 60


def good() -> tuple[Any, Any]:
    draw = np.random.default_rng(0)
    return draw.standard_normal((ROWS, 3)), draw.standard_normal(ROWS)


def warned(inputs: Any, labels: Any) -> str:
    return " | ".join(table_of(inputs, labels).warnings)


def test_good_data_are_not_complained_of() -> None:
    table = table_of(*good())
    assert not table.warnings
    assert table.columns == ("x1", "x2", "x3")
    assert sorted(table.labels) == sorted(good()[1])


def test_constant_columns_are_left_out() -> None:
    inputs, labels = good()
    inputs[:, 1] = 1e9 + 0.1
    assert "constant, left out: 'x2'" in warned(inputs, labels)
    with pytest.raises(UnusableData, match="every column is constant"):
        table_of(np.ones((ROWS, 2)), labels)


def test_missing_values() -> None:
    inputs, labels = good()
    inputs[:5, 0], inputs[7, 1], labels[9] = np.nan, np.inf, np.nan
    table = table_of(inputs, labels)
    assert "7 of 60 rows have missing or infinite values" in table.warnings[0]
    assert len(table.labels) == ROWS - 7
    masked = np.ma.masked_array(good()[0], good()[0] > 2)  # what is masked is missing, whatever lies beneath
    assert f"{(masked.data > 2).any(axis=1).sum()} of 60 rows have missing" in warned(masked, good()[1])
    few = np.ma.masked_array(np.arange(ROWS) % 7, np.arange(ROWS) == 3)
    assert "1 of 60 rows have missing" in warned(good()[0], few)
    inputs[:40, 2] = np.nan
    assert "more than half missing, left out: 'x3'" in warned(inputs, labels)
    inputs[:] = np.nan
    with pytest.raises(UnusableData, match="more than half of every column"):
        table_of(inputs, labels)


def test_text() -> None:
    inputs, labels = good()
    frame = pandas.DataFrame(inputs, columns=["a", "b", "c"]).assign(town=["x", "y"] * (ROWS // 2))
    assert "not numeric, left out: 'town'" in warned(frame, labels)
    with pytest.raises(UnusableData, match="none of the columns 'town' is numeric"):
        table_of(frame[["town"]], labels)
    with pytest.raises(UnusableData, match="no column besides the label"):
        table_of(frame[[]], labels)
    table = table_of(inputs, frame["town"])
    assert table.classes == ("x", "y")
    assert set(table.labels) == {0.0, 1.0}
    assert "alphabetical order" in warned(inputs, ["x", "y", "z"] * (ROWS // 3))
    some = np.array(labels, dtype=object)
    some[:3] = "?"
    assert "3 values of 'y' are text among numbers, and count as missing" in warned(inputs, some)
    assert table_of(inputs, [1, "a"] * (ROWS // 2)).classes == ("1", "a")  # no more numbers than text: classes


def test_labels_that_are_an_id() -> None:
    inputs, labels = good()
    assert "numbers the rows" in warned(inputs, np.arange(ROWS))
    with pytest.raises(UnusableData, match="no number and has 60 different values, such as an id"):
        table_of(inputs, [f"customer {row}" for row in range(ROWS)])
    with pytest.raises(UnusableData, match="constant: there is nothing to learn"):
        table_of(inputs, np.ones(ROWS))
    for step, gap in ((1, 5), (2, 1)):
        numbers = step * np.arange(ROWS, dtype=float)
        numbers[::gap] = np.nan if gap > 1 else numbers[::gap]  # rows that are left out leave gaps
        assert "numbers the rows" in warned(inputs, numbers)
    many, draw = 400, np.random.default_rng(1)
    count = np.sort(draw.choice(10**6, many, replace=False))  # all different by chance, as prices may be
    assert "numbers the rows" not in warned(draw.standard_normal((many, 2)), count)
    inputs[:, 2] = np.arange(ROWS)
    assert "columns that number the rows, as an id does: 'x3'" in warned(inputs, labels)
    inputs[:, 1] = 2 * labels - 1
    assert "multiple of 'x2'" in warned(inputs, labels)


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_values_whose_squares_are_no_floats(size: float) -> None:
    inputs, labels = good()
    with pytest.raises(UnusableData, match=r"the label 'y' has values beyond 1e\+100, .* in other units"):
        table_of(inputs, size * labels)
    with pytest.raises(UnusableData, match=r"every column has values beyond 1e\+100"):
        table_of(size * inputs, labels)
    inputs[:, 1] *= size
    assert "left out: 'x2'; give them in other units" in warned(inputs, labels)


def test_what_is_no_table() -> None:
    _, labels = good()
    with pytest.raises(UnusableData, match=r"X: .*; rows of the same length are expected"):
        table_of([[1.0, 2.0], [3.0]], labels)
    with pytest.raises(UnusableData, match=r"X is a scipy\.sparse.*\.toarray\(\)"):
        table_of(csr_matrix(np.eye(ROWS)), labels)
    with pytest.raises(UnusableData, match=r"X is a builtins\.NoneType: an array or a table"):
        table_of(None, labels)


def test_duplicated_rows_and_shapes() -> None:
    inputs, labels = good()
    assert "60 of 120 rows are copies" in warned(np.tile(inputs, (2, 1)), np.tile(labels, 2))
    assert table_of(inputs[:, 0], labels).inputs.shape == (ROWS, 1)
    for bad, words in (((inputs[:-1], labels), "59 rows and y has 60"), ((inputs[:5], labels[:5]), "at least 30")):
        with pytest.raises(UnusableData, match=words):
            table_of(*bad)
    with pytest.raises(UnusableData, match="a table"):
        table_of(np.zeros((2, 2, 2)), labels)
    with pytest.raises(UnusableData, match="one number for each row"):
        table_of(inputs, np.zeros((ROWS, 2)))


def test_a_million_rows_are_read_whole_or_drawn_from(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    assert len(table_of(draw.standard_normal((10**6, 1)), draw.standard_normal(10**6)).labels) == 10**6
    monkeypatch.setattr("featlab.diagnosis.reading.MOST_NUMBERS", 120)
    assert "40 of 60 rows are looked at, drawn at random" in warned(*good())


def test_files(tmp_path: Path) -> None:
    inputs, labels = good()
    frame = pandas.DataFrame(inputs, columns=["a", "b", "c"]).assign(y=labels)
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame.to_parquet(tmp_path / "data.parquet")
    np.savez(tmp_path / "data.npz", X=inputs, y=labels)
    tables = [table_of(*read_file(tmp_path / f"data.{kind}", "y")) for kind in ("csv", "parquet", "npz")]
    for table in tables:
        assert np.allclose(table.inputs, tables[0].inputs)
    assert tables[0].columns == ("a", "b", "c")
    with pytest.raises(featlab.InvalidParameter, match=r"one of the columns of data\.csv: 'a', 'b', 'c', 'y'"):
        read_file(tmp_path / "data.csv", "z")
    with pytest.raises(featlab.InvalidParameter, match=r"ends in \.csv, \.parquet, \.npz"):
        read_file(tmp_path / "data.xlsx", "y")
    with pytest.raises(UnusableData, match="the labels 'z' and the inputs"):
        read_file(tmp_path / "data.npz", "z")


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe nonsense", b"PK\x03\x04 no archive"])
def test_broken_files(tmp_path: Path, kind: str, content: bytes) -> None:
    path = tmp_path / f"data.{kind}"
    path.write_bytes(content)
    with pytest.raises(featlab.FeatlabError):
        read_file(path, "y")


def test_objects_are_not_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", X=np.array([{}] * 3), y=np.zeros(3))
    with pytest.raises(UnusableData, match="not a readable NPZ"):
        read_file(tmp_path / "data.npz", "y")


@pytest.mark.parametrize(("kind", "copies"), [("csv", 4), ("npz", 4), ("parquet", 7)])
def test_a_file_that_is_too_large_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, copies: int
) -> None:
    inputs, labels = good()
    frame, path = pandas.DataFrame(inputs, columns=list("abc")).assign(y=labels), tmp_path / f"data.{kind}"
    np.savez(path, X=inputs, y=labels) if kind == "npz" else getattr(frame, f"to_{kind}")(path, index=False)
    needed = copies * 8 * (ROWS + (kind == "csv")) * 4  # a CSV's header is not told from its rows
    monkeypatch.setattr(sizes, "memory", lambda: Memory(needed, needed))
    read_file(path, "y")
    monkeypatch.setattr(sizes, "memory", lambda: Memory(needed, needed // 2))
    with pytest.raises(featlab.DoesNotFit, match=rf"needs {needed:,} bytes, .* 50.0% of its rows would fit"):
        read_file(path, "y")


def test_an_array_that_claims_to_be_huge_is_refused(tmp_path: Path) -> None:
    """NumPy would ask for eight terabytes, and end in a MemoryError."""
    with ZipFile(tmp_path / "data.npz", "w") as archive:
        for name in ("X", "y"):
            file = BytesIO()
            header = {"descr": "<f8", "fortran_order": False, "shape": (10**12, 1)}
            np.lib.format.write_array_header_1_0(file, header)
            archive.writestr(f"{name}.npy", file.getvalue() + bytes(80))
    with pytest.raises(featlab.DoesNotFit, match=r"looking at the 2,000,000,000,000 numbers"):
        read_file(tmp_path / "data.npz", "y")
