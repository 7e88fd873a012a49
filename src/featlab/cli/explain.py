"""`featlab explain EXPR`: the explanation of a target on the screen, as JSON, as a page."""

from __future__ import annotations

import os
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from featlab.cli.errors import exit_cleanly, fail
from featlab.cli.experiment_options import AlignmentOption, SpikeOption, spiked_inputs
from featlab.cli.showing import check_output, examples, show, write_output

if TYPE_CHECKING:
    from featlab.reports import Explanation
    from featlab.targets import SpikeLaw

EXPLAIN_EPILOG = examples(
    'featlab explain "He3(h1)"',
    'featlab explain "h1 + abs(h2)" --dim 1e6',
    'featlab explain "h1**2" --noise 0.1 --json',
    'featlab explain "sign(h1*h2)" --html explanation.html --no-simulation',
    'featlab explain "He3(h1)" --html explanation.html --gallery gallery',
    'featlab explain "He3(h1)" --spike 0.8 --alignment 0.2',
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
    simulation: Annotated[
        bool,
        typer.Option(help="End with theory over simulation of the cheapest algorithm that learns it (ten seconds)."),
    ] = True,
    budget: Annotated[
        float, typer.Option(metavar="S", help="Seconds of processor time for the analysis; the rest is a doubt.")
    ] = 60.0,
) -> None:
    """Tell what can be learned of a function: exponents, staircase, verdict, sample costs, theory over simulation."""
    if gallery is not None and html is None:
        fail(f"--gallery: got {gallery!r}, but only a page has links; give --html FILE, too")
    check_output("--html", html)
    explanation = _explained(expression, noise, spiked_inputs(spike, alignment), dim, simulation, budget)
    if as_json:
        import json

        typer.echo(json.dumps(explanation.to_dict(), indent=2, allow_nan=False))
    else:
        show(explanation)
    if html is not None:
        page = partial(_page, explanation, _seen_from(html, gallery))
        write_output("--html", html, page, "page", quiet=as_json)


def _explained(
    expression: str, noise: float, inputs: SpikeLaw | None, dim: float | None, simulation: bool, budget: float
) -> Explanation:
    """The explanation; if a person is watching, with a note of what is being computed."""
    from rich.console import Console

    watched = Console(stderr=True)
    note = "Analysing the target, then simulating it" if simulation else "Analysing the target"
    with watched.status(f"{note} ...") if watched.is_terminal else nullcontext() as status:
        from featlab.reports import explain as compute

        def tell(step: str) -> None:
            if status is not None:
                status.update(f"{note}: {step} ...")

        return compute(expression, noise=noise, inputs=inputs, dim=dim, simulation=simulation, budget=budget, tell=tell)


def _page(explanation: Explanation, gallery: str | None) -> bytes:
    return explanation.to_html(gallery).encode("utf-8")


def _seen_from(page: Path, gallery: str | None) -> str | None:
    """The address of the gallery in a link of the page: a path is relative to the page, an address on the web stays."""
    if gallery is None or "://" in gallery:
        return gallery
    return Path(os.path.relpath(gallery, page.parent)).as_posix()
