"""Before a study runs: its points, what is done, and from one probe how long the rest takes in how much memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from featlab.study.description import Point, Study
from featlab.study.drive import Progress, missing_runs, progress_of
from featlab.study.engines.pool import spawned
from featlab.study.faults import EngineFault
from featlab.study.identity import Run, by_shape, runs_of
from featlab.study.records import perform
from featlab.study.runner import Runner, RunPoint, as_runner
from featlab.study.store import Reader

_LOOKED_AT = 50
# A second run of the probe, or one of another shape, is waited for so long: what of the first was loading and compiling
# is not told from running else.
_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Probe:
    """One run, tried in a process of its own and not stored.

    Attributes:
        point: which.
        first_seconds: the first time, with all that is compiled or loaded for it.
        again_seconds: the second time; the first if the second took too long.
        shape_seconds: what a run of another shape took longer the first time than the second, which is what each shape
            costs; None if there is one shape, or it took too long.
        memory: the largest memory of the process, in bytes; None where the system does not tell.
        error: why it failed, or None.
    """

    point: Point
    first_seconds: float
    again_seconds: float
    shape_seconds: float | None
    memory: int | None
    error: str | None


@dataclass(frozen=True)
class Plan:
    """What a study would do now.

    Attributes:
        points, repeats: how many.
        progress: how many runs are done.
        shapes: how many groups of runs that share what is compiled are missing.
        probe: the measured run; None if nothing is missing or none was asked for.
    """

    points: int
    repeats: int
    progress: Progress
    shapes: int
    probe: Probe | None

    def seconds(self, workers: int = 1) -> float | None:
        """For all that is missing, as if every point cost what the probe does: every worker loads the programs once,
        each shape is compiled once, each run is made once."""
        if self.probe is None or self.probe.error is not None:
            return None
        beside = max(0.0, self.probe.first_seconds - self.probe.again_seconds)
        compiling = min(beside, self.probe.shape_seconds or 0.0)
        shared = self.shapes * compiling + self.progress.missing * self.probe.again_seconds
        return beside - compiling + shared / workers


class Counted(NamedTuple):
    """Seconds on one core that runs of a study take: of the longest that was looked at, and in the mean."""

    longest: float
    mean: float


def counted(study: Study, runner: Runner) -> Counted | None:
    """What the runner says of points all over the grid, before any of them is run; None if it says nothing."""
    if runner.seconds is None:
        return None
    points = islice(study.points(), 0, None, max(1, study.size // _LOOKED_AT))
    found = [runner.seconds(point) for point in points]
    return Counted(max(found), sum(found) / len(found))


def plan(
    study: Study,
    runner: Runner | RunPoint,
    store: str | Path,
    *,
    probe: bool = True,
    on_probe: Callable[[], None] | None = None,
) -> Plan:
    """Count, and time the last missing run: axes mostly grow, so that it is the most expensive. Nothing is stored.

    Args:
        study, runner, store: as in `run`.
        probe: whether a run is tried.
        on_probe: called before that, when all points have been checked.

    Raises:
        InvalidStudy: for what could not be run. StoreFault: for a store that cannot be read.

    Examples:
        >>> import featlab
        >>> def square(point, key):
        ...     return [{"square": point["x"] ** 2}]
        ...
        >>> featlab.study.plan(featlab.study.Study(axes={"x": [1, 2, 3]}), square, "new.sqlite", probe=False).points
        3
    """
    runner = as_runner(runner)
    runs = runs_of(study, runner)
    outcomes = stored_outcomes(store)
    missing = missing_runs(runs, outcomes)
    shapes, progress = by_shape(missing, runner), progress_of(runs, outcomes)
    if probe and missing and on_probe is not None:
        on_probe()
    measured = _probed(runner.run_point, [group[-1] for group in reversed(shapes)][:2]) if probe and missing else None
    return Plan(study.size, study.repeats, progress, len(shapes), measured)


def stored_outcomes(store: str | Path) -> dict[str, str]:
    """Outcome by run id; empty if there is no store yet."""
    if not Path(store).exists():
        return {}
    with Reader(store) as reader:
        return reader.outcomes()


def _probed(run_point: RunPoint, runs: Sequence[Run]) -> Probe:
    """The first of these runs, and what it costs to run one of another shape beside it."""
    process, pipe = spawned(_probe, run_point, runs)
    try:
        answer: dict[str, Any] = pipe.recv()
        with suppress(EOFError):  # it has said all
            while pipe.poll(_PATIENCE_SECONDS):
                answer = pipe.recv()
    except EOFError:
        process.join()
        raise EngineFault(f"the probe died (exit code {process.exitcode}); out of memory?") from None
    finally:
        process.terminate()
        process.join()
    return Probe(runs[0].point, **answer)


def _probe(pipe: Connection, run_point: RunPoint, runs: Sequence[Run]) -> None:
    """In a process of its own: nothing is loaded or compiled yet, and its memory is the run's. It says what it knows as
    soon as it does."""
    first, error = _timed(run_point, runs[0])
    answer = {"first_seconds": first, "again_seconds": first, "shape_seconds": None, "error": error}
    pipe.send({**answer, "memory": _peak_memory()})
    if error is not None:
        return
    answer["again_seconds"], _ = _timed(run_point, runs[0])
    pipe.send({**answer, "memory": _peak_memory()})
    for other in runs[1:]:
        answer["shape_seconds"] = max(0.0, _timed(run_point, other)[0] - _timed(run_point, other)[0])
        pipe.send({**answer, "memory": _peak_memory()})


def _timed(run_point: RunPoint, run: Run) -> tuple[float, str | None]:
    begin = perf_counter()
    record = perform(run_point, run)
    return perf_counter() - begin, record.error


def _peak_memory() -> int | None:
    """The largest resident memory of this process so far, in bytes."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return _peak_memory_elsewhere()
    # `getrusage` would count the parent too: its peak survives fork and exec.
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), None)


def _peak_memory_elsewhere() -> int | None:
    if sys.platform != "darwin":
        return None
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
