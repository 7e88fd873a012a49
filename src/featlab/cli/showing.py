"""How commands show what they have: a picture in a file, a text on the screen, JSON; and examples in their help."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from featlab.cli.errors import fail

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

_FORMATS = (".png", ".svg", ".pdf")
_PANEL = "Output"

FigureFile = Annotated[
    Path | None,
    typer.Option("--figure", metavar="FILE", help="Write a picture (png, svg, pdf).", rich_help_panel=_PANEL),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object with all data instead.", rich_help_panel=_PANEL)
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No table, no progress bar, no remarks.", rich_help_panel=_PANEL)]


def examples(*commands: str) -> str:
    """The end of a command's help."""
    return "\n\n".join(("Examples:", *commands))


def check_figure(path: Path | None) -> None:
    """Before the run, not after it: a picture that could not be written would be a run lost."""
    if path is None:
        return
    if path.suffix.lower() not in _FORMATS:
        fail(f"--figure: got {str(path)!r}, expected a name that ends in {', '.join(_FORMATS)}")
    if path.is_dir() or not path.parent.is_dir():
        fail(f"--figure: got {str(path)!r}, which cannot be written: no directory {str(path.parent)!r}")


def deliver(
    *,
    figure: Path | None,
    draw: Callable[[], Figure],
    as_json: bool,
    record: Callable[[], Any],
    quiet: bool,
    text: Callable[[], RenderableType],
) -> None:
    """The picture if a file is named for it, then JSON, or the text unless quiet; each is made only when wanted."""
    if figure is not None:
        _write(figure, draw())
    if as_json:
        typer.echo(json.dumps(record(), allow_nan=False))
    elif not quiet:
        show(text())
    if figure is not None and not quiet:
        typer.echo(f"The picture is in {figure}", err=True)


def show(text: RenderableType) -> None:
    """In colour on a terminal; plain and without trailing spaces anywhere else."""
    from rich.console import Console

    from featlab.reports.terminal import plain_text

    console = Console()
    if console.is_terminal:
        console.print(text)
    else:
        typer.echo(plain_text(text, console.width))


def _write(path: Path, figure: Figure) -> None:
    try:
        figure.savefig(path, dpi=150, facecolor="white")
    except OSError as fault:
        fail(f"--figure: got {str(path)!r}, which cannot be written: {fault.strerror or fault}")
