"""What a person reads who typed something wrong: the option as it is typed, the learner's name, no Python."""

from __future__ import annotations

import ast
import io
import re
import shlex
from contextlib import redirect_stderr
from functools import cache
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import featlab
import featlab.simulation
from featlab.cli.app import app
from featlab.experiments.text import COMMON_NAMES, READOUT_NAMES, experiment_from_text, option_table
from featlab.learners import students
from featlab.learners.guide import GUIDES, RANDOM_FEATURES
from featlab.learners.registry import learner_class, own_learners
from featlab.reports.learner_text import option_groups, takes_readout
from featlab.reports.wording import sentence_in_options
from featlab.simulation.simulator import check_experiment

CLASSES = [name for name in dir(featlab) if isinstance(getattr(featlab, name), type) and name != "Adam"]
COMMAND = get_command(app)  # made once: it has a hundred options
LEARNERS = [*own_learners(), RANDOM_FEATURES]
NONSENSE = "?!"


class Runs(Exception):
    """Nothing was refused: it would run."""


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def checked(experiment: featlab.Experiment, **settings: object) -> None:
        check_experiment(experiment)
        raise Runs

    monkeypatch.setattr(featlab.simulation, "simulate", checked)


def said(*arguments: str) -> str:
    """What stderr says of `featlab simulate ...`; "" if it would run."""
    heard = io.StringIO()
    with redirect_stderr(heard), pytest.raises((Runs, SystemExit)) as end:
        COMMAND.main(["simulate", *arguments], "featlab")
    if isinstance(end.value, Runs):
        return ""
    assert end.value.code == 2, arguments
    words = " ".join(heard.getvalue().split())
    for name in CLASSES:
        assert not re.search(rf"\b{name}\b", words), words
    return words


@cache
def example(learner: str) -> tuple[str, ...]:
    return tuple(shlex.split(GUIDES[learner].example))


def without(arguments: tuple[str, ...], option: str) -> list[str]:
    place = arguments.index(option)
    return [*arguments[:place], *arguments[place + 2 :]]


@pytest.mark.parametrize(
    ("command", "typo", "meant"), [("explain", "--budgte", "--budget"), ("race", "--rattios", "--ratios")]
)
def test_a_mistyped_option_is_no_expression(command: str, typo: str, meant: str) -> None:
    told = CliRunner().invoke(app, [command, "-h1", typo, "3"])
    assert told.exit_code == 2
    assert f"no such option: {typo}; did you mean {meant} (" in " ".join(told.stderr.split())
    assert "did you mean" not in CliRunner().invoke(app, [command, "-h1", "--colour"]).stderr


@pytest.mark.parametrize(
    ("option", "typo", "meant"),
    [("--start", "orthognal", "orthogonal"), ("--loss", "sqared", "squared"), ("--observe", "overlapp", "overlap")],
)
def test_a_mistyped_word_is_told_what_it_may_mean(option: str, typo: str, meant: str) -> None:
    words = said(
        *without(example("online-sgd"), option) if option in example("online-sgd") else example("online-sgd"),
        option,
        typo,
    )
    assert words.startswith(f"featlab: {option}: got {typo!r}, ")
    assert words.endswith(f"; did you mean {meant!r}?")


def test_a_learner_that_is_shown_is_no_option() -> None:
    told = CliRunner().invoke(app, ["learners", "bayesamp"])
    assert told.exit_code == 2
    assert " ".join(told.stderr.split()).startswith("featlab: NAME: got 'bayesamp', expected one of ")
    assert "did you mean 'bayes-amp'?" in told.stderr


def test_every_learner_has_a_guide() -> None:
    assert set(GUIDES) == set(LEARNERS)


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_example_would_run_and_what_it_needs_is_asked_for_by_its_option(learner: str) -> None:
    arguments = example(learner)
    assert said(*arguments) == ""
    needed = {row.parameter for rows in option_groups(learner).values() for row in rows if not row.default}
    needed |= {"readout"} if learner == RANDOM_FEATURES else {"samples"} if "--samples" in arguments else set()
    for parameter in sorted(needed):
        option = f"--{parameter.replace('_', '-')}"
        assert said(*without(arguments, option)).startswith(f"featlab: {option}: {learner} needs it: ")
    assert "Missing option '--dim'" in said(*without(arguments, "--dim"))
    assert said(*without(arguments, "--learner")).startswith("featlab: --learner is needed: who learns; `featlab learn")


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_example_on_the_screen_can_be_copied_into_a_shell(learner: str) -> None:
    shown = CliRunner().invoke(app, ["learners", learner], env={"COLUMNS": "80"}).stdout
    copied = shown.partition("Example:\n")[2].replace("\\\n", "")
    assert "\n" not in copied.strip()
    assert tuple(shlex.split(copied)) == ("featlab", "simulate", *example(learner))


@pytest.mark.parametrize("learner", LEARNERS)
def test_options_are_whole_on_a_narrow_screen(learner: str) -> None:
    shown = CliRunner().invoke(app, ["learners", learner], env={"COLUMNS": "40"}).stdout
    assert "\u2026" not in shown
    words = " ".join(shown.split())
    for rows in option_groups(learner).values():
        for row in rows:
            assert f"({row.default or 'required'}): {row.meaning.split()[0]}" in words


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_value_that_is_none_is_blamed_on_its_option(learner: str) -> None:
    flags = {name for name, (option, _) in option_table().items() if option.kind.flag}
    own = {row.parameter for rows in option_groups(learner).values() for row in rows} - flags
    common = {name for name in COMMON_NAMES if name not in ("target", "learner")}
    for parameter in sorted(own | common | (set(READOUT_NAMES[:1]) if takes_readout(learner) else set())):
        option = f"--{parameter.replace('_', '-')}"
        given = without(example(learner), option) if option in example(learner) else [*example(learner)]
        beside = ["--readout", "100"] if parameter in READOUT_NAMES[1:] and parameter not in own else []
        assert said(*given, option, NONSENSE, *beside).startswith(f"featlab: {option}: got "), parameter


@pytest.mark.parametrize("learner", LEARNERS)
def test_an_option_of_another_learner_is_refused_by_its_name(learner: str) -> None:
    own = {row.parameter for rows in option_groups(learner).values() for row in rows}
    other = next(name for name, (option, _) in option_table().items() if name not in own and not option.kind.flag)
    words = said(*example(learner), f"--{other.replace('_', '-')}", "1")
    assert words.startswith(f"featlab: --{other.replace('_', '-')}: got '1', expected ")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("--seed", "--key (the root of all randomness) or --seeds (how many independent runs; 10)"),
        ("--lr", "--step-size (step per neuron, "),
        ("--stepsize", "--step-size (step per neuron, "),
        ("--sampels", "--samples (one-pass learners: samples in all; others: in a batch)"),
    ],
)
def test_what_may_have_been_meant_comes_with_what_it_means(typed: str, offered: str) -> None:
    words = said(*example("online-sgd"), typed, "3")
    assert words.startswith(f"featlab: no such option: {typed}; did you mean {offered}")
    assert words.endswith("`featlab learners online-sgd` shows its options")


def test_an_option_that_the_learner_does_not_take_is_not_suggested() -> None:
    assert "did you mean" in said(*example("extragradient"), "--inner-stp", "1")
    assert "did you mean" not in said(*example("bayes-amp"), "--inner-stp", "1")


def test_keywords_and_classes_are_put_into_options() -> None:
    words = "times=0 or samples=, or take ReusedBatch(3, 0.1) on Isotropic(); `predict(.., start=run)` stays"
    assert sentence_in_options(words, ("times", "samples", "start")) == (
        "--times 0 or --samples, or take reused-batch with 3, 0.1 on isotropic inputs; `predict(.., start=run)` stays"
    )
    assert sentence_in_options("foo=3", ("times",)) == "foo=3"


def test_no_message_of_the_package_shows_a_class_on_the_command_line() -> None:
    """Over every sentence that is raised where a command can get to."""
    classes = [*CLASSES, *(learner_class(name).__name__ for name in own_learners())]
    classes = [name for name in classes if name not in ("Adam", "Experiment")]  # a word; and what only Python can give
    classes += [name for name, thing in vars(students).items() if isinstance(thing, type)]
    package = Path(featlab.__file__).parent
    seen = 0
    for folder in ("learners", "experiments", "simulation", "theory", "comparison"):
        for path in sorted((package / folder).rglob("*.py")):
            for sentence in _raised(ast.parse(path.read_text(encoding="utf-8"))):
                seen += 1
                shown = re.sub(r"`[^`]*`", "", sentence_in_options(sentence, ()))
                for name in classes:
                    assert not re.search(rf"\b{name}\b", shown), f"{path.name}: {sentence}"
    assert seen > 200


def _raised(tree: ast.Module) -> list[str]:
    """The sentences of raise statements, and those that are called `expected` or alike before they are raised."""
    spoken = ("expected", "what", "refused", "refusals", "_FROM_A_RUN", "_UNKNOWN", "_COMPARED")
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    nodes += [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in spoken
    ]
    return ["".join(_constants(node)) for node in nodes]


def _constants(node: ast.AST) -> list[str]:
    return [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def test_experiments_from_text_name_their_keys() -> None:
    with pytest.raises(featlab.InvalidParameter, match=r"^step_size: online-sgd needs it: step per neuron"):
        experiment_from_text({"target": "h1", "learner": "online-sgd", "dim": 9})
    with pytest.raises(featlab.InvalidParameter, match=r"^learner: every experiment needs it: who learns it"):
        experiment_from_text({"target": "h1", "dim": 9})
    with pytest.raises(featlab.InvalidParameter, match=r"^samples is needed: how many samples are in a batch"):
        check_experiment(featlab.Experiment.of("h1", featlab.GiantSteps(), dim=9))
