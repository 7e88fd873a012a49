"""`featlab schema [COMMAND]`: the JSON schema of what a command prints with `--json`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from featlab.cli.errors import exit_cleanly, fail
from featlab.cli.showing import examples
from featlab.errors import or_meant

SCHEMA_EPILOG = examples("featlab schema", "featlab schema explain", "featlab schema study run")


@exit_cleanly
def schema(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[COMMAND]", help="A command; without it, all that have a schema.")
    ] = None,
) -> None:
    """Print the JSON schema of a command's --json; or list the commands that have one, with its version."""
    from featlab.reports.schemas import SCHEMAS, schema_of

    name = " ".join(command or ())
    if not name:
        for known, (version, _) in SCHEMAS.items():
            typer.echo(f"{known:15} {version}")
    elif name in SCHEMAS:
        typer.echo(json.dumps(schema_of(name), indent=2))
    else:
        fail(f"got {name!r}, which prints no JSON; expected one of {', '.join(SCHEMAS)}{or_meant(name, SCHEMAS)}")
