"""The options that say what is to be learned, by whom and how: the same for every command that runs a learner.

They are generated from what the fields of experiments, learners and students say of themselves, so that a new field is
an option, and help comes without loading NumPy. The decorator `takes_experiment` gives them to a command.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from difflib import get_close_matches
from functools import cache, wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from featlab.cli.errors import fail
from featlab.cli.showing import examples
from featlab.learners.fields import Option, options_of
from featlab.learners.guide import INPUTS, READOUT
from featlab.reports.wording import fault_in_options, flag

if TYPE_CHECKING:
    from featlab.experiments import Experiment
    from featlab.reports.learner_text import Row
    from featlab.targets import SpikeLaw

_LEARNER, _STUDENT, _READOUT = "Learner", "Student", "Readout: a second layer fitted after it"
_OWNERS = r" \[[a-z, -]+\]$"  # which learners take an option, at the end of its help
SpikeOption = Annotated[str | None, typer.Option("--spike", metavar="G2", help=INPUTS["spike"][1])]
AlignmentOption = Annotated[str | None, typer.Option("--alignment", metavar="G1[,..]", help=INPUTS["alignment"][1])]


def takes_experiment(
    command: Callable[..., None], *, ignored: Sequence[str] = (), why: str = ""
) -> Callable[..., None]:
    """Give a command, whose first parameter is an `Experiment`, options in its place.

    Those that are `ignored` are not in its help; where one is given all the same, a word says so, and `why`.
    """
    own = dict(list(inspect.signature(command, eval_str=True).parameters.items())[1:])
    common = {one.name: _unlisted(one) if one.name in ignored else one for one in _parameters()}

    @wraps(command)
    def wrapped(**options: Any) -> None:
        said = [f"{flag(name)}" for name in ignored if options[name] is not None]
        if said:
            typer.echo(f"featlab: {', '.join(said)} ignored: {why}", err=True)
        experiment = _experiment({name: options[name] for name in common if name not in ignored})
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
    """The experiment that options ask for."""
    from featlab.experiments.text import experiment_from_text

    _import_from_here()
    others = _other_fields(options.pop("with_fields") or [], options)
    return experiment_from_text({**options, **others})


def _import_from_here() -> None:
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # --learner module:Class of a file that lies here


def _other_fields(texts: Sequence[str], options: dict[str, Any]) -> dict[str, str]:
    """Fields given as FIELD=VALUE, for learners of other packages, whose fields are no options here."""
    others = {}
    for text in texts:
        field, equals, value = text.partition("=")
        name = field.strip().replace("-", "_")
        if not equals or not value:
            fail(f"--with: got {text!r}, expected FIELD=VALUE, such as ridge=0.1")
        if name in options and options[name] is not None:
            fail(f"--with {name}=...: {flag(name)} is given too")
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

    help_expression = "A function of h1..h32, as in `featlab explain`."
    expression = typer.Argument(metavar="EXPR", help=help_expression)
    yield _parameter("target", Annotated[str, expression], inspect.Parameter.empty)
    names = (
        f"{', '.join([*own_learners(), RANDOM_FEATURES])}; of an installed package, or module:Class of your own. "
        "`featlab learners NAME`, or --learner NAME --help here, shows its options."
    )
    yield _parameter("learner", Annotated[str, typer.Option(metavar="NAME", help=names)], inspect.Parameter.empty)
    for field, said in options_of(Experiment):
        empty = inspect.Parameter.empty if field.name == "dim" else None
        yield _parameter(field.name, _annotation(field.name, said, None, needed=field.name == "dim"), empty)
    for name, (metavar, words) in INPUTS.items():
        yield _parameter(name, Annotated[str | None, typer.Option(metavar=metavar, help=words)], None)
    of_students = {field.name for kind in map(student_class, own_learners()) if kind for field, _ in options_of(kind)}
    for name, (said, owners) in option_table().items():
        if name not in READOUT_FIELDS:
            panel = _STUDENT if name in of_students else _LEARNER
            few = "" if panel == _STUDENT or len(owners) > 3 else f" [{', '.join(owners)}]"
            yield _parameter(name, _annotation(name, said, panel, few), None)
    for name, (metavar, words) in READOUT.items():
        yield _parameter(
            name, Annotated[str | None, typer.Option(metavar=metavar, help=words, rich_help_panel=_READOUT)], None
        )
    test = typer.Option(metavar="N", help=_capital(option_table()["test_samples"][0].meaning), rich_help_panel=_READOUT)
    yield _parameter("test_samples", Annotated[str | None, test], None)
    words = "A field of a learner or student of another package; may be repeated."
    fields = typer.Option("--with", metavar="FIELD=VALUE", help=words, rich_help_panel=_LEARNER)
    yield _parameter("with_fields", Annotated[list[str] | None, fields], None)


def _annotation(name: str, said: Option, panel: str | None, owners: str = "", needed: bool = False) -> Any:
    words = _capital(said.meaning) + owners
    if said.kind.flag:
        pair = f"{flag(name)}/--no-{flag(name)[2:]}"
        return Annotated[bool | None, typer.Option(pair, help=words, rich_help_panel=panel)]
    option = typer.Option(metavar=said.kind.metavar, help=words, rich_help_panel=panel)
    return Annotated[str, option] if needed else Annotated[str | None, option]


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _unlisted(parameter: inspect.Parameter) -> inspect.Parameter:
    """The same option, which help does not show."""
    return parameter.replace(annotation=Annotated[str | None, typer.Option(hidden=True)])


class ExpressionCommand(TyperCommand):
    """A command whose expression may begin with a minus sign, while a mistyped option is still pointed out."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        typed = args[: args.index("--")] if "--" in args else args
        params = {name: one for one in self.get_params(ctx) for name in (*one.opts, *one.secondary_opts)}
        for argument in typed:
            name = argument.partition("=")[0]
            if name.startswith("--") and name not in params:
                fail(f"no such option: {name}{_meant(name, params, _named_learner(typed))}")
        self.read(typed)
        return super().parse_args(ctx, args)

    def read(self, typed: Sequence[str]) -> None:
        """What else a command wants to know of what was typed; nothing here."""


class RunCommand(ExpressionCommand):
    """One that runs a learner: its help shows the options of the learner that is named beside `--help`; without one,
    those that all have."""

    shown_for: str | None = None  # the learner whose help is asked for

    def read(self, typed: Sequence[str]) -> None:
        """Whose help is asked for."""
        self.shown_for = _named_learner(typed) if "--help" in typed else None
        check_learner_name(self.shown_for)
        if "--help" not in typed and not any(argument.startswith("--learner") for argument in typed):
            fail("--learner is needed: who learns; `featlab learners` lists them")

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """By learner: its options with their defaults, and its example; else the options that all learners have."""
        shown = copy(self)
        shown.params = [one for one in self.params if _in_help(one, self.shown_for)]
        if self.shown_for is not None:
            from featlab.reports.learner_text import clock_of, example_of, line_of, options_by_parameter

            rows = options_by_parameter(self.shown_for)
            shown.params = [_as_in(one, rows.get(str(one.name))) for one in shown.params]
            about = f"{self.shown_for}: {line_of(self.shown_for)} Here --samples: {clock_of(self.shown_for)}."
            shown.help = f"{self.help}\n\n{about}"
            shown.epilog = examples(*example_of(self.shown_for, ctx.info_name))
        super(RunCommand, shown).format_help(ctx, formatter)


def check_learner_name(name: str | None, option: str = "--learner") -> None:
    """End the program at a name that no learner has; `option` is what it was typed for."""
    from featlab.errors import FeatlabError
    from featlab.experiments.text import RANDOM_FEATURES
    from featlab.learners.registry import learner_class

    _import_from_here()
    try:
        if name is not None and name != RANDOM_FEATURES:
            learner_class(name)
    except FeatlabError as fault:
        fail(fault_in_options(fault, {"learner": name}).replace("--learner", option, 1))


def _named_learner(typed: Sequence[str]) -> str | None:
    """The learner that a command line names, so far."""
    for place, argument in enumerate(typed):
        option, equals, value = argument.partition("=")
        if option == "--learner" and (equals or place + 1 < len(typed)):
            return value if equals else typed[place + 1]
    return None


def _taken(learner: str | None) -> frozenset[str] | None:
    """The parameters that an experiment with this learner takes; None, of one that is not known."""
    from featlab.errors import FeatlabError
    from featlab.experiments.text import known_names

    try:
        return None if learner is None else known_names(learner)
    except FeatlabError:
        return None


def _of_some_learners(name: str) -> bool:
    from featlab.experiments.text import READOUT_NAMES, option_table

    return name in option_table() or name in READOUT_NAMES


def _in_help(parameter: Any, learner: str | None) -> bool:
    """What all learners have; and of one, its own, its student's, and those of a readout if it can have one."""
    from featlab.experiments.text import READOUT_NAMES
    from featlab.reports.learner_text import options_by_parameter, takes_readout

    name = str(parameter.name)
    if learner is None or not _of_some_learners(name):
        return not _of_some_learners(name)
    return name in options_by_parameter(learner) or (name in READOUT_NAMES and takes_readout(learner))


def _as_in(parameter: Any, row: Row | None) -> Any:
    """The option as the learner of a help has it."""
    if row is None:
        return parameter
    shown = copy(parameter)
    shown.metavar = row.takes or parameter.metavar
    shown.help = f"{_capital(row.meaning)} ({f'default {row.default}' if row.default else 'required'})"
    return shown


def _capital(words: str) -> str:
    """With a capital letter, unless it begins with a symbol."""
    return words if words[1:2] in (" ", ",") else words[0].upper() + words[1:]


_TYPO = 0.8  # how alike a typo is to what was meant
# What is called otherwise elsewhere, or reads like an option that means something else.
_CALLED_ELSEWHERE = {
    "--seed": ("--key", "--seeds"),
    "--lr": ("--step-size",),
    "--learning-rate": ("--step-size",),
    "--n": ("--samples",),
    "--d": ("--dim",),
    "--epochs": ("--steps", "--times"),
}


def _meant(name: str, params: Mapping[str, Any], learner: str | None) -> str:
    """What may have been meant, among what this learner takes, each with what it does: so that nobody takes, say,
    `--seeds 3`, three runs, for the run of seed 3."""
    taken = _taken(learner)
    known = [
        option
        for option, one in params.items()
        if taken is None or not _of_some_learners(str(one.name)) or str(one.name) in taken
    ]
    close = _CALLED_ELSEWHERE.get(name) or get_close_matches(name, known, n=2, cutoff=_TYPO)
    meanings = [f"{one} ({_meaning(params[one])})" for one in close if one in known]
    more = f" `featlab learners {learner}` shows its options" if taken is not None else ""
    return (f"; did you mean {' or '.join(meanings)}?" if meanings else ";" if more else "") + more


def _meaning(parameter: Any) -> str:
    words = re.sub(_OWNERS, "", parameter.help or "").rstrip(".")
    return words[:1].lower() + words[1:] if words[1:2].islower() else words
