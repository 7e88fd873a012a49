"""How a command ends: misuse is a line on stderr and exit code 2, never a traceback."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

import typer

from featlab.errors import FeatlabError

MISUSE, INTERRUPTED = 2, 130

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def fail(message: str) -> NoReturn:
    """Say what is wrong on stderr and leave with the exit code of a misuse."""
    typer.echo(f"featlab: {message}", err=True)
    raise typer.Exit(MISUSE)


def exit_cleanly(command: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Turn featlab's own exceptions and Ctrl-C into messages and exit codes."""

    @functools.wraps(command)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return command(*args, **kwargs)
        except FeatlabError as fault:
            fail(str(fault))
        except KeyboardInterrupt:
            typer.echo("featlab: interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None

    return wrapped
