"""What a study may say, and how it is told what is wrong before anything runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from featlab.study import InvalidStudy, Study, read_study
from featlab.study.arithmetic import Formula
from featlab.study.identity import runs_of
from tests.study.tiny import STRICT


def test_points_are_the_product_of_the_axes() -> None:
    study = Study(fixed={"a": "h"}, axes={"x": [1, 2], ("d", "n"): [(10, 5), (20, 6)]}, derived={"m": "x*d + n"})
    assert study.size == 4
    assert list(study.points()) == [
        {"a": "h", "x": 1, "d": 10, "n": 5, "m": 15},
        {"a": "h", "x": 1, "d": 20, "n": 6, "m": 26},
        {"a": "h", "x": 2, "d": 10, "n": 5, "m": 25},
        {"a": "h", "x": 2, "d": 20, "n": 6, "m": 46},
    ]


def test_a_study_without_axes_has_one_point() -> None:
    assert list(Study(fixed={"x": 1}).points()) == [{"x": 1}]


def test_a_study_survives_being_written_down() -> None:
    study = Study({"a": 1e3}, {"d,n": [(1, 2)], "x": range(3)}, {"m": "d*x"}, 2, 7, ["y"])
    again = Study(**study.to_dict())
    assert list(again.points()) == list(study.points())
    assert again.to_dict() == study.to_dict()


def test_formulas_may_stand_on_each_other_in_any_order() -> None:
    study = Study(axes={"alpha": [0.5]}, fixed={"d": 100}, derived={"m": "n + 1", "n": "round(alpha*d)"})
    assert next(study.points())["m"] == 51


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"axes": {"x": []}}, "axis 'x' is empty"),
        ({"axes": {"x": 3}}, "axis 'x': got 3, expected a list"),
        ({"axes": {"x": "abc"}}, "axis 'x': got 'abc', expected a list"),
        ({"axes": {"x": [1, 2, 1.0]}}, "axis 'x': x = 1 is given twice; to run points again, raise `repeats`"),
        ({"axes": {"d,n": [[1, 2], [1, 2]]}}, "d = 1, n = 2 is given twice"),
        ({"axes": {"x": [[1, 2], [1, 2.0]]}}, "given twice"),
        ({"axes": {"d,n": [[1, 2], [1]]}}, r"axis 'd,n': got \[1\], expected 2 values"),
        ({"axes": {"x": [1], "y,x": [[1, 2]]}}, "'x' is given twice, in axes"),
        ({"fixed": {"x": 1}, "axes": {"x": [1]}}, "'x' is given twice, in fixed and in axes"),
        ({"fixed": {"x": 1}, "derived": {"x": "2"}}, "'x' is given twice, in fixed and in derived"),
        ({"fixed": {"x-y": 1}}, "the name 'x-y'"),
        ({"fixed": {"observe": 1}, "observe": ["y"]}, "'observe' is given twice"),
        ({"fixed": {"x": float("nan")}}, "x: got nan"),
        ({"repeats": 0}, "repeats: got 0"),
        ({"repeats": True}, "repeats: got True"),
        ({"key": -1}, "key: got -1"),
        ({"key": 2**64}, r"key: got 18446744073709551616, expected a whole number from 0 to 2\^64 - 1"),
        ({"key": 1.5}, "key: got 1.5"),
        ({"observe": "risk"}, "observe: got 'risk', expected a list"),
        ({"axes": {"alpha": [1]}, "derived": {"n": "alhpa*2"}}, "unknown name 'alhpa' .*did you mean 'alpha'"),
        ({"derived": {"n": "m", "m": "n"}}, "derived 'n', 'm': each needs the other"),
        ({"derived": {"n": 3}}, "derived 'n': got 3, expected a formula"),
    ],
)
def test_what_cannot_be_run_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidStudy, match=message):
        Study(**options)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("alpha*d", 250.0),
        ("round(d**1.5)", 1000),
        ("-d // 3 + +2", -32),
        ("max(1, ceil(log(d)), floor(sqrt(d)))", 10),
        ("min(exp(0), alpha) / 4", 0.25),
    ],
)
def test_formulas_are_arithmetic(text: str, value: float) -> None:
    assert Formula("n", text).at({"alpha": 2.5, "d": 100}) == value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "d.real",
        "[d]",
        "d if d else 1",
        "'d'",
        "lambda: 1",
        "round(d, ndigits=1)",
        "True",
        "1j",
        "d @ d",
        "d and d",
        "d" * 501,
        "d +",
        "open(d)",
        "d[0]",
    ],
)
def test_formulas_are_nothing_else(text: str) -> None:
    with pytest.raises(InvalidStudy, match="derived 'n'"):
        Formula("n", text)


@pytest.mark.parametrize(
    ("text", "point"),
    [("1/d", {"d": 0}), ("d**1000", {"d": 9}), ("log(d)", {"d": -1}), ("d*2", {"d": "a"}), ("d**0.5", {"d": -1})],
)
def test_formulas_that_fail_say_where(text: str, point: dict[str, Any]) -> None:
    with pytest.raises(InvalidStudy, match=r"derived 'n': '.*'"):
        Formula("n", text).at(point)


def test_a_derived_value_that_is_not_finite_is_refused() -> None:
    study = Study(axes={"d": [1e308]}, derived={"n": "d*10"})
    with pytest.raises(InvalidStudy, match="n: got inf"):
        list(study.points())
    assert math.isinf(Formula("n", "d*10").at({"d": 1e308}))


FILE = """
kind = "tiny"
key = 7
repeats = 3
observe = ["y"]

[fixed]
scale = 2

[axes]
x = [1, 2]
"alpha,sleep" = [[1, 0], [2, 0.1]]

[derived]
n = "alpha*x"
"""


def test_a_file_is_the_same_study(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(FILE, encoding="utf-8")
    file = read_study(path)
    assert file.kind == "tiny"
    assert file.store == tmp_path / "sweep.sqlite"
    axes = {"x": [1, 2], ("alpha", "sleep"): [(1, 0), (2, 0.1)]}
    assert list(file.study.points()) == list(
        Study({"scale": 2}, axes, {"n": "alpha*x"}, 3, 7, ["y"]).points()  # type: ignore[arg-type]
    )
    assert (file.study.repeats, file.study.key) == (3, 7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind = \n", r"sweep.toml: is no TOML: Invalid value \(at line 1, column 8\)"),
        ("kind = 'a'\n[axes\n", "is no TOML: .*line 2"),
        ("kind = 'a'\nkind = 'b'", "is no TOML"),
        ("[axes]\nx = [1]", "kind: got None, expected what runs a point"),
        ("kind = 'a'\nrepeat = 2", "unknown key 'repeat'; did you mean 'repeats'"),
        ("kind = 'a'\n[axis]\nx = [1]", "unknown key 'axis'; did you mean 'axes'"),
        ("kind = 'a'\ndim = 3", r"unknown key 'dim'; there are .*parameters belong in \[fixed\]"),
        ("kind = 'a'\nfixed = 3", r"fixed: got 3, expected a table \[fixed\]"),
        ("kind = 'a'\n[axes]\nx = []", "axis 'x' is empty"),
        ("kind = 'a'\n[fixed.x]\ny = 1", "x: got .*expected a number"),
        ("kind = 'a'\n[fixed]\nx = 2020-01-01", "x: got .*expected a number"),
    ],
)
def test_a_bad_file_is_told(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidStudy, match=message):
        read_study(path)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(InvalidStudy, match="cannot be read: No such file"):
        read_study(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidStudy, match="no text in UTF-8"):
        read_study(tmp_path / "bytes.toml")


def test_a_runner_refuses_names_it_does_not_know() -> None:
    with pytest.raises(InvalidStudy, match="unknown axis 'scael' of tiny; did you mean 'scale'"):
        runs_of(Study(axes={"x": [1], "scael": [1]}), STRICT)
    with pytest.raises(InvalidStudy, match="unknown parameter 'q' of tiny; it has observe, scale, sleep, x"):
        runs_of(Study(fixed={"q": 1}, axes={"x": [1]}), STRICT)
    helped = Study(axes={"alpha": [1, 2]}, derived={"x": "alpha*2"})
    assert len(runs_of(helped, STRICT)) == 2


@pytest.mark.parametrize(
    ("content", "runs"),
    [
        ({"repeats": 10**9}, "1,000,000,000 runs"),
        ({"axes": {"a": range(1000), "b": range(100), "c": range(100)}}, "10,000,000 runs"),
    ],
)
def test_more_runs_than_can_be_named_are_refused_with_their_size(content, runs):
    with pytest.raises(InvalidStudy, match=rf"{runs}, whose names alone take [\d.]+ GB; expected at most 2,000,000"):
        Study(**content)
