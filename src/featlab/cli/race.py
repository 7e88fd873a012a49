"""`featlab race EXPR`: every learner that applies, theory over simulation, and who needs the fewest samples."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from featlab.cli.errors import exit_cleanly, fail, leave_interrupted
from featlab.cli.showing import AsJson, FigureFile, Quiet, check_figure, deliver, examples, seconds_of
from featlab.interruption import saving

RACE_EPILOG = """Exit code: 0, 2 misuse, 130 interrupted: what was done is shown, and kept if there is a --store.

""" + examples(
    'featlab race "He3(h1)"',
    'featlab race "h1 + h1*h2" --dim 1000 --ratios 0.5:32 --budget 10min --store race --figure race.png',
    'featlab race "sign(h1*h2)" --ratios 1,2,4,8 --seeds 16 --entrants bayes-amp,spectral --json',
)


@exit_cleanly
def race(
    expression: Annotated[str, typer.Argument(metavar="EXPR", help="A function of h1..h32 such as 'He3(h1)'.")],
    dim: Annotated[str, typer.Option(metavar="D", help="The dimension.")] = "500",
    ratios: Annotated[
        str, typer.Option(metavar="LOW:HIGH", help="n/d, doubling from LOW to HIGH; LOW:HIGH:COUNT, or 0.5,1,2.")
    ] = "0.5:16",
    seeds: Annotated[str, typer.Option(metavar="N", help="Runs at each n.")] = "8",
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="Time for all of it, by the clock, such as 5min; what is open is said.")
    ] = "5min",
    entrants: Annotated[
        str | None, typer.Option(metavar="NAME,..", help="Who runs, such as sir,bayes-amp; all unless given.")
    ] = None,
    noise: Annotated[float, typer.Option(help="Variance of Gaussian noise added to the label.")] = 0.0,
    key: Annotated[int, typer.Option(metavar="N", help="The root of all randomness.")] = 0,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Keep the runs there, a file for each entrant; the same race goes on from it."
        ),
    ] = None,
    theory: Annotated[bool, typer.Option(help="Also predict, where there is a theory.")] = True,
    figure: FigureFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Tell who finds a function's directions first: every learner that applies, from n = ratio * d samples."""
    check_figure(figure)
    seconds = seconds_of("--budget", budget)
    from featlab.learners.fields import read_whole
    from featlab.racing import race as run
    from featlab.reports.race import race_text

    if store is not None and store.exists() and not store.is_dir():
        fail(f"--store: got {str(store)!r}, expected a directory")
    with saving():
        found = run(
            expression,
            dim=read_whole("dim", dim),
            ratios=ratios,
            seeds=read_whole("seeds", seeds),
            budget=seconds,
            noise=noise,
            key=key,
            store=store,
            theory=theory,
            entrants=None if entrants is None else [name.strip() for name in entrants.split(",")],
            progress=sys.stderr.isatty() and not quiet,
        )
        deliver(
            "race",
            figure=figure,
            draw=found.plot,
            as_json=as_json,
            record=found.to_dict,
            quiet=quiet,
            text=lambda: race_text(found),
        )
    if found.interrupted:
        kept = "" if store is None else f"; the same command goes on from {store}"
        leave_interrupted(f"; what was done until then is shown{kept}")
