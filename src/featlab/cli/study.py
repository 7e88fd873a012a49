"""`featlab study ...`: plan, run, status, submit, collect, export, check.

Exit codes: 0, all is done; 1, some points failed; 2, misuse; 3, points are missing; 4, the store, the engine or an
output file is in trouble; 130, interrupted; 70, a fault of featlab itself (as for every command).
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from featlab.cli.errors import MISSING, TROUBLE, exit_cleanly, fail, leave, leave_interrupted
from featlab.cli.showing import examples, print_json
from featlab.cli.study_running import AsJson, Retry, Scheduler, Wait, Workers, chosen_engine, progress_bar
from featlab.cli.study_text import (
    errors_text,
    health_record,
    health_text,
    plan_record,
    plan_text,
    progress_record,
    progress_text,
)
from featlab.interruption import say_at_end

if TYPE_CHECKING:
    from featlab.study.description import Study
    from featlab.study.drive import Progress
    from featlab.study.runner import Runner

EPILOG = examples(
    "featlab study plan sweep.toml",
    "featlab study run sweep.toml --engine pool --workers 4",
    "featlab study submit sweep.toml --engine slurm --array 100 -- --time=01:00:00 --mem=4G",
    "featlab study collect sweep.toml",
    "featlab study export sweep.toml sweep.parquet",
)

# Seconds that are said before anything runs: of a single run, in which nothing is heard of a study, and of all.
_LONG_RUN, _LONG_STUDY = 60.0, 600.0

study_app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", epilog=EPILOG)

_File = Annotated[Path, typer.Argument(metavar="FILE", help="The study file (TOML).")]
_StoreOption = Annotated[
    Path | None, typer.Option("--store", metavar="FILE", help="Where results are kept; FILE.sqlite beside the study.")
]


@study_app.callback()
def studies() -> None:
    """Grids of runs that survive anything: on a laptop, on Dask, on Slurm. Running a study again resumes it."""


@study_app.command()
@exit_cleanly
def plan(
    file: _File,
    store: _StoreOption = None,
    workers: Annotated[int, typer.Option(metavar="N", min=1, help="Estimate for so many workers.")] = 1,
    probe: Annotated[bool, typer.Option("--probe/--no-probe", help="Try one point, for time and memory.")] = True,
    as_json: AsJson = False,
) -> None:
    """Show what a study would do: points, what is done, the time and memory of the rest. Nothing is stored."""
    from featlab.study.estimate import plan as make_plan

    opened = _opened(file, store)
    made = make_plan(
        *opened, probe=probe, on_probe=partial(_foretell, *opened[:2], "the probe, which --no-probe omits,")
    )
    if as_json:
        print_json("study plan", plan_record(made, workers))
    else:
        typer.echo(plan_text(made, workers))


@study_app.command()
@exit_cleanly
def run(
    file: _File,
    engine: Annotated[str, typer.Option(metavar="NAME", help="in-process, pool or dask.")] = "in-process",
    workers: Workers = None,
    scheduler: Scheduler = None,
    store: _StoreOption = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over; the old store is set aside.")] = False,
    retry_failed: Retry = False,
    wait: Wait = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar, no summary.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run what is missing of a study. After any interruption, the same command goes on where it was."""
    from featlab.study.drive import run as fill

    on, opened = chosen_engine(engine, workers, scheduler), _opened(file, store)
    say_at_end("; the same command goes on from there")
    with progress_bar(sys.stderr.isatty() and not quiet and not as_json) as bar:

        def started(progress: Progress) -> None:
            if not quiet:
                _foretell(*opened[:2], "what is missing", progress.missing)
            bar.start(progress)

        try:
            progress = fill(
                *opened,
                engine=on,
                fresh=fresh,
                retry_failed=retry_failed,
                wait=wait,
                on_set_aside=None if quiet else _tell_aside,
                on_start=started,
                on_acknowledged=bar.advance,
            )
        except KeyboardInterrupt:
            _interrupted(*opened)
    _tell("study run", progress, file, opened[-1], quiet=quiet, as_json=as_json)


@study_app.command()
@exit_cleanly
def status(
    file: _File,
    store: _StoreOption = None,
    errors: Annotated[bool, typer.Option("--errors", help="Show the points that failed, with their errors.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show how far a study is, also while it runs."""
    from featlab.study.drive import progress_of
    from featlab.study.estimate import stored_outcomes
    from featlab.study.identity import runs_of
    from featlab.study.queue import jobs
    from featlab.study.slurm import waiting_records

    study, runner, place = _opened(file, store)
    outcomes, shards, queue = stored_outcomes(place), waiting_records(place), jobs(place)
    progress = progress_of(runs_of(study, runner), shards | outcomes)
    uncollected = len(shards.keys() - outcomes.keys())
    if as_json:
        print_json("study status", {**progress_record(progress), "uncollected": uncollected, "jobs": queue})
    else:
        typer.echo(progress_text(progress))
        if uncollected:
            typer.echo(f"{uncollected:,} of them in shards: `featlab study collect {file}` merges them into the store")
        for job, states in queue.items():
            typer.echo(f"job {job}: " + ", ".join(f"{count} {state.lower()}" for state, count in states.items()))
    if errors and place.exists():
        from featlab.study.dataset import provenance

        typer.echo(errors_text(provenance(place)))
    leave(failed=progress.failed, missing=progress.missing)


@study_app.command()
@exit_cleanly
def submit(
    file: _File,
    array: Annotated[int, typer.Option(metavar="N", min=1, help="The number of array tasks.")],
    sbatch_options: Annotated[list[str] | None, typer.Argument(metavar="-- SBATCH OPTIONS")] = None,
    engine: Annotated[str, typer.Option(metavar="NAME", help="slurm.")] = "slurm",
    store: _StoreOption = None,
    retry_failed: Retry = False,
    as_json: AsJson = False,
) -> None:
    """Submit what is missing as a job array and return. Nothing needs to stay alive; submit again to resume."""
    from featlab.study.description import read_study
    from featlab.study.slurm import submit as hand_over

    if engine != "slurm":
        fail(f"--engine: got {engine!r}, expected slurm; the others run with `featlab study run`")
    origin = {"kind": read_study(file).kind, "directory": str(file.resolve().parent)}
    options = sbatch_options or ()
    sent = hand_over(*_opened(file, store), origin=origin, array=array, options=options, retry_failed=retry_failed)
    if as_json:
        job, tasks, runs = (None, 0, 0) if sent is None else (sent.job, sent.tasks, sent.runs)
        print_json("study submit", {"job": job, "tasks": tasks, "runs": runs})
    elif sent is None:
        typer.echo("Nothing is missing, nothing was submitted.")
    else:
        later = f"`featlab study status {file}` shows how far it is, `featlab study collect {file}` fetches results."
        typer.echo(f"Job {sent.job}: {sent.runs:,} runs in {sent.tasks:,} tasks.\n{later}")


@study_app.command(hidden=True)
@exit_cleanly
def work(directory: Path, task: Annotated[int, typer.Option()]) -> None:
    """What an array task does (the script of `submit` calls it)."""
    from featlab.runners import find_runner
    from featlab.study.slurm import work as run_share

    run_share(directory, task, find_runner)


@study_app.command()
@exit_cleanly
def collect(file: _File, store: _StoreOption = None, wait: Wait = False, as_json: AsJson = False) -> None:
    """Merge what array tasks have done into the store. It can be repeated at any time."""
    from featlab.study.slurm import collect as merge

    opened = _opened(file, store)
    merged = merge(opened[-1], wait=wait)
    if not as_json:
        torn = f", {merged.torn} torn lines skipped" if merged.torn else ""
        typer.echo(f"{merged.new:,} new of {merged.lines:,} results{torn}")
    _tell("study collect", _progress(*opened), file, opened[-1], quiet=False, as_json=as_json)


@study_app.command()
@exit_cleanly
def export(
    file: _File,
    destination: Annotated[Path, typer.Argument(metavar="OUT", help="A .nc, .csv or .parquet file.")],
    store: _StoreOption = None,
) -> None:
    """Write the results to a netCDF, CSV or Parquet file; what is missing is said, and by the exit code."""
    from featlab.study.tables import export as write
    from featlab.study.tables import unfinished

    typer.echo(f"Written to {write(file, destination, store=store)}", err=True)
    failed, missing, total = unfinished(file, store)
    if failed or missing:
        lacks = " and ".join(f"{count:,} {word}" for count, word in ((missing, "missing"), (failed, "failed")) if count)
        done = total - failed - missing
        typer.echo(f"featlab: the study is not finished: of {total:,} runs {lacks}; the file holds {done:,}", err=True)
    leave(failed=failed, missing=missing)


@study_app.command()
@exit_cleanly
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The study file (TOML), or the store itself.")],
    store: _StoreOption = None,
    repair: Annotated[bool, typer.Option("--repair", help="Keep what is sound; the rest is pending again.")] = False,
    wait: Wait = False,
    as_json: AsJson = False,
) -> None:
    """Read all that is stored and tell whether it is what was written: each run has a digest."""
    from featlab.study.dataset import places
    from featlab.study.health import check as examine

    place = places(file, store)[0]
    found = examine(place, repair=repair, wait=wait)
    if as_json:
        print_json("study check", health_record(found, place))
    else:
        typer.echo(health_text(found, file))
    if not found.good:
        raise typer.Exit(MISSING if repair else TROUBLE)


def _opened(file: Path, store: Path | None) -> tuple[Study, Runner, Path]:
    """The study, what runs it, and where its results are."""
    from featlab.runners import find_runner
    from featlab.study.description import read_study

    described = read_study(file)
    return described.study, find_runner(described.kind, str(file.resolve().parent)), store or described.store


def _progress(study: Study, runner: Runner, store: Path) -> Progress:
    """How far the store is."""
    from featlab.study.drive import progress_of
    from featlab.study.estimate import stored_outcomes
    from featlab.study.identity import runs_of

    return progress_of(runs_of(study, runner), stored_outcomes(store))


def _foretell(study: Study, runner: Runner, what: str, runs: int = 1) -> None:
    """Say how long so many runs take before they start, if that is long and is known."""
    from featlab.study.estimate import counted
    from featlab.telling import duration, tell

    found = counted(study, runner) if runs else None
    if found is None:
        return
    seconds = found.longest if runs == 1 else runs * found.mean
    if found.longest > _LONG_RUN or seconds > _LONG_STUDY:
        each = "" if runs == 1 else f", the longest run {duration(found.longest)}"
        count = "by a count of what is to be done, right within a factor of ten"
        tell(f"{what} takes about {duration(seconds)} on one core{each}, {count}")


def _tell_aside(aside: Path) -> None:
    typer.echo(f"The old results are in {aside}", err=True)


def _interrupted(study: Study, runner: Runner, store: Path) -> NoReturn:
    reached = progress_text(_progress(study, runner, store))
    leave_interrupted(f"; {reached}. The same command goes on from there")


def _tell(command: str, progress: Progress, file: Path, store: Path, *, quiet: bool, as_json: bool) -> None:
    if as_json:
        print_json(command, {**progress_record(progress), "store": str(store)})
    elif not quiet:
        typer.echo(f"{progress_text(progress)}. Results in {store}")
    if progress.failed and not as_json:
        typer.echo(f"featlab: `featlab study status {file} --errors` shows why points failed", err=True)
    leave(failed=progress.failed, missing=progress.missing)
