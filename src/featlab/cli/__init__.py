"""The command line. One file for each command; nothing heavy is imported until a command runs.

Internal: modules and names may change; what is public of them is in `featlab`.
"""

from __future__ import annotations

import gc
import os
import sys

from featlab import interruption
from featlab.compiled import keep

# In fewer columns no line can be set: who asks for them (COLUMNS=0) has said nothing.
_LEAST_COLUMNS = 20
# Imports make a million objects that live for good; looking through them for cycles takes a tenth of a short command.
_COLLECTION = (200_000, 20, 100)


def main() -> None:
    """The entry point `featlab`. Whoever interrupts it gets the exit code of the signal, whatever it was doing."""
    gc.set_threshold(*_COLLECTION)
    interruption.listen()
    code = _run()
    number = interruption.caught()
    if number is not None or interruption.somebody_works():
        interruption.end(128 + number if number is not None else int(code or 0))
    gc.freeze()  # the interpreter would look through all of JAX for cycles, for nothing, while a person waits
    sys.exit(code)


def _run() -> int | str | None:
    """The command of the command line; its exit code."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) < _LEAST_COLUMNS:
        del os.environ["COLUMNS"]
    if not {"--help", "--version"} & set(sys.argv[1:]):
        keep()
    try:
        from featlab.cli.app import app

        app(prog_name="featlab")
    except SystemExit as leaving:
        return leaving.code
    except KeyboardInterrupt:
        return 130
    except Exception as fault:  # noqa: BLE001 - the last line of defence, which says so
        from featlab.cli.errors import unforeseen

        return unforeseen(fault)
    return 0


__all__ = ["main"]
