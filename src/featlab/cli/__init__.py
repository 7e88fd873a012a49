"""The command line. One file for each command; nothing heavy is imported until a command runs.

Internal: modules and names may change; what is public of them is in `featlab`.
"""

from __future__ import annotations

import os
import sys

from featlab.compiled import keep

# In fewer columns no line can be set: who asks for them (COLUMNS=0) has said nothing.
_LEAST_COLUMNS = 20


def main() -> None:
    """The entry point `featlab`."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) < _LEAST_COLUMNS:
        del os.environ["COLUMNS"]
    if not {"--help", "--version"} & set(sys.argv[1:]):
        keep()
    try:
        from featlab.cli.app import app

        app(prog_name="featlab")
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as fault:  # noqa: BLE001 - the last line of defence, which says so
        from featlab.cli.errors import unforeseen

        sys.exit(unforeseen(fault))


__all__ = ["main"]
