"""What is written for a screen as plain text; apart, for every command needs it and few need an analysis."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType


def plain_text(what: RenderableType, width: int) -> str:
    """Anything for the screen without colour and without trailing spaces, for pipes, files and `print`."""
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(what)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())
