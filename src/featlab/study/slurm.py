"""Slurm without a driver: an array of tasks that share out what is missing, each writing a shard of its own.

`submit` writes the runs of every task into files, submits the array and returns. Nothing needs to stay alive. `collect`
merges the shards into the store, as often as one likes; `submit` again submits only what is missing by then.

A shard holds one record a line with its digest, appended whole and brought to the disk. A killed task can leave a torn
last line. It is skipped when the shards are read, as is a damaged one, and its run counts as not done.

    sweep.sqlite                     the store
    sweep.sqlite.cluster/0001/       a submission: submission.json, array.sh, tasks/17.json, logs/
    sweep.sqlite.cluster/shards/     what its tasks have done
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import time_ns
from typing import Any, NamedTuple

from featlab import interruption
from featlab.errors import InvalidParameter
from featlab.files import fault_words, make_directory, write_text
from featlab.lines import LineFile
from featlab.study import queue
from featlab.study.description import Study
from featlab.study.drive import about, missing_runs
from featlab.study.faults import EngineFault, StoreFault
from featlab.study.identity import Run, by_shape, runs_of, shares
from featlab.study.records import OK, Record, from_line, perform
from featlab.study.runner import Runner
from featlab.study.store import Store
from featlab.study.store_file import cluster_directory

_SUFFIX = ".jsonl"
# Paths are quoted for the shell here; what sbatch reads itself is given to it as arguments, which need no quoting.
_SCRIPT = """#!/bin/sh
#SBATCH --array=0-{last}
exec {python} -m featlab study work {directory} --task "$SLURM_ARRAY_TASK_ID"
"""


@dataclass(frozen=True)
class Submission:
    """An array that was submitted: its directory, Slurm's job id, its tasks and runs."""

    directory: Path
    job: str
    tasks: int
    runs: int


@dataclass(frozen=True)
class Collected:
    """What was merged: records that were new to the store, lines read, torn lines skipped."""

    new: int
    lines: int
    torn: int


def submit(
    study: Study,
    runner: Runner,
    store: str | Path,
    *,
    origin: dict[str, str],
    array: int,
    options: Sequence[str] = (),
    retry_failed: bool = False,
) -> Submission | None:
    """Submit what is missing as an array of at most `array` tasks; None if nothing is.

    Args:
        study, runner, store: as in `run`.
        origin: how a task finds the runner again; handed to `work`'s `find_runner`.
        array: the number of tasks.
        options: options of sbatch, which take precedence over the script's.
        retry_failed: also run again what has failed.

    Raises:
        InvalidParameter: no tasks, or options that are featlab's own. EngineFault: no Slurm, or an array in its queue.

    Examples:
        >>> import featlab
        >>> def square(point, key):
        ...     return [{"square": point["x"] ** 2}]
        ...
        >>> runner = featlab.study.Runner(square)
        >>> study = featlab.study.Study(axes={"x": [1, 2, 3]})
        >>> _ = featlab.study.run(study, runner, "squares.sqlite")
        >>> origin = {"kind": "module:square", "directory": "."}
        >>> featlab.study.submit(study, runner, "squares.sqlite", origin=origin, array=2) is None  # all is done
        True
    """
    if array < 1:
        raise InvalidParameter("array", array, "a number of tasks, at least 1")
    if any(option == "-a" or option.startswith("--array") for option in options):
        raise InvalidParameter("sbatch options", " ".join(options), "no --array among them: featlab sets it")
    runs = runs_of(study, runner)
    collect(store, create=True)
    with Store(store) as results:  # until the job is noted, for whoever starts over has to know of it
        queue.refuse_if_queued(store, "submit again")
        results.adopt(about(study, runner))
        missing = missing_runs(runs, results.outcomes(), retry_failed=retry_failed)
        if not missing:
            return None
        tasks = shares([run for group in by_shape(missing, runner) for run in group], array)
        directory = _written(Path(store), runner, origin, tasks)
        return Submission(directory, _sent(Path(store), directory, options), len(tasks), len(missing))


def _sent(store: Path, directory: Path, options: Sequence[str]) -> str:
    """Hand a submission to Slurm and note the job's id, which is returned; what Slurm refuses leaves nothing."""
    arguments = ["--parsable", *_own_options(store, directory), *options, str(directory / "array.sh")]
    with interruption.undivided():
        try:
            job = queue.ask_slurm("sbatch", *arguments).strip().partition(";")[0]
        except EngineFault:
            shutil.rmtree(directory)
            raise
        try:
            write_text(directory / "job", job + "\n")
        except OSError as fault:
            wrong = f"{directory}: job {job} runs, but that cannot be noted: {fault_words(fault)}"
            raise StoreFault(f"{wrong}; `scancel {job}`, make room, then submit again") from fault
    return job


def work(directory: str | Path, task: int, find_runner: Any) -> int:
    """One task of an array: its runs, except those that an earlier attempt of it has done. Returns how many it ran."""
    directory = Path(directory)
    content = _read(directory / "submission.json")
    runner = find_runner(**content["origin"])
    if (runner.name, runner.numerics) != (content["name"], content["numerics"]):
        raise EngineFault(
            f"{directory}: submitted for {content['name']}, numerics version {content['numerics']}, but this is "
            f"{runner.name}, {runner.numerics}; submit again"
        )
    shards, name = directory.parent / "shards", f"{directory.name}-{task:06d}"
    done = {line.record.id for line in read_shards(shards, name) if line.record is not None}
    runs = [Run(**entry) for entry in _read(directory / "tasks" / f"{task}.json")]
    with closing(new_shard(shards, name)) as shard:
        for run in runs:
            interruption.check()
            if run.id not in done:
                shard.append(perform(runner.run_point, run))
    return len(runs) - len(done)


def collect(store: str | Path, *, wait: bool = False, create: bool = False) -> Collected:
    """Merge the shards into the store. Doing it again changes nothing; the shards stay.

    Args:
        store: of the study.
        wait: if another process is writing to the store, wait for it instead of refusing.
        create: where nothing was submitted yet, find nothing instead of raising.

    Raises:
        StoreFault: there is nothing to collect.

    Examples:
        >>> from featlab import study
        >>> study.collect("sweep.sqlite", create=True)  # as long as no array task has done anything
        Collected(new=0, lines=0, torn=0)
        >>> study.collect("sweep.sqlite")
        Traceback (most recent call last):
            ...
        featlab.study.faults.StoreFault: sweep.sqlite: nothing to collect: there is no ...sweep.sqlite.cluster/shards
    """
    shards = cluster_directory(store) / "shards"
    if not shards.is_dir():
        if create:
            return Collected(0, 0, 0)
        raise StoreFault(f"{store}: nothing to collect: there is no {shards}")
    lines = torn = 0
    with Store(store, wait=wait) as results:
        before = results.outcomes()
        for line in read_shards(shards):
            lines += 1
            torn += line.record is None
            if line.record is not None and before.get(line.record.id) != OK:
                results.add(line.record)
        results.flush()
        after = results.outcomes()
    return Collected(sum(before.get(name) != outcome for name, outcome in after.items()), lines, torn)


def waiting_records(store: str | Path) -> dict[str, str]:
    """Outcome by run id of everything in the shards, collected or not."""
    found = read_shards(cluster_directory(store) / "shards")
    return {line.record.id: line.record.outcome for line in found if line.record is not None}


def _written(store: Path, runner: Runner, origin: dict[str, str], tasks: Sequence[Sequence[Run]]) -> Path:
    """The files of a new submission."""
    home = cluster_directory(store)
    _refuse_backslash(home)
    number = 1 + max((int(path.name) for path in home.glob("[0-9]*")), default=0)
    directory = home / f"{number:04d}"
    try:
        for part in (directory / "tasks", directory / "logs", home / "shards"):
            make_directory(part)
        about_runner = {"origin": origin, "name": runner.name, "numerics": runner.numerics}
        write_text(directory / "submission.json", json.dumps(about_runner))
        for task, runs in enumerate(tasks):
            entries = [asdict(run) for run in runs]
            write_text(directory / "tasks" / f"{task}.json", json.dumps(entries))
        script = _SCRIPT.format(
            last=len(tasks) - 1,
            python=shlex.quote(sys.executable),
            directory=shlex.quote(str(directory)),
        )
        write_text(directory / "array.sh", script)
    except OSError as fault:
        shutil.rmtree(directory, ignore_errors=True)  # what is left of it counts for nothing: it has no job
        raise StoreFault(f"{directory}: cannot be written: {fault_words(fault)}") from fault
    return directory


def _own_options(store: Path, directory: Path) -> list[str]:
    """The name of the job and where the tasks' logs go; in the latter Slurm replaces what follows a percent sign."""
    label = re.sub(r"[^\w.-]", "_", store.stem)
    return [f"--job-name={label}", f"--output={str(directory / 'logs').replace('%', '%%')}/%a.out"]


def _refuse_backslash(home: Path) -> None:
    """With a backslash in it, Slurm takes the name of a log as it stands: all tasks would write into one `%a.out`."""
    if "\\" in str(home):
        raise EngineFault(f"{home}: Slurm cannot name logs below a directory with a backslash in its name; rename it")


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise StoreFault(f"{path}: cannot be read: {fault}") from fault


class Shard:
    """A file that one process appends to. Its name is new in every process, so that no two ever share one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with _writing(path):
            self._lines = LineFile(path)

    def append(self, record: Record) -> None:
        """Append a record; when this returns it is on the disk."""
        with _writing(self.path):
            self._lines.append(asdict(record))

    def close(self) -> None:
        """Let go of the file."""
        self._lines.close()


class Line(NamedTuple):
    """A line of a shard: its record, or None if it is torn."""

    shard: Path
    record: Record | None


def read_shards(directory: Path, prefix: str = "") -> Iterator[Line]:
    """Every line of the shards in a directory, in the order of their names."""
    for path in sorted(directory.glob(f"{prefix}*{_SUFFIX}")):
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                yield Line(path, _record(line))


def new_shard(directory: Path, name: str) -> Shard:
    """A shard of this process for the task `name`."""
    return Shard(directory / f"{name}-{time_ns()}-{os.getpid()}{_SUFFIX}")


def _record(line: str) -> Record | None:
    if not line.endswith("\n"):
        return None
    try:
        return from_line(line)
    except (ValueError, TypeError):
        return None


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        reason = fault.strerror or fault
        raise StoreFault(f"{path}: cannot be written: {reason}; what was acknowledged before is safe") from fault
