"""Running a study: an engine gets what is missing; what comes back is written; what is written is acknowledged."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from featlab.interruption import check, saving
from featlab.study.description import Study
from featlab.study.engines.protocol import Engine, InProcess
from featlab.study.identity import Run, by_shape, runs_of
from featlab.study.queue import refuse_if_queued
from featlab.study.records import FAILED, OK, Record
from featlab.study.runner import Runner, RunPoint, as_runner
from featlab.study.store import Store

Acknowledged = Callable[[list[Record]], None]


@dataclass(frozen=True)
class Progress:
    """How far a study is, in runs."""

    total: int
    done: int
    failed: int

    @property
    def missing(self) -> int:
        """Runs that have not been tried."""
        return self.total - self.done - self.failed

    @property
    def complete(self) -> bool:
        """Whether every run is done."""
        return self.done == self.total


def run(
    study: Study,
    runner: Runner | RunPoint,
    store: str | Path,
    *,
    engine: Engine | None = None,
    fresh: bool = False,
    retry_failed: bool = False,
    wait: bool = False,
    on_set_aside: Callable[[Path], None] | None = None,
    on_start: Callable[[Progress], None] | None = None,
    on_acknowledged: Acknowledged | None = None,
) -> Progress:
    """Run what is missing of a study. Called again after any interruption it goes on where it was.

    Args:
        study: the points.
        runner: a `Runner`, or a plain function `run_point(point, key) -> rows`.
        store: the file that keeps the results.
        engine: `InProcess()` unless given; `Pool`, `Dask`, `FromExecutor`.
        fresh: start over; what the store holds is copied aside under another name first. Others may be reading it.
        retry_failed: also run again the points that failed.
        wait: if another process is writing to the store, wait for it instead of refusing.
        on_set_aside: called with the name of that copy; not called where there was nothing to set aside.
        on_start: called once with what is done already.
        on_acknowledged: called with records as soon as they are safe on the disk.

    Returns:
        How far the study is: complete, unless points failed.

    Raises:
        InvalidStudy: before anything runs. StoreFault: if the store cannot be used. EngineFault: if the engine broke;
        with `fresh`, if an array of this study is in Slurm's queue.
        After these, and after Ctrl-C, everything acknowledged is safe.

    Examples:
        >>> from featlab.study import Study, run
        >>> study = Study(axes={"x": [1, 2, 3]})
        >>> run(study, lambda point, key: [{"square": point["x"] ** 2}], "squares.sqlite").complete
        True
    """
    runner = as_runner(runner)
    runs = runs_of(study, runner)
    with Store(store, wait=wait) as results:
        if fresh:
            refuse_if_queued(store, "start over")
            aside = results.start_over(about(study, runner))
            if aside is not None and on_set_aside is not None:
                on_set_aside(aside)
        else:
            results.adopt(about(study, runner))
        outcomes = results.outcomes()
        missing = missing_runs(runs, outcomes, retry_failed=retry_failed)
        if on_start is not None:
            on_start(progress_of(runs, outcomes))
        _fill(results, runner, engine or InProcess(), missing, on_acknowledged or _nobody)
        return progress_of(runs, results.outcomes())


def _fill(results: Store, runner: Runner, engine: Engine, missing: list[Run], tell: Acknowledged) -> None:
    try:
        with saving(), closing(engine.records(runner.run_point, by_shape(missing, runner))) as records:
            for record in records:
                written = results.flush_if_due() if record is None else results.add(record)
                if written:
                    tell(written)
                check()
    finally:
        if written := results.flush():
            tell(written)


def about(study: Study, runner: Runner) -> dict[str, Any]:
    """What a store remembers of a study: enough to find its points and to label its rows without the runner."""
    attributes = runner.attributes(study) if callable(runner.attributes) else runner.attributes
    return {
        "study": study.to_dict(),
        "runner": {
            "name": runner.name,
            "numerics": runner.numerics,
            "index": list(runner.index),
            "axes": {name: list(axes) for name, axes in runner.axes.items()},
            "prefixes": dict(runner.prefixes),
            "attributes": {name: dict(said) for name, said in attributes.items()},
        },
    }


def missing_runs(runs: list[Run], outcomes: dict[str, str], *, retry_failed: bool = False) -> list[Run]:
    """The runs without a result."""
    tried = {OK} if retry_failed else {OK, FAILED}
    return [run for run in runs if outcomes.get(run.id) not in tried]


def progress_of(runs: list[Run], outcomes: dict[str, str]) -> Progress:
    """How many of the runs have which outcome."""
    found = [outcomes.get(run.id) for run in runs]
    return Progress(len(runs), found.count(OK), found.count(FAILED))


def _nobody(records: list[Record]) -> None:
    """Nobody listens."""
