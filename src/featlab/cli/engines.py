"""Who runs the points of a study, from the words of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from featlab.cli.errors import fail

if TYPE_CHECKING:
    from featlab.study.engines import Engine

ENGINES = ("in-process", "pool", "dask")
WorkersOption = Annotated[int | None, typer.Option(metavar="N", min=1, help="Processes; as many as cores.")]
SchedulerOption = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Dask's scheduler, or its file; a local cluster if not given.")
]


def engine_in_words(name: str, workers: int | None, scheduler: str | None) -> Engine:
    """The engine of that name. Slurm is none of them: its jobs outlive this process."""
    if name not in ENGINES:
        hint = "; Slurm runs with `featlab study submit`" if name == "slurm" else ""
        fail(f"--engine: got {name!r}, expected one of {', '.join(ENGINES)}{hint}")
    if scheduler is not None and name != "dask":
        fail("--scheduler: only with --engine dask")
    from featlab.study.engines import Dask, InProcess, Pool

    if name == "pool":
        return Pool(workers)
    if name == "dask":
        return Dask(scheduler, workers)
    if workers not in (None, 1):
        fail("--workers: only with --engine pool or dask")
    return InProcess()
