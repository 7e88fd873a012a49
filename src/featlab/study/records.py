"""What comes back from a run: its rows or its error, and where it came from. Made where the run runs."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from time import perf_counter, time
from typing import Any

import featlab
from featlab.lines import checked, to_line
from featlab.study.identity import Run
from featlab.study.runner import Row, RunPoint

OK, FAILED = "ok", "failed"
_PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "sympy", "xarray")
_GIT_SECONDS = 10


@dataclass(frozen=True)
class Record:
    """The result of one run.

    Attributes:
        id, point_id, repeat, point: which run.
        outcome: "ok" or "failed".
        rows: the rows as JSON text (non-finite numbers spelled NaN and Infinity); "[]" for a failed run.
        error: what a failed run died of, with the traceback; None for the others.
        seconds, finished: wall time, and when, in seconds since 1970.
        environment: see `environment`.
    """

    id: str
    point_id: str
    repeat: int
    point: dict[str, Any]
    outcome: str
    rows: str
    error: str | None
    seconds: float
    finished: float
    environment: dict[str, Any]

    def to_line(self) -> str:
        """As one line of JSON, with its digest."""
        return to_line(asdict(self))


def from_line(line: str) -> Record:
    """The record of a line; ValueError or TypeError if it is none, or not what was written.

    Lines of the first format have no digest: they are taken as they are.
    """
    content = json.loads(line)
    return Record(**(checked(content) if "digest" in content else content))


def perform(run_point: RunPoint, run: Run) -> Record:
    """Run it. An exception becomes a failed record: it must not stop the other runs."""
    begin = perf_counter()
    try:
        rows, error = _encoded(run_point(dict(run.point), run.key)), None
    except (Exception, SystemExit):  # noqa: BLE001 - whatever a runner raises is kept with its traceback
        rows, error = "[]", traceback.format_exc()
    return _record(run, rows, error, perf_counter() - begin)


def perform_all(run_point: RunPoint, runs: Iterable[Run]) -> list[Record]:
    """Run one after the other, as one task of an executor."""
    return [perform(run_point, run) for run in runs]


def lost(run: Run, reason: str) -> Record:
    """The record of a run that never came back, such as one whose worker dies each time."""
    return _record(run, "[]", reason, 0.0)


def _record(run: Run, rows: str, error: str | None, seconds: float) -> Record:
    outcome = OK if error is None else FAILED
    return Record(run.id, run.point_id, run.repeat, run.point, outcome, rows, error, seconds, time(), environment())


def _encoded(rows: Iterable[Row]) -> str:
    if isinstance(rows, Mapping | str):
        raise TypeError(f"run_point returned {rows!r:.80}, expected an iterable of rows (mappings); for one row, [row]")
    return json.dumps([dict(row) for row in rows], default=_plain, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """NumPy's and JAX's numbers and arrays as numbers and lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a row holds {value!r:.80} of type {type(value).__name__}, expected numbers, texts or lists")


def environment() -> dict[str, Any]:
    """The environment of this process, as JSON knows it. The device is known once JAX has been used."""
    return {**_machine(), "device": _device()}


@cache
def _machine() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "host": platform.node(),
        "cores": os.cpu_count(),
        "packages": {"featlab": featlab.__version__, **_installed(_PACKAGES)},
        "git": _git_state(),
    }


def _installed(packages: tuple[str, ...]) -> dict[str, str]:
    """The versions of those that are installed."""
    found = {}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _device() -> str:
    """What JAX runs on, if the runner has loaded JAX; a study itself has no use for it."""
    jax = sys.modules.get("jax")
    if jax is None or not hasattr(jax, "devices"):
        return platform.machine()
    return str(jax.devices()[0].device_kind)


def _git_state() -> dict[str, Any] | None:
    """The commit of the working directory and whether anything was changed since; None outside a repository."""
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return None
    changes = _git("status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "changed": None if changes is None else bool(changes)}


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=_GIT_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
