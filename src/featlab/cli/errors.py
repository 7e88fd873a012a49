"""How a command ends: misuse is a line on stderr and exit code 2, never a traceback."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

import typer

from featlab.errors import FeatlabError

FAILED, MISUSE, MISSING, TROUBLE, INTERRUPTED = 1, 2, 3, 4, 130

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def fail(message: str) -> NoReturn:
    """Say what is wrong on stderr and leave with the exit code of a misuse."""
    typer.echo(f"featlab: {message}", err=True)
    raise typer.Exit(MISUSE)


def leave(*, failed: int, missing: int) -> None:
    """The exit code of runs of which so many failed and so many are still to be made; none if all are done."""
    if failed or missing:
        raise typer.Exit(FAILED if failed else MISSING)


def exit_cleanly(command: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Turn featlab's own exceptions and Ctrl-C into messages and exit codes."""

    @functools.wraps(command)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return command(*args, **kwargs)
        except FeatlabError as fault:
            typer.echo(f"featlab: {fault}", err=True)
            raise typer.Exit(_exit_code(fault)) from None
        except KeyboardInterrupt:
            typer.echo("featlab: interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None

    return wrapped


def _exit_code(fault: FeatlabError) -> int:
    """Trouble with a study's store or engine has a code of its own; everything else is misuse."""
    from featlab.study.faults import EngineFault, StoreFault

    return TROUBLE if isinstance(fault, EngineFault | StoreFault) else MISUSE
