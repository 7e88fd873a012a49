"""How a command ends: misuse is a line on stderr and exit code 2, never a traceback."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

import typer

from featlab.errors import FeatlabError

MISUSE, TROUBLE, INTERRUPTED = 2, 4, 130

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


def safely(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Trouble with a study's store or engine has an exit code of its own; misuse keeps that of all commands."""

    @functools.wraps(command)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        from featlab.study.faults import EngineFault, StoreFault

        try:
            command(*args, **kwargs)
        except (EngineFault, StoreFault) as fault:
            typer.echo(f"featlab: {fault}", err=True)
            raise typer.Exit(TROUBLE) from None

    return exit_cleanly(wrapped)
