"""`featlab explore`: a page on this machine, to type a function and play with its theory."""

from __future__ import annotations

import errno
from importlib.util import find_spec
from typing import Annotated

import typer

from featlab.cli.errors import TROUBLE, exit_cleanly, fail
from featlab.cli.showing import examples
from featlab.files import fault_words
from featlab.interruption import saving

EXPLORE_EPILOG = """It ends with Ctrl-C. Nothing leaves this machine, and nothing is fetched.

""" + examples("featlab explore", "featlab explore --port 0 --no-browser", "featlab explore --host 0.0.0.0 --port 8000")

_LOOPBACK, _PORT = "127.0.0.1", 8765


@exit_cleanly
def explore(
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Where it listens; 0, any port that is free.")
    ] = _PORT,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="H", help="Let other machines reach it at this address of yours; a token is then asked for."
        ),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Open a page to play with: type a function, see what can be learned of it, predict, simulate, race, diagnose."""
    if any(find_spec(name) is None for name in ("fastapi", "uvicorn")):
        fail('the explorer needs more packages: pip install "featlab[web]"')
    from featlab.explorer.serve import bound, serve

    where = host or _LOOPBACK
    try:
        listening = bound(where, port)
    except OSError as fault:
        taken = fault.errno in (errno.EADDRINUSE, errno.EACCES)
        option, given = ("--port", str(port)) if taken else ("--host", where)
        remedy = "--port 0 takes a free one" if taken else "an address of this machine is expected, such as 0.0.0.0"
        fail(f"{option}: got {given!r}, which cannot be listened on: {fault_words(fault)}; {remedy}", TROUBLE)
    with saving():  # a signal ends it in order, not at once
        serve(listening, where, shared=host is not None, browser=browser, tell=_tell)


def _tell(address: str) -> None:
    typer.echo(f"The explorer is at {address} (Ctrl-C ends it)")
