"""How a command ends: misuse is a line on stderr and exit code 2, a file that fails is 4; never a traceback.

What nobody foresaw is one line, too, with exit code 70; `featlab --debug ...` shows where it came from.
"""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NoReturn, ParamSpec, TypeVar

import typer

from featlab.errors import FeatlabError, Unwritable
from featlab.files import fault_words
from featlab.interruption import first_to_say

FAILED, MISUSE, MISSING, TROUBLE, UNFORESEEN, INTERRUPTED, UNHEARD = 1, 2, 3, 4, 70, 130, 141
DEBUG = "--debug"
_LONGEST_LINE = 300

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def fail(message: str, code: int = MISUSE) -> NoReturn:
    """Say what is wrong on stderr and leave, with the exit code of a misuse unless another is given."""
    typer.echo(f"featlab: {message}", err=True)
    raise typer.Exit(code)


def leave_interrupted(words: str = "") -> NoReturn:
    """Say that the command was interrupted, and what became of it, unless its end is already being told; leave."""
    if first_to_say():
        typer.echo(f"featlab: interrupted{words}", err=True)
    raise typer.Exit(INTERRUPTED)


def leave(*, failed: int, missing: int) -> None:
    """The exit code of runs of which so many failed and so many are still to be made; none if all are done."""
    if failed or missing:
        raise typer.Exit(FAILED if failed else MISSING)


def exit_cleanly(command: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Turn featlab's own exceptions, faults of files and Ctrl-C into messages and exit codes."""

    @functools.wraps(command)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return command(*args, **kwargs)
        except FeatlabError as fault:
            fail(_in_options(fault, kwargs), _exit_code(fault))
        except BrokenPipeError:  # whoever reads has heard enough, as `| head` does
            _give_up_stdout()
            raise typer.Exit(UNHEARD) from None
        except MemoryError as fault:
            show_traceback()
            fail(f"more memory is needed than there is: {fault or 'none is left'}; take less of it at a time", TROUBLE)
        except OSError as fault:
            show_traceback()
            _give_up_stdout()
            where = "the output" if fault.filename is None else os.fspath(fault.filename)
            fail(f"{where}: {fault_words(fault)}", TROUBLE)
        except KeyboardInterrupt:
            leave_interrupted()

    return wrapped


def unforeseen(fault: Exception) -> int:
    """The last line of defence: say in one line what nobody foresaw; the exit code."""
    show_traceback()
    line = " ".join(f"{type(fault).__name__}: {fault}".split())
    line = line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 3] + "..."
    hint = f"; `featlab {DEBUG} ...` with the same arguments shows where; please report it"
    typer.echo(f"featlab: a fault of featlab itself: {line}{'' if _details_wanted() else hint}", err=True)
    _give_up_stdout()
    return UNFORESEEN


def show_traceback() -> None:
    """Of the exception that is being handled, if `featlab --debug` was asked for."""
    if _details_wanted():
        traceback.print_exc()


def _details_wanted() -> bool:
    return sys.argv[1:2] == [DEBUG]


def _give_up_stdout() -> None:
    """If what is still to be written there cannot be, Python shall not try it again at its end, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError):  # it may be no file at all, in a test
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _in_options(fault: FeatlabError, typed: Mapping[str, Any]) -> str:
    """The fault in the options of the command that was typed; the names in a study's file stay as they are there."""
    from featlab.reports.wording import fault_in_options
    from featlab.study.faults import InvalidStudy

    return str(fault) if isinstance(fault, InvalidStudy) else fault_in_options(fault, typed)


def _exit_code(fault: FeatlabError) -> int:
    """Trouble with a store, an engine or a file has a code of its own; everything else is misuse."""
    from featlab.study.faults import EngineFault, StoreFault

    return TROUBLE if isinstance(fault, EngineFault | StoreFault | Unwritable) else MISUSE
