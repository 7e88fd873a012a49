"""What a study will take: a worker loads once, a shape is compiled once, a run is made once."""

from __future__ import annotations

import time
from typing import Any

import pytest

from featlab.study.description import Study
from featlab.study.drive import Progress
from featlab.study.estimate import Counted, Plan, Probe, _probe, counted
from featlab.study.identity import runs_of
from featlab.study.runner import Runner


def plan(shapes: int, missing: int, probe: Probe | None) -> Plan:
    return Plan(missing, 1, Progress(missing, 0, 0), shapes, probe)


def test_compilation_is_counted_once_for_each_shape_and_loading_once_for_each_worker() -> None:
    probe = Probe({}, first_seconds=24.0, again_seconds=0.5, shape_seconds=3.0, memory=None, error=None)
    assert plan(4, 10, probe).seconds() == pytest.approx(20.5 + 4 * 3 + 10 * 0.5)
    assert plan(4, 10, probe).seconds(2) == pytest.approx(20.5 + (4 * 3 + 10 * 0.5) / 2)


def test_one_shape_has_nothing_to_tell_compiling_from_loading() -> None:
    probe = Probe({}, 24.0, 0.5, None, None, None)
    assert plan(1, 100, probe).seconds() == pytest.approx(23.5 + 50)
    assert plan(1, 100, Probe({}, 1.0, 1.0, None, None, "died")).seconds() is None
    assert plan(1, 100, None).seconds() is None


def test_a_probe_tells_loading_compiling_and_running_apart() -> None:
    made: set[Any] = set()

    def run_point(point: dict[str, Any], key: int) -> list[dict[str, Any]]:
        wait = 0.02 + (0.3 if not made else 0.0) + (0.1 if point["x"] not in made else 0.0)
        made.add(point["x"])
        time.sleep(wait)
        return [{"y": 1.0}]

    runs = runs_of(Study({}, {"x": [1, 2]}), Runner(run_point, "slow"))
    heard: list[dict[str, Any]] = []
    pipe: Any = type("Pipe", (), {"send": lambda self, answer: heard.append(answer)})()
    _probe(pipe, run_point, runs[::-1])
    assert heard[0]["again_seconds"] == heard[0]["first_seconds"]  # what is known by then, if nobody waits longer
    found = Probe({}, **heard[-1])
    assert found.error is None
    assert found.first_seconds >= 0.42
    assert found.again_seconds < found.first_seconds - 0.3
    assert found.shape_seconds is not None
    assert 0.05 < found.shape_seconds < found.first_seconds - found.again_seconds


def test_a_runner_may_say_how_long_its_points_take() -> None:
    """All over the grid, and not at each of very many points."""
    asked: list[int] = []

    def seconds(point: dict[str, Any]) -> float:
        asked.append(point["x"])
        return float(point["x"])

    runner = Runner(lambda point, key: [], "nothing", seconds=seconds)
    assert counted(Study(axes={"x": [1, 2, 6]}), runner) == Counted(6.0, 3.0)
    assert counted(Study(axes={"x": range(1000)}), runner) == Counted(980.0, 490.0)
    assert len(asked) == 3 + 50
    assert counted(Study(axes={"x": [1]}), Runner(lambda point, key: [], "nothing")) is None
