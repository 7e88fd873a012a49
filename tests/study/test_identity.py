"""Ids and keys: the same content has the same name everywhere, and nothing else enters."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from featlab.lines import digest
from featlab.study import InvalidStudy, Runner, Study, identity
from featlab.study.canonical import canonical, canonical_text
from featlab.study.identity import by_shape, point_id_of, run_id, runs_of, shares
from tests.study.tiny import COMPILING, run_point

RUNNER = Runner(run_point, "tiny")


def ids(study: Study, runner: Runner = RUNNER) -> list[str]:
    return [run.id for run in runs_of(study, runner)]


def test_equal_contents_have_equal_ids() -> None:
    plain = Study(fixed={"n": 1000, "w": [1, 2]}, axes={"x": [1, 2.5]})
    numpy = Study(fixed={"w": (np.int64(1), np.float32(2))}, axes={"x": np.array([1.0, 2.5]), "n": [1e3]})
    assert ids(plain) == ids(numpy)


@pytest.mark.parametrize(
    "other",
    [
        Study(fixed={"n": 1001}, axes={"x": [1, 2]}),
        Study(fixed={"m": 1000}, axes={"x": [1, 2]}),
        Study(fixed={"n": "1000"}, axes={"x": [1, 2]}),
        Study(fixed={"n": True}, axes={"x": [1, 2]}),
        Study(fixed={"n": 1000}, axes={"x": [1, 2]}, observe=["y"]),
        Study(fixed={"n": 1000}, axes={"x": [1, 2]}, key=1),
    ],
)
def test_other_contents_have_other_ids(other: Study) -> None:
    plain = Study(fixed={"n": 1000}, axes={"x": [1, 2]})
    assert not set(ids(plain)) & set(ids(other))


def test_the_runner_and_its_version_enter() -> None:
    study = Study(axes={"x": [1]})
    names = [ids(study, runner) for runner in (RUNNER, Runner(run_point, "tiny", "2"), Runner(run_point, "other"))]
    assert len({*map(tuple, names)}) == 3


def test_ids_are_those_of_every_release() -> None:
    """If these change, every store in the world counts as not done: raise the numerics version instead."""
    point = {"dim": 1000, "target": "He3(h1)"}
    assert canonical_text(["tiny", "1", point]) == '["tiny","1",{"dim":1000,"target":"He3(h1)"}]'
    point_id = point_id_of("tiny", "1", point)
    assert point_id == "29fa1d861f59b56e7b9f131460d1f67b"
    assert run_id(7, point_id, 2) == digest(f"7 {point_id} 2") == "0fdb4a230ab0feec81c9f0bb416c0212"


def test_order_of_axes_and_values_does_not_matter() -> None:
    one = Study(axes={"x": [1, 2, 3], "y": [5, 6]}, repeats=2)
    other = Study(axes={"y": [6, 5], "x": [3, 1, 2]}, repeats=2)
    assert ids(one) != ids(other)
    assert {run.id: run.key for run in runs_of(one, RUNNER)} == {run.id: run.key for run in runs_of(other, RUNNER)}


def test_more_repeats_keep_the_first() -> None:
    few, many = (Study(axes={"x": [1, 2]}, repeats=repeats) for repeats in (2, 3))
    assert set(ids(few)) < set(ids(many))


def test_keys_are_spread_over_64_bits() -> None:
    """Of n random 64-bit keys each bit is set in n/2 of them, give or take sqrt(n)/2; none is twice there."""
    keys = [run.key for run in runs_of(Study(axes={"x": range(1000)}, repeats=4), RUNNER)]
    assert len(set(keys)) == len(keys) == 4000
    counts = np.array([sum(key >> bit & 1 for key in keys) for bit in range(64)])
    deviations = np.abs(counts - 2000) / np.sqrt(1000)
    assert deviations.max() < 5


def test_another_process_finds_the_same_ids() -> None:
    program = (
        "from featlab.study import Runner, Study; from featlab.study.identity import runs_of; import json\n"
        "study = Study(fixed={'b': 'ä', 'a': 0.1}, axes={'x': [1, 2]})\n"
        "print(json.dumps([run.id for run in runs_of(study, Runner(print, 'tiny'))]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ids(Study(fixed={"a": 0.1, "b": "ä"}, axes={"x": [1, 2]}))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": 1}, Path("x"), [1, [2, object()]]])
def test_what_has_no_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(InvalidStudy, match="n: got"):
        canonical("n", value)


def test_runs_of_one_shape_stay_together() -> None:
    study = Study(fixed={"marks": ""}, axes={"x": [1, 2, 3], "shape": ["a", "b"]})
    groups = by_shape(runs_of(study, COMPILING), COMPILING)
    assert [[run.point["shape"] for run in group] for group in groups] == [["a"] * 3, ["b"] * 3]


@pytest.mark.parametrize(("count", "parts"), list(itertools.product([0, 1, 5, 12], [1, 4, 5, 20])))
def test_shares_are_even_and_complete(count: int, parts: int) -> None:
    items = list(range(count))
    found = shares(items, parts)
    assert [item for share in found for item in share] == items
    assert len(found) == min(count, parts)
    assert not found or max(map(len, found)) - min(map(len, found)) <= 1


def test_who_waits_for_the_checks_is_told_how_long(monkeypatch, capsys):
    clock = iter(range(0, 10**6, 3))
    monkeypatch.setattr(identity, "monotonic", lambda: next(clock))
    runner = Runner(run_point)
    runs_of(Study(axes={"a": range(1000)}), runner)
    told = capsys.readouterr().err.splitlines()
    assert told == ["featlab: to check all 1,000 points takes about 50 minutes"]


def test_what_the_first_check_has_to_load_is_not_multiplied(monkeypatch, capsys):
    now = 0.0

    def check(point):
        nonlocal now
        now += 0.01 if now else 60.0
        return point

    monkeypatch.setattr(identity, "monotonic", lambda: now)
    runs_of(Study(axes={"a": range(100)}), Runner(run_point, check=check))
    assert now > 60
    assert not capsys.readouterr().err
