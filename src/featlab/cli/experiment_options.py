"""The options that say what is to be learned, by whom and how: the same for every command that runs a learner.

They are generated from what the fields of experiments, learners and students say of themselves, so that a new field is
an option, and help comes without loading NumPy. The decorator `takes_experiment` gives them to a command.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from functools import cache, wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from featlab.cli.errors import fail
from featlab.learners.fields import Option, options_of

if TYPE_CHECKING:
    from featlab.experiments import Experiment
    from featlab.targets import SpikeLaw

_LEARNER, _STUDENT, _READOUT = "Learner (each takes some of these)", "Student", "Readout"
# Said in the terms of the inputs' laws, not by a field.
_INPUTS = {
    "noise": ("V", "Variance of Gaussian noise added to the label; 0."),
    "spike": ("G2", "Inputs N(0, I + theta mu mu^T) with theta = d^G2, 0 <= G2 <= 1."),
    "alignment": (
        "G1[,..]",
        "With --spike: mu's overlap d^-G1 with each direction, 0 <= G1 <= 1/2; 0, perfect alignment.",
    ),
    "hypercube": ("ALPHA", "Inputs +-1/sqrt(d), d^(ALPHA/2) times larger along the directions, h = +-1; 0, all alike."),
}
_OF_READOUT = {
    "readout": ("N", "Fit the second layer to N samples, or 'same', by ridge regression."),
    "ridge": ("X|leave-one-out", "Its ridge lambda."),
    "readout_biases": ("X|gaussian|uniform", "New biases for the fit."),
    "readout_bias_scale": ("X|fields", "Factor of these, or as wide as the fields."),
}
SpikeOption = Annotated[str | None, typer.Option("--spike", metavar="G2", help=_INPUTS["spike"][1])]
AlignmentOption = Annotated[str | None, typer.Option("--alignment", metavar="G1[,..]", help=_INPUTS["alignment"][1])]


def takes_experiment(command: Callable[..., None], *, without: Sequence[str] = ()) -> Callable[..., None]:
    """Give a command, whose first parameter is an `Experiment`, options in its place, `without` some of them."""
    own = dict(list(inspect.signature(command, eval_str=True).parameters.items())[1:])
    common = {parameter.name: parameter for parameter in _parameters() if parameter.name not in without}

    @wraps(command)
    def wrapped(**options: Any) -> None:
        experiment = _experiment({name: options[name] for name in common})
        command(experiment, **{name: options[name] for name in own})

    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*common.values(), *own.values())]
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped


def spiked_inputs(spike: str | None, alignment: str | None) -> SpikeLaw | None:
    """The law that the two options ask for; None, isotropic inputs."""
    from featlab.learners.fields import read_number, read_numbers
    from featlab.targets.inputs import spike_in_words

    strength = None if spike is None else read_number("spike", spike)
    return spike_in_words(strength, None if alignment is None else read_numbers("alignment", alignment))


def _experiment(options: dict[str, Any]) -> Experiment:
    """The experiment that options ask for; a misuse ends the program with a word on it."""
    from featlab.errors import InvalidParameter
    from featlab.experiments.text import experiment_from_text

    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # --learner module:Class of a file that lies here
    others = _other_fields(options.pop("with_fields") or [], options)
    try:
        return experiment_from_text({**options, **others})
    except InvalidParameter as fault:
        option = _option(fault.name)
        if fault.name not in options:
            raise
        fail(
            f"--{option}: "
            + (f"got {fault.given!r}, " if fault.given is not None else "")
            + f"expected {fault.expected}"
        )


def _other_fields(texts: Sequence[str], options: dict[str, Any]) -> dict[str, str]:
    """Fields given as FIELD=VALUE, for learners of other packages, whose fields are no options here."""
    others = {}
    for text in texts:
        field, equals, value = text.partition("=")
        name = field.strip().replace("-", "_")
        if not equals or not value:
            fail(f"--with: got {text!r}, expected FIELD=VALUE, such as ridge=0.1")
        if name in options and options[name] is not None:
            fail(f"--with {name}=...: --{_option(name)} is given too")
        others[name] = value.strip()
    return others


@cache
def _parameters() -> list[inspect.Parameter]:
    """Every option of an experiment; made once for the three commands that have them."""
    return list(_made())


def _made() -> Iterator[inspect.Parameter]:
    from featlab.experiments.experiment import Experiment
    from featlab.experiments.text import RANDOM_FEATURES, READOUT_FIELDS, option_table, student_class
    from featlab.learners.registry import own_learners

    help_expression = "A function of h1, h2, .., as in `featlab explain`."
    expression = typer.Argument(metavar="EXPR", help=help_expression)
    yield _parameter("target", Annotated[str, expression], inspect.Parameter.empty)
    names = f"{', '.join([*own_learners(), RANDOM_FEATURES])}; of an installed package, or module:Class of your own."
    yield _parameter("learner", Annotated[str, typer.Option(metavar="NAME", help=names)], inspect.Parameter.empty)
    for field, said in options_of(Experiment):
        empty = inspect.Parameter.empty if field.name == "dim" else None
        yield _parameter(field.name, _annotation(field.name, said, None, needed=field.name == "dim"), empty)
    for name, (metavar, words) in _INPUTS.items():
        yield _parameter(name, Annotated[str | None, typer.Option(metavar=metavar, help=words)], None)
    of_students = {field.name for kind in map(student_class, own_learners()) if kind for field, _ in options_of(kind)}
    for name, (said, owners) in option_table().items():
        if name not in READOUT_FIELDS:
            panel = _STUDENT if name in of_students else _LEARNER
            few = "" if panel == _STUDENT or len(owners) > 3 else f" [{', '.join(owners)}]"
            yield _parameter(name, _annotation(name, said, panel, few), None)
    for name, (metavar, words) in _OF_READOUT.items():
        yield _parameter(
            name, Annotated[str | None, typer.Option(metavar=metavar, help=words, rich_help_panel=_READOUT)], None
        )
    test = typer.Option(metavar="N", help=option_table()["test_samples"][0].meaning, rich_help_panel=_READOUT)
    yield _parameter("test_samples", Annotated[str | None, test], None)
    words = "A field of a learner or student of another package; may be repeated."
    fields = typer.Option("--with", metavar="FIELD=VALUE", help=words, rich_help_panel=_LEARNER)
    yield _parameter("with_fields", Annotated[list[str] | None, fields], None)


def _annotation(name: str, said: Option, panel: str | None, owners: str = "", needed: bool = False) -> Any:
    words = said.meaning[0].upper() + said.meaning[1:] + owners
    if said.kind.flag:
        flag = f"--{_option(name)}/--no-{_option(name)}"
        return Annotated[bool | None, typer.Option(flag, help=words, rich_help_panel=panel)]
    option = typer.Option(metavar=said.kind.metavar, help=words, rich_help_panel=panel)
    return Annotated[str, option] if needed else Annotated[str | None, option]


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _option(name: str) -> str:
    return name.replace("_", "-")


class RunCommand(TyperCommand):
    """A command whose expression may begin with a minus sign, while a mistyped option is still pointed out."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = [name for one in self.get_params(ctx) for name in (*one.opts, *one.secondary_opts)]
        for argument in args[: args.index("--")] if "--" in args else args:
            name = argument.partition("=")[0]
            if name.startswith("--") and name not in known:
                close = get_close_matches(name, known, n=1)
                fail(f"no such option: {name}" + (f"; did you mean {close[0]}?" if close else ""))
        return super().parse_args(ctx, args)
