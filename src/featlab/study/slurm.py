"""Slurm without a driver: an array of tasks that share out what is missing, each writing a shard of its own.

`submit` writes the runs of every task into files, submits the array and returns. Nothing needs to stay alive. `collect`
merges the shards into the store, as often as one likes; `submit` again submits only what is missing by then.

A shard holds one record a line with its digest, appended whole and brought to the disk. A killed task can leave a torn
last line. It is skipped when the shards are read, as is a damaged one, and its run counts as not done.

    sweep.sqlite                     the store
    sweep.cluster/0001/              a submission: submission.json, array.sh, tasks/17.json, logs/
    sweep.cluster/shards/            what its tasks have done
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import time_ns
from typing import Any, NamedTuple

from featlab import interruption
from featlab.errors import InvalidParameter
from featlab.lines import LineFile
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
    _refuse_if_active(store)
    collect(store, create=True)
    with Store(store) as results:
        results.adopt(about(study, runner))
        missing = missing_runs(runs, results.outcomes(), retry_failed=retry_failed)
    if not missing:
        return None
    tasks = shares([run for group in by_shape(missing, runner) for run in group], array)
    directory = _written(Path(store), runner, origin, tasks)
    try:
        own = _own_options(Path(store), directory)
        job = _slurm("sbatch", "--parsable", *own, *options, str(directory / "array.sh")).strip().partition(";")[0]
    except EngineFault:
        shutil.rmtree(directory)
        raise
    (directory / "job").write_text(job + "\n", encoding="ascii")
    return Submission(directory, job, len(tasks), len(missing))


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
    """Merge the shards into the store. Doing it again changes nothing; the shards stay."""
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


def jobs(store: str | Path) -> dict[str, Counter[str]]:
    """Slurm's states of the tasks of each submitted array that is still in its queue, by job id.

    None are known on a machine that has no Slurm, such as the laptop to which the results were copied.
    """
    if shutil.which("squeue") is None:
        return {}
    submitted = [path.read_text(encoding="ascii").strip() for path in cluster_directory(store).glob("*/job")]
    states = {job: _states(job) for job in sorted(submitted)}
    return {job: found for job, found in states.items() if found}


def _refuse_if_active(store: str | Path) -> None:
    for job, states in jobs(store).items():
        shown = ", ".join(f"{count} {state.lower()}" for state, count in states.items())
        raise EngineFault(
            f"job {job} of this study is in the queue ({shown}); wait for it or `scancel {job}`, then submit again"
        )


def _written(store: Path, runner: Runner, origin: dict[str, str], tasks: Sequence[Sequence[Run]]) -> Path:
    """The files of a new submission."""
    home = cluster_directory(store)
    _refuse_backslash(home)
    number = 1 + max((int(path.name) for path in home.glob("[0-9]*")), default=0)
    directory = home / f"{number:04d}"
    try:
        for part in (directory / "tasks", directory / "logs", home / "shards"):
            part.mkdir(parents=True, exist_ok=True)
        about_runner = {"origin": origin, "name": runner.name, "numerics": runner.numerics}
        (directory / "submission.json").write_text(json.dumps(about_runner), encoding="utf-8")
        for task, runs in enumerate(tasks):
            entries = [asdict(run) for run in runs]
            (directory / "tasks" / f"{task}.json").write_text(json.dumps(entries), encoding="utf-8")
        script = _SCRIPT.format(
            last=len(tasks) - 1,
            python=shlex.quote(sys.executable),
            directory=shlex.quote(str(directory)),
        )
        (directory / "array.sh").write_text(script, encoding="utf-8")
    except OSError as fault:
        raise StoreFault(f"{directory}: cannot be written: {fault.strerror or fault}") from fault
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


def _states(job: str) -> Counter[str]:
    try:
        return Counter(_slurm("squeue", "--noheader", "--array", "--format=%T", "--jobs", job).split())
    except EngineFault as fault:
        if "Invalid job id" in str(fault):  # so long finished that Slurm has forgotten it
            return Counter()
        raise


def _slurm(command: str, *arguments: str) -> str:
    try:
        done = subprocess.run([command, *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        raise EngineFault(f"there is no {command} on this machine; call it where jobs are submitted to Slurm") from None
    if done.returncode != 0:
        raise EngineFault(f"{command} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


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
