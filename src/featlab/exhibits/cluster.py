"""An exhibit on Slurm: a call collects what tasks have done, submits what is missing, judges what is complete."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from featlab.exhibits.protocol import Exhibit, Size
from featlab.exhibits.report import Report
from featlab.exhibits.running import Place, RunsFailed, check_results, failure_words, is_decided, judge_exhibit, places
from featlab.study.drive import Progress, progress_of
from featlab.study.estimate import stored_outcomes
from featlab.study.identity import runs_of
from featlab.study.queue import jobs
from featlab.study.slurm import collect, submit


def submit_exhibit(
    exhibit: Exhibit, size: Size, results: Path, *, array: int, options: Sequence[str] = (), retry_failed: bool = False
) -> Report | list[str]:
    """The report if every study is complete; otherwise, for each study that is not, how far it is and its job.

    Nothing needs to stay alive: call it again when the jobs are done.

    Args:
        array: the number of tasks of each study.
        options: options of sbatch.
        retry_failed: also submit again what has failed.
    """
    check_results(exhibit, size, results)
    for look in range(1, exhibit.looks + 1):
        waiting = []
        for place in places(exhibit, size, results, look):
            progress, job = _submitted(place, array, options, retry_failed)
            if job is not None:
                waiting.append(f"{exhibit.id}, {place.name}: {progress.done} of {progress.total} runs, job {job}")
            elif progress.failed:
                raise RunsFailed(failure_words(exhibit, place, progress))
        if waiting:
            return waiting
        report = judge_exhibit(exhibit, size, results, look)
        if is_decided(report):
            break
    return report


def _submitted(place: Place, array: int, options: Sequence[str], retry_failed: bool) -> tuple[Progress, str | None]:
    """How far a study is, and the job that works at it: the one in the queue, or a new one if runs are missing."""
    collect(place.store, create=True)
    queued = next(iter(jobs(place.store)), None)
    if queued is None:
        origin = {"kind": place.part.kind, "directory": str(Path.cwd())}
        sent = submit(
            place.part.study,
            place.runner,
            place.store,
            origin=origin,
            array=array,
            options=options,
            retry_failed=retry_failed,
        )
        queued = None if sent is None else sent.job
    return progress_of(runs_of(place.part.study, place.runner), stored_outcomes(place.store)), queued
