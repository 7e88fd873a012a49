"""Runners for the tests of studies: no science, no JAX, and misbehaviour on request. Importable from every process."""

from __future__ import annotations

import math
import os
import signal
import time
from pathlib import Path
from typing import Any

from featlab.study import Runner

Point = dict[str, Any]
Rows = list[dict[str, Any]]


def run_point(point: Point, key: int) -> Rows:
    """A value of the point and two of the key: one row, the same in every process."""
    time.sleep(point.get("sleep", 0))
    return [{"y": math.sin(point["x"]) * point.get("scale", 1), "u": key / 2**64, "k": key % 1000}]


def curve(point: Point, key: int) -> Rows:
    """Several rows with an index, and a value that is a list."""
    return [{"time": time, "level": point["x"] * time, "pair": [time, key % 7], "word": "ok"} for time in (0, 0.5, 2)]


def fragile(point: Point, key: int) -> Rows:
    """As `run_point`; x = 3 kills its process the first time (it leaves a mark), x = 5 each time."""
    mark = Path(point["marks"]) / "killed"
    if point["x"] == 5 or (point["x"] == 3 and not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return run_point(point, key)


def failing(point: Point, key: int) -> Rows:
    """As `run_point`; x = 2 raises unless it is healed, x = 3 returns no rows, x = 4 leaves."""
    if point["x"] == 2 and not (Path(point["marks"]) / "healed").exists():
        raise ValueError("two is not allowed")
    if point["x"] == 3:
        return {"y": 1.0}  # type: ignore[return-value]
    if point["x"] == 4:
        raise SystemExit("good bye")
    return run_point(point, key)


def vanishing(point: Point, key: int) -> Rows:
    """As `run_point`, but x = 3 deletes a file, or puts another one in its place."""
    if point["x"] == 3:
        Path(point["file"]).unlink()
        if point["replace"]:
            Path(point["file"]).touch()
    time.sleep(0.06)  # longer than the store waits before it writes
    return run_point(point, key)


def compiling(point: Point, key: int) -> Rows:
    """As `run_point`, after "compiling" its shape once in each process, which is noted."""
    if point["shape"] not in _compiled:
        _compiled.add(point["shape"])
        with (Path(point["marks"]) / "compiled").open("a") as notes:
            notes.write(f"{os.getpid()} {point['shape']}\n")
    time.sleep(0.01)
    return run_point(point, key)


def in_a_row(point: Point, key: int) -> Rows:
    """As `run_point`, and every call is noted."""
    with (Path(point["marks"]) / "calls").open("a") as notes:
        notes.write(f"{point['x']}\n")
    return run_point(point, key)


_compiled: set[str] = set()
CURVE = Runner(curve, index=("time",), axes={"pair": ("part",)})
COMPILING = Runner(compiling, shape=lambda point: point["shape"])
STRICT = Runner(run_point, "tiny", parameters=frozenset(["x", "scale", "sleep", "observe"]))
# Says of itself that it takes hours.
LENGTHY = Runner(run_point, seconds=lambda point: 3600.0 * point["x"])
