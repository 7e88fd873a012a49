"""`featlab diagnose FILE --label NAME`: what theory says of data, on the screen, as JSON, as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from featlab.cli.errors import exit_cleanly, fail
from featlab.cli.explain import note
from featlab.cli.showing import check_output, examples, print_json, show, write_output
from featlab.interruption import saving

DIAGNOSE_EPILOG = examples(
    "featlab diagnose data.csv --label y",
    "featlab diagnose data.parquet --label price --html diagnosis.html",
    "featlab diagnose data.npz --label y --json --no-curves",
)


@exit_cleanly
def diagnose(
    data: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV, Parquet or NPZ file; one row for each sample.")],
    label: Annotated[str, typer.Option(help="The column (of an NPZ, the array) that holds the label.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a self-contained page with pictures.")
    ] = None,
    curves: Annotated[bool, typer.Option(help="Measure learning curves of four kinds of estimators.")] = True,
    seed: Annotated[int, typer.Option(help="Of permutations and splits.")] = 0,
) -> None:
    """Tell what theory says of data: inputs, directions, orders, and whether the samples are enough."""
    check_output("--html", html)
    if not data.is_file():
        fail(f"FILE: got {str(data)!r}, expected a file that is there")
    from featlab.reports import diagnose as compute

    with note("Looking at the data") as tell:
        found = compute(data, label=label, seed=seed, curves=curves, tell=tell)
    with saving():
        if as_json:
            print_json("diagnose", found.to_dict(), indent=2)
        else:
            show(found)
        if html is not None:
            write_output("--html", html, lambda: found.to_html().encode("utf-8"), "page", quiet=as_json)
