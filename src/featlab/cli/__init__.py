"""The command line. One file for each command; nothing heavy is imported until a command runs.

Internal: modules and names may change; what is public of them is in `featlab`.
"""

from __future__ import annotations

import sys


def main() -> None:
    """The entry point `featlab`."""
    try:
        from featlab.cli.app import app

        app(prog_name="featlab")
    except KeyboardInterrupt:
        sys.exit(130)


__all__ = ["main"]
