"""How commands show what they have: a picture in a file, a text on the screen, JSON; and examples in their help."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from featlab.cli.errors import TROUBLE, fail
from featlab.files import check_writable, fault_words, write_bytes
from featlab.interruption import saving

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

_FORMATS = (".png", ".svg", ".pdf", ".pgf")
_PANEL = "Output"
_UNITS = {"": 1.0, "s": 1.0, "min": 60.0, "h": 3600.0}

FigureFile = Annotated[
    Path | None,
    typer.Option(
        "--figure", metavar="FILE", help="Write a picture (png, svg, pdf, or pgf for LaTeX).", rich_help_panel=_PANEL
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object with all data instead.", rich_help_panel=_PANEL)
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No table, no progress bar, no remarks.", rich_help_panel=_PANEL)]


def examples(*commands: str) -> str:
    """The end of a command's help."""
    return "\n\n".join(("Examples:", *commands))


def seconds_of(option: str, text: str) -> float:
    """A time such as 30s, 2min, 1h; a number alone is seconds."""
    found = re.fullmatch(r"([0-9.]+(?:e[-+]?[0-9]+)?) *(s|min|h|)", text.strip())
    try:
        seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        fail(f"{option}: got {text!r}, expected a time above 0 such as 30s, 2min or 1h")
    return seconds


def check_figure(path: Path | None) -> None:
    """Before the run, not after it: a picture that could not be written would be a run lost."""
    if path is not None and path.suffix.lower() not in _FORMATS:
        fail(f"--figure: got {str(path)!r}, expected a name that ends in {', '.join(_FORMATS)}")
    check_output("--figure", path)


def check_output(option: str, path: Path | None) -> None:
    """Refuse, before anything is computed, a file that cannot be written."""
    if path is None:
        return
    try:
        check_writable(path)
    except OSError as fault:
        fail(_unwritable(option, path, fault))


def print_json(command: str, record: Mapping[str, Any], *, indent: int | None = None) -> None:
    """What every --json prints: one object, whose first key names its schema and the schema's version."""
    from featlab.reports.schemas import schema_name

    typer.echo(json.dumps({"schema": schema_name(command), **record}, indent=indent, allow_nan=False))


def deliver(
    command: str,
    *,
    figure: Path | None,
    draw: Callable[[], Figure],
    as_json: bool,
    record: Callable[[], Any],
    quiet: bool,
    text: Callable[[], RenderableType],
) -> None:
    """JSON, or the text unless quiet; then the picture if a file is named for it. Each is made only when wanted.

    Args:
        command: whose schema the JSON has.
    """
    with saving():
        if as_json:
            print_json(command, record())
        elif not quiet:
            show(text())
        if figure is not None:
            unsaid = None if as_json or not quiet else lambda: show(text())
            write_output("--figure", figure, lambda: _drawn(draw(), figure), "picture", quiet=quiet, unsaid=unsaid)


def write_output(
    option: str,
    path: Path,
    content: Callable[[], bytes],
    what: str,
    *,
    quiet: bool = False,
    unsaid: Callable[[], None] | None = None,
) -> None:
    """Write a file when all else is said. If it cannot be written, what was computed is not lost: it has been shown.

    Args:
        what: the word for it.
        quiet: do not say where it is.
        unsaid: shows the result, if that was not wanted as long as there would be a file.
    """
    try:
        write_bytes(path, content())
    except OSError as fault:
        if unsaid is not None:
            unsaid()
        fail(_unwritable(option, path, fault), TROUBLE)
    if not quiet:
        typer.echo(f"The {what} is in {path}", err=True)


def show(text: RenderableType) -> None:
    """In colour on a terminal; plain and without trailing spaces anywhere else."""
    from rich.console import Console

    from featlab.reports.plain import plain_text

    console = Console()
    if console.is_terminal:
        console.print(text)
    else:
        typer.echo(plain_text(text, console.width))


def _drawn(figure: Figure, path: Path) -> bytes:
    from matplotlib import rc_context

    buffer = io.BytesIO()
    with rc_context({"pdf.fonttype": 42}):  # fonts that journals take, text that stays text
        figure.savefig(buffer, format=path.suffix[1:].lower(), dpi=150, facecolor="white")
    return buffer.getvalue()


def _unwritable(option: str, path: Path, fault: OSError) -> str:
    missing = "" if path.parent.is_dir() else f": no directory {str(path.parent)!r}"
    return f"{option}: got {str(path)!r}, which cannot be written: {fault_words(fault)}{missing}"
