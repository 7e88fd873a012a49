"""The `featlab` application: its commands and what they have in common."""

from __future__ import annotations

from typing import Annotated

import typer

import featlab
from featlab.cli.compare import COMPARE_EPILOG, compare
from featlab.cli.diagnose import DIAGNOSE_EPILOG, diagnose
from featlab.cli.doctor import DOCTOR_EPILOG, doctor
from featlab.cli.errors import DEBUG
from featlab.cli.exhibit import GALLERY_EPILOG, exhibit_app, gallery
from featlab.cli.experiment_options import ExpressionCommand, RunCommand
from featlab.cli.explain import EXPLAIN_EPILOG, explain
from featlab.cli.explore import EXPLORE_EPILOG, explore
from featlab.cli.learners import LEARNERS_EPILOG, learners
from featlab.cli.predict import PREDICT_EPILOG, predict
from featlab.cli.race import RACE_EPILOG, race
from featlab.cli.schema import SCHEMA_EPILOG, schema
from featlab.cli.simulate import SIMULATE_EPILOG, simulate
from featlab.cli.study import study_app

app = typer.Typer(
    name="featlab",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"featlab {featlab.__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option(DEBUG, help="Show a traceback where something unforeseen happens.")] = False,
) -> None:
    """What a shallow network can learn of a function, by which algorithm, from how much data.

    Start here:

    featlab explain "He3(h1)"   what can be learned of a function, and the sight of it being learned

    featlab race "He3(h1)"      which algorithm finds it from the fewest samples

    featlab explore             a page to play with all of it

    featlab learners            the algorithms, and of each its options and an example

    featlab study --help        many runs at once
    """


# An expression may begin with a minus sign: what is no known option is taken as the expression.
_LENIENT = {"ignore_unknown_options": True}
app.command(cls=ExpressionCommand, epilog=EXPLAIN_EPILOG, context_settings=_LENIENT)(explain)
app.command(cls=RunCommand, epilog=SIMULATE_EPILOG, context_settings=_LENIENT)(simulate)
app.command(cls=RunCommand, epilog=PREDICT_EPILOG, context_settings=_LENIENT)(predict)
app.command(cls=RunCommand, epilog=COMPARE_EPILOG, context_settings=_LENIENT)(compare)
app.command(cls=ExpressionCommand, epilog=RACE_EPILOG, context_settings=_LENIENT)(race)
app.command(epilog=LEARNERS_EPILOG)(learners)
app.command(epilog=DIAGNOSE_EPILOG)(diagnose)
app.command(epilog=EXPLORE_EPILOG)(explore)
app.add_typer(study_app, name="study")
app.add_typer(exhibit_app, name="exhibit")
app.command(epilog=GALLERY_EPILOG)(gallery)
app.command(epilog=DOCTOR_EPILOG)(doctor)
app.command(epilog=SCHEMA_EPILOG)(schema)
