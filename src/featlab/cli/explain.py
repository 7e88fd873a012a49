"""`featlab explain EXPR`: the explanation of a target on the screen, as JSON, as a page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from featlab.cli.errors import exit_cleanly, fail, leave_interrupted
from featlab.cli.experiment_options import AlignmentOption, SpikeOption, spiked_inputs
from featlab.cli.showing import check_output, examples, print_json, seconds_of, show, write_output
from featlab.interruption import saving

if TYPE_CHECKING:
    from featlab.analysis.budget import Tell
    from featlab.reports import Explanation

EXPLAIN_EPILOG = examples(
    'featlab explain "He3(h1)"',
    'featlab explain "h1 + abs(h2)" --dim 1e6',
    'featlab explain "h1**2" --noise 0.1 --json',
    'featlab explain "sign(h1*h2)" --html explanation.html --no-simulation',
    'featlab explain "He3(h1)" --html explanation.html --gallery gallery',
    'featlab explain "He3(h1)" --spike 0.8 --alignment 0.2',
    'featlab explain "h1 + abs(h2)" --budget 1min',
)


@exit_cleanly
def explain(
    expression: Annotated[
        str,
        typer.Argument(
            metavar="EXPR",
            help="A function of h1..h32 such as 'He4(h1) + sign(h1*h2*h3)'; xi1, xi2, .. are noise inside it.",
        ),
    ],
    noise: Annotated[float, typer.Option(help="Variance of Gaussian noise added to the label.")] = 0.0,
    spike: SpikeOption = None,
    alignment: AlignmentOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a self-contained page with pictures.")
    ] = None,
    gallery: Annotated[
        str | None,
        typer.Option(metavar="PATH|URL", help="Link that page's exhibits to a gallery made by `featlab gallery`."),
    ] = None,
    dim: Annotated[
        float | None, typer.Option(metavar="D", help="Give sample costs as numbers at this dimension, such as 1e6.")
    ] = None,
    race: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Give the constants of sample costs that `featlab race --store` measured."),
    ] = None,
    simulation: Annotated[
        bool,
        typer.Option(help="End with a demonstration: theory over simulation of the cheapest algorithm that learns it."),
    ] = True,
    budget: Annotated[
        str,
        typer.Option(metavar="TIME", help="Time for the demonstration, by the clock, such as 30s or 2min."),
    ] = "10s",
    analysis_budget: Annotated[
        str, typer.Option(metavar="TIME", help="Processor time for the analysis; what is open by then is a doubt.")
    ] = "60s",
) -> None:
    """Tell what can be learned of a function: exponents, staircase, verdict, sample costs, theory over simulation."""
    if gallery is not None and html is None:
        fail(f"--gallery: got {gallery!r}, but only a page has links; give --html FILE, too")
    check_output("--html", html)
    seconds, longest = seconds_of("--budget", budget), seconds_of("--analysis-budget", analysis_budget)
    inputs, interrupted = spiked_inputs(spike, alignment), False
    from featlab.reports import explain as compute

    with note("Analysing the target") as tell:
        explanation = compute(expression, noise=noise, inputs=inputs, dim=dim, analysis_budget=longest, tell=tell)
    if race is not None:
        from featlab.racing import open_race

        explanation = explanation.raced(open_race(race, explanation.analysis))
    if not as_json:
        show(explanation)
    with saving():
        if simulation:
            explanation, interrupted = _demonstrated(explanation, seconds, shown=not as_json)
        if as_json:
            print_json("explain", explanation.to_dict(), indent=2)
        if html is not None:
            page = partial(_page, explanation, _seen_from(html, gallery))
            write_output("--html", html, page, "page", quiet=as_json)
    if interrupted:
        leave_interrupted("; the analysis was finished, its demonstration was not")


def _demonstrated(explanation: Explanation, seconds: float, *, shown: bool) -> tuple[Explanation, bool]:
    """The explanation with its demonstration, which is shown; without it, and True, if Ctrl-C came before its end."""
    try:
        with note(f"Demonstration, at most {seconds:g} s") as tell:
            explanation = explanation.demonstrated(seconds, tell)
    except KeyboardInterrupt:
        return explanation, True
    if shown and explanation.demonstration is not None:
        from rich.console import Group

        from featlab.reports.terminal import demonstration_parts

        show(Group(*demonstration_parts(explanation.demonstration)))
    return explanation, False


@contextmanager
def note(what: str) -> Iterator[Tell | None]:
    """A line on what is being computed while it lasts, if a person is watching; the steps are told to it."""
    from rich.console import Console

    watched = Console(stderr=True)
    if not watched.is_terminal:
        yield None
        return
    with watched.status(f"{what} ...") as status:
        yield lambda step: status.update(f"{what}: {step} ...")


def _page(explanation: Explanation, gallery: str | None) -> bytes:
    return explanation.to_html(gallery).encode("utf-8")


def _seen_from(page: Path, gallery: str | None) -> str | None:
    """The address of the gallery in a link of the page: a path is relative to the page, an address on the web stays."""
    if gallery is None or "://" in gallery:
        return gallery
    return Path(os.path.relpath(gallery, page.parent)).as_posix()
