"""Running an exhibit: its studies through `featlab.study`, then prediction, verdict and pictures from their results."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from featlab.errors import FeatlabError, Unwritable
from featlab.exhibits.beforehand import fix_protocol
from featlab.exhibits.combined import judged
from featlab.exhibits.drawn import drawn
from featlab.exhibits.evidence import keeping
from featlab.exhibits.evidence_file import evidence_path, write_evidence
from featlab.exhibits.protocol import Exhibit, Part, Size
from featlab.exhibits.reading import Data, View
from featlab.exhibits.report import Report, report_path, write_report
from featlab.exhibits.values import tabled
from featlab.exhibits.verdict import CheckResult, Finding
from featlab.files import check_writable, fault_words, make_directory
from featlab.runners import find_runner
from featlab.study.dataset import open as open_study
from featlab.study.dataset import provenance
from featlab.study.drive import Acknowledged, Progress, run
from featlab.study.engines.protocol import Engine
from featlab.study.estimate import stored_outcomes
from featlab.study.identity import runs_of
from featlab.study.runner import Runner

# Of a machine, what tells whether numbers may differ: not its name.
_MACHINE = ("device", "cores", "python", "packages", "git")


class RunsFailed(FeatlabError):
    """Some runs of an exhibit's studies failed; the message says of what."""


class ResultsUnwritable(Unwritable):
    """Nothing can be written into the results; the message says why.

    Attributes:
        report: what was found, if that was known by then: its runs are safe in their stores.
    """

    def __init__(self, message: str, report: Report | None = None) -> None:
        self.report = report
        super().__init__(message)


@dataclass(frozen=True)
class Place:
    """Where one study of an exhibit keeps its results, and how it is run."""

    name: str
    part: Part
    store: Path

    @property
    def runner(self) -> Runner:
        """What runs its points."""
        return find_runner(self.part.kind, ".")


def places(exhibit: Exhibit, size: Size, results: Path, look: int = 1) -> list[Place]:
    """The studies of an exhibit at a size, each with its store; with each look their repeats are doubled."""
    directory = report_path(results, exhibit.id, size).parent
    found = []
    for name, part in exhibit.studies(size).items():
        repeated = replace(part, study=replace(part.study, repeats=part.study.repeats * 2 ** (look - 1)))
        found.append(Place(name, repeated, directory / f"{name}.sqlite"))
    return found


def run_exhibit(
    exhibit: Exhibit,
    size: Size,
    results: Path,
    *,
    engine: Engine | None = None,
    retry_failed: bool = False,
    wait: bool = False,
    on_start: Callable[[str, Progress], None] | None = None,
    on_acknowledged: Acknowledged | None = None,
) -> Report:
    """Run what is missing of an exhibit, judge it, and write its report and pictures into `results`.

    Called again after any interruption it goes on where it was. While a check cannot tell it looks again, at twice as
    many runs, as often as the exhibit allows.

    Args:
        exhibit: as `find_exhibit` gives it, or one of your own.
        size: quick (seconds), paper, or large.
        results: the directory of all results.
        engine: who runs the points; this process unless given.
        retry_failed: also run again the points that failed.
        wait: if another process is writing to a store, wait for it instead of refusing.
        on_start: called for each study with its name and what is done already.
        on_acknowledged: called with records as soon as they are safe on the disk.

    Raises:
        RunsFailed: there is no verdict then. ResultsUnwritable: before anything runs where possible; else it has the
            report.
    """
    check_results(exhibit, size, results)

    def run_place(place: Place) -> None:
        progress = run(
            place.part.study,
            place.runner,
            place.store,
            engine=engine,
            retry_failed=retry_failed,
            wait=wait,
            on_start=None if on_start is None else partial(on_start, place.name),
            on_acknowledged=on_acknowledged,
        )
        if progress.failed:
            raise RunsFailed(failure_words(exhibit, place, progress))

    for look in range(1, exhibit.looks + 1):
        for place in places(exhibit, size, results, look):
            run_place(place)
        report = judge_exhibit(exhibit, size, results, look)
        if is_decided(report):
            break
    return report


def is_decided(report: Report) -> bool:
    """Whether more runs would not help."""
    return all(check.result is not CheckResult.CANNOT_TELL for check in report.checks)


def check_results(exhibit: Exhibit, size: Size, results: Path) -> None:
    """Make the directory of an exhibit's results and fix its protocol there, or say before anything runs that nothing
    could be written."""
    path = report_path(results, exhibit.id, size)
    try:
        make_directory(path.parent)
        check_writable(path)
        stored = [stored_outcomes(place.store) for place in places(exhibit, size, results)]
        fix_protocol(exhibit, size, path.parent, sum(map(len, stored)))
    except OSError as fault:
        raise ResultsUnwritable(f"{path.parent}: results cannot be written: {fault_words(fault)}") from fault


def judge_exhibit(exhibit: Exhibit, size: Size, results: Path, look: int = 1) -> Report:
    """Prediction, verdict and pictures of an exhibit whose studies are complete; written into `results`.

    Args:
        exhibit, size, results: as in `run_exhibit`.
        look: how often the runs were doubled, plus one.

    Raises:
        ResultsUnwritable: it has the report.
    """
    began = time.perf_counter()
    stores = places(exhibit, size, results, look)
    data = {place.name: open_study(place.store) for place in stores}
    with keeping() as evidence:
        finding, view = _found(exhibit, data, {place.name: place.part for place in stores})
    seconds = time.perf_counter() - began
    history = [_last_runs(place) for place in stores]
    report = Report(
        exhibit=exhibit.id,
        size=size,
        checks=list(finding.checks),
        numbers=list(finding.numbers),
        remarks=list(finding.remarks),
        seconds=seconds + sum(entry["seconds"] for runs in history for entry in runs),
        runs=sum(map(len, history)),
        machines=_machines([entry["environment"] for runs in history for entry in runs]),
        looks=(look, exhibit.looks),
        made=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )
    directory = report_path(results, exhibit.id, size).parent
    try:
        fixed = fix_protocol(exhibit, size, directory, sum(map(len, history)))
        report = replace(report, fixed=fixed, pictures=_pictures(exhibit, view, directory))
        write_evidence(evidence_path(report_path(results, exhibit.id, size)), evidence)
        write_report(results, report)
    except OSError as fault:
        why = f"{directory}: the report cannot be written: {fault_words(fault)}; the runs are safe, and the same "
        raise ResultsUnwritable(f"{why}command goes on from there", report) from fault
    return report


def _found(exhibit: Exhibit, data: Data, parts: Mapping[str, Part]) -> tuple[Finding, View]:
    """What was found, and what its pictures are made from."""
    view = View.of(data, exhibit.theory, parts, (name for size in Size for name in exhibit.studies(size)))
    given = [exhibit.remarks] if isinstance(exhibit.remarks, str) else exhibit.remarks
    remarks = [remark(view) if callable(remark) else remark for remark in given]
    return Finding(judged(exhibit.checks, view), tabled(exhibit.numbers, view), remarks), view


def _pictures(exhibit: Exhibit, view: View, directory: Path) -> dict[str, str]:
    from featlab.exhibits.pictures import write_animation, write_figure

    files = write_figure(drawn(exhibit.figure, view), directory)
    if exhibit.animation is not None:
        files |= write_animation(exhibit.animation(view), directory)
    return files


def _last_runs(place: Place) -> list[dict[str, Any]]:
    """The runs that the study asks for now; a store may hold others, of an earlier version of the exhibit."""
    asked = {run.id for run in runs_of(place.part.study, place.runner)}
    return [entry for entry in provenance(place.store) if entry["run"] in asked]


def _machines(environments: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The distinct machines and versions that made the runs."""
    found: list[dict[str, Any]] = []
    for environment in environments:
        machine = {name: environment.get(name) for name in _MACHINE}
        if machine not in found:
            found.append(machine)
    return found


def failure_words(exhibit: Exhibit, place: Place, progress: Progress) -> str:
    """What the runs that failed died of, and what to do."""
    errors = [entry["error"] for entry in provenance(place.store) if entry["error"] is not None]
    last = errors[-1].rstrip().rpartition("\n")[2]
    return (
        f"exhibit {exhibit.id}: {progress.failed} of {progress.total} runs of its study {place.name!r} failed, the "
        f"last one of {last!r}; mend the cause and run it again with --retry-failed"
    )
