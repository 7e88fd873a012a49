"""`featlab exhibit ...` and `featlab gallery`: the claims of the literature, put to the test.

Exit codes: 0, every exhibit has a verdict, whichever; 1, some runs failed; 2, misuse; 3, runs are still missing (on
Slurm); 4, a store, an engine or the results directory is in trouble; 130, interrupted.
"""

from __future__ import annotations

import os
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from featlab.cli.errors import TROUBLE, exit_cleanly, fail, leave, leave_interrupted
from featlab.cli.showing import examples, print_json
from featlab.cli.study_running import AsJson, Retry, Scheduler, Wait, Workers, chosen_engine, progress_bar
from featlab.errors import or_meant
from featlab.interruption import say_at_end

if TYPE_CHECKING:
    from featlab.exhibits import Exhibit, Report, Size

EPILOG = examples(
    "featlab exhibit list",
    "featlab exhibit run extragradient",
    "featlab exhibit run all --size paper --engine pool --workers 8",
    "featlab exhibit table --size paper",
    "featlab gallery site",
)
GALLERY_EPILOG = examples("featlab gallery site", "featlab gallery site --size paper --results featlab-results")

exhibit_app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", epilog=EPILOG)

_ResultsOption = Annotated[
    Path,
    typer.Option(metavar="DIR", envvar="FEATLAB_RESULTS", help="Where results, reports and pictures are kept."),
]
_SizeOption = Annotated[
    str, typer.Option("--size", metavar="SIZE", help="quick (seconds), paper (the source's sizes) or large (beyond).")
]
_HERE = Path("featlab-results")
_DEFAULT_SIZE = "quick"  # of all three: what was run is what is shown


@exhibit_app.callback()
def exhibits() -> None:
    """Every claim of the source documents, reproduced or not: a study, a prediction, a picture and a verdict."""


@exhibit_app.command("list")
@exit_cleanly
def list_exhibits(results: _ResultsOption = _HERE, as_json: AsJson = False) -> None:
    """Show every exhibit: id, claim, source, and the verdict of its last run."""
    from featlab.exhibits.report import last_report
    from featlab.reports.exhibits import ReportedExhibit, list_text

    entries = [ReportedExhibit(exhibit, last_report(results, exhibit.id)) for exhibit in _chosen(["all"])]
    if as_json:
        print_json("exhibit list", {"exhibits": [entry.record() for entry in entries]})
    else:
        typer.echo(list_text(entries))


@exhibit_app.command("run")
@exit_cleanly
def run_exhibits(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Exhibits by id, or `all`.")],
    size: _SizeOption = _DEFAULT_SIZE,
    engine: Annotated[str, typer.Option(metavar="NAME", help="in-process, pool, dask or slurm.")] = "in-process",
    workers: Workers = None,
    scheduler: Scheduler = None,
    array: Annotated[int, typer.Option(metavar="N", min=1, help="With slurm: the tasks of each study.")] = 1,
    sbatch: Annotated[str, typer.Option(metavar="OPTIONS", help="With slurm: options of sbatch, in quotes.")] = "",
    results: _ResultsOption = _HERE,
    retry_failed: Retry = False,
    wait: Wait = False,
    as_json: AsJson = False,
) -> None:
    """Run exhibits, or what is missing of them, and print their verdicts. Pictures and reports go to the results."""
    from featlab.exhibits import run_exhibit
    from featlab.exhibits.cluster import submit_exhibit
    from featlab.exhibits.running import ResultsUnwritable, RunsFailed

    chosen, of_size, options = _chosen(ids), _size(size), _split_options(sbatch)
    on = None if engine == "slurm" else chosen_engine(engine, workers, scheduler)
    reports: list[Report] = []
    failures: list[str] = []
    waiting: list[str] = []
    unwritten: str | None = None
    say_at_end("; the same command goes on from there")
    with progress_bar(sys.stderr.isatty() and not as_json and on is not None) as bar:
        for exhibit in chosen:
            try:
                made: Report | list[str]
                if on is None:
                    made = submit_exhibit(
                        exhibit, of_size, results, array=array, options=options, retry_failed=retry_failed
                    )
                else:
                    made = run_exhibit(
                        exhibit,
                        of_size,
                        results,
                        engine=on,
                        retry_failed=retry_failed,
                        wait=wait,
                        on_start=partial(bar.start_part, exhibit.id),
                        on_acknowledged=bar.advance,
                    )
            except RunsFailed as fault:
                failures.append(str(fault))
                continue
            except ResultsUnwritable as fault:
                made, unwritten = fault.report or [], str(fault)
            except KeyboardInterrupt:
                leave_interrupted("; the same command goes on from there")
            if isinstance(made, list):
                waiting += made
            else:
                reports.append(made)
                _tell(exhibit, made, results, alone=len(chosen) == 1, quiet=as_json)
            if unwritten is not None:
                break
    if reports and not as_json:
        table = f"`featlab exhibit table{_flags(of_size, results)}` for a table"
        typer.echo(f"\n{_next(of_size, results)}, {table}.")
    _leave(reports, failures, waiting, unwritten, as_json)


@exhibit_app.command("table")
@exit_cleanly
def table(size: _SizeOption = _DEFAULT_SIZE, results: _ResultsOption = _HERE) -> None:
    """Print the verdicts, numbers, run times and machines of all exhibits as a Markdown document."""
    from featlab.exhibits.report import read_report
    from featlab.reports.exhibits import ReportedExhibit, reproduction

    of_size = _size(size)
    entries = [ReportedExhibit(exhibit, read_report(results, exhibit.id, of_size)) for exhibit in _chosen(["all"])]
    typer.echo(reproduction(entries, of_size), nl=False)
    was_run = any(entry.report for entry in entries)
    hint = f"{_next(of_size, results)}." if was_run else f"featlab: {_none_was_run(of_size, results)}"
    typer.echo(hint, err=True)


@exit_cleanly
def gallery(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where the site is written; index.html is its start.")
    ],
    size: _SizeOption = _DEFAULT_SIZE,
    results: _ResultsOption = _HERE,
) -> None:
    """Write a static site of all exhibits that were run: figures, numbers, verdicts, citations. It fetches nothing."""
    from featlab.reports.gallery import write_gallery

    of_size = _size(size)
    written = write_gallery(directory, results, of_size)
    hint = "" if written.shown else f" {_none_was_run(of_size, results)}"
    typer.echo(
        f"{written.shown} of {written.total} exhibits shown, at size {of_size}, of what was run into {results}. "
        f"Open {directory / 'index.html'}.{hint}"
    )


def _chosen(ids: list[str]) -> list[Exhibit]:
    from featlab.exhibits.find import all_exhibits, find_exhibit

    return all_exhibits() if "all" in ids else [find_exhibit(id) for id in dict.fromkeys(ids)]


def _next(size: Size, results: Path) -> str:
    """Where things are, and what makes a site of them."""
    site = f"`featlab gallery site{_flags(size, results)}`"
    return f"Reports and pictures: {results / size}. Next: {site} for a site of all that was run"


def _flags(size: Size, results: Path) -> str:
    """What the next command needs, to speak of the same runs."""
    flags = [] if size == _DEFAULT_SIZE else ["--size", size]
    flags += [] if results == _HERE else ["--results", os.fspath(results)]
    return "".join(f" {shlex.quote(flag)}" for flag in flags)


def _none_was_run(size: Size, results: Path) -> str:
    """What to do where there is nothing to show; other sizes that were run are named."""
    from featlab.exhibits import Size

    others = [str(one) for one in Size if one != size and any((results / one).glob("*/report.json"))]
    hint = f" There are runs of size {' and '.join(others)}: `--size {others[-1]}` shows them." if others else ""
    return (
        f"None of size {size} was run into {results}: `featlab exhibit run all{_flags(size, results)}` does it.{hint}"
    )


def _size(word: str) -> Size:
    from featlab.exhibits import Size

    if word not in list(Size):
        fail(f"--size: got {word!r}, expected one of {', '.join(Size)}{or_meant(word, Size)}")
    return Size(word)


def _split_options(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as fault:
        fail(f"--sbatch: got {text!r}, expected options as in a shell: {fault}")


def _tell(exhibit: Exhibit, report: Report, results: Path, *, alone: bool, quiet: bool) -> None:
    from featlab.exhibits.report import report_path
    from featlab.reports.exhibits import report_text, verdict_line

    if quiet:
        return
    directory = report_path(results, exhibit.id, report.size).parent
    typer.echo(report_text(exhibit, report, os.fspath(directory)) if alone else verdict_line(exhibit, report))


def _leave(
    reports: list[Report], failures: list[str], waiting: list[str], unwritten: str | None, as_json: bool
) -> None:
    from featlab.exhibits.report import report_record

    if as_json:
        record = {"reports": [report_record(report) for report in reports], "failures": failures, "waiting": waiting}
        print_json("exhibit run", record)
    else:
        for line in waiting:
            typer.echo(line)
        for line in failures:
            typer.echo(f"featlab: {line}", err=True)
    if unwritten is not None:
        fail(unwritten, TROUBLE)
    leave(failed=len(failures), missing=len(waiting))
